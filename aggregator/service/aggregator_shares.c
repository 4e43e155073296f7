/* aggregator/service/aggregator_shares.c - how much of a service one key may
 * use
 *
 * A service has limited memory, and the first key could take all of it.  So one
 * key may use as much of each resource as then remains for all others: half if
 * it is alone, a third if two keys want all.  A run has one key, and without
 * keys the users are unknown: then only the total is limited.
 */
#include "service/aggregator_private.h"

#include "base/counter.h"
#include "base/log.h"

#include <malloc.h>
#include <string.h>

#define SHARES_NS (60 * NS_PER_S)       // how often to look for idle agents

static const struct {
    const char *what;
    size_t most;
} shares[] = {
    [SHARE_JOBS] = { "jobs", AGGREGATOR_JOBS_MAX },
    [SHARE_AGENTS] = { "agents", AGGREGATOR_AGENTS_MAX },
    [SHARE_RANKS] = { "ranks", 0 },     // depends on --max-ranks
    [SHARE_TEXTS] = { "bytes of texts", AGGREGATOR_TEXTS_MAX },
};

static size_t most_of (enum share what)
{
    return what == SHARE_RANKS ? AGGREGATOR_RANKS_MAX : shares[what].most;
}

static size_t of_all (const struct aggregator *a, enum share what)
{
    size_t n = what == SHARE_JOBS ? a->njobs : 0;

    for (const struct served *s = a->jobs; s && what != SHARE_JOBS;
         s = s->next)
        n += what == SHARE_AGENTS  ? s->job.nagents
             : what == SHARE_RANKS ? s->job.nranks
                                   : s->job.texts;
    return n;
}

static size_t of_agents (const struct job *j, enum share what, const char *who)
{
    size_t n = 0;

    for (size_t i = 0; i < j->nagents; i++) {
        const struct job_agent *agent = &j->agents[i];

        if (strcmp (agent->peer.who, who) == 0)
            n += what == SHARE_AGENTS  ? 1
                 : what == SHARE_RANKS ? agent->ranks
                                       : agent->texts + agent->notes;
    }
    return n;
}

static size_t of_key (const struct aggregator *a, enum share what,
                      const char *who)
{
    size_t n = 0;

    for (const struct served *s = a->jobs; s; s = s->next)
        n += what == SHARE_JOBS ? strcmp (s->opened_by, who) == 0
                                : of_agents (&s->job, what, who);
    return n;
}

/* 'own' is this key's part of 'all', and both include what is requested. */
static bool is_fair (size_t own, size_t all, size_t most)
{
    return all <= most && own <= most - all;
}

bool aggregator_has_share (const struct aggregator *a,
                           const struct net_peer *from, enum share what,
                           size_t more)
{
    size_t all = of_all (a, what) + more, most = most_of (what);

    if (!*from->who || a->opt->job || all <= most / 2)
        return all <= most;     // no key can have more than that
    return is_fair (of_key (a, what, from->who) + more, all, most);
}

void aggregator_tell_share (struct aggregator *a, const struct net_peer *from,
                            enum share what)
{
    counter_add (COUNTER_SHARES_REFUSED, 1);
    if (access_may_log (&a->peer_access))
        log_warn ("no-share", "no room for more %s%s%s: there are %zu of at "
                  "most %zu, of which this key has %zu; agents that are silent "
                  "for %d s make room", shares[what].what,
                  *from->who ? " of key " : "", from->who, of_all (a, what),
                  most_of (what),
                  *from->who ? of_key (a, what, from->who) : 0,
                  (int)(AGGREGATOR_IDLE_NS / NS_PER_S));
}

bool aggregator_has_share_of_job (const struct aggregator *a,
                                  const struct job *j,
                                  const struct net_peer *from)
{
    size_t all = j->nagents + 1;

    if (!*from->who || a->opt->job || all <= JOB_AGENTS_MAX / 2)
        return all <= JOB_AGENTS_MAX;
    return is_fair (of_agents (j, SHARE_AGENTS, from->who) + 1, all,
                    JOB_AGENTS_MAX);
}

void aggregator_check_shares (struct aggregator *a, int64_t now)
{
    if (a->opt->job || now - a->shares_ns < SHARES_NS)
        return;
    a->shares_ns = now;
    if (of_all (a, SHARE_TEXTS) <= AGGREGATOR_TEXTS_MAX / 8 &&
        of_all (a, SHARE_RANKS) <= AGGREGATOR_RANKS_MAX / 8)
        return;
    aggregator_give_back (a, NULL);
    (void)malloc_trim (0);      // small freed texts are scattered
}
