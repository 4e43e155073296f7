/* aggregator/service/aggregator_jobs.c - the jobs that are served, and those
 * that wait to be built meanwhile
 */
#include "service/aggregator_private.h"

#include "base/counter.h"
#include "base/log.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *aggregator_name (const struct net_peer *peer, const char *host,
                             char out[AGGREGATOR_NAME_MAX])
{
    (void)snprintf (out, AGGREGATOR_NAME_MAX, "%s%s%s", host,
                    *peer->who ? ", key " : "", peer->who);
    return out;
}

struct served *aggregator_find_job (struct aggregator *a, const char *id)
{
    struct served *s = a->jobs;

    while (s && strcmp (s->job.id, id) != 0)
        s = s->next;
    return s;
}

/* ---- making room ---- */

static bool is_idle (const struct aggregator *a, const struct served *s)
{
    int64_t now = clock_mono_ns ();

    for (size_t i = 0; i < s->job.nagents; i++) {
        if (now - s->job.agents[i].heard_ns < AGGREGATOR_IDLE_NS)
            return false;
    }
    return s != a->building && s != a->over &&
           build_schedule_due_ns (&s->schedule) == INT64_MAX;
}

/* Nothing is lost: the ledger has all that counts. */
static void forget_job (struct aggregator *a, struct served **at)
{
    struct served *s = *at;

    *at = s->next;
    for (size_t i = 0; i < s->job.nagents; i++)
        aggregator_forget_peer (a, &s->job.agents[i].peer);
    job_fini (&s->job);
    free (s);
    a->njobs--;
}

/* Forget jobs without agents, except this one (or NULL). */
static void forget_idle (struct aggregator *a, const struct served *but)
{
    for (struct served **at = &a->jobs; *at;) {
        struct served *s = *at;

        if (s == but || !is_idle (a, s)) {
            at = &s->next;
            continue;
        }
        forget_job (a, at);
    }
}

static void forget_silent_of (struct aggregator *a, struct served *s,
                              int64_t before_ns)
{
    size_t had = s->job.nagents;

    job_forget_silent (&s->job, before_ns, aggregator_forget_peer, a);
    for (size_t i = 0; i < s->job.nagents && s->job.nagents < had; i++)
        (void)aggregator_note_peer (a, s, &s->job.agents[i]);
}

/* During a service's job hosts come and go: each reboot, and most restarts of a
 * container, look like a new host.
 */
void aggregator_give_back (struct aggregator *a, const struct served *but)
{
    int64_t before = clock_mono_ns () - AGGREGATOR_IDLE_NS;

    if (a->opt->job)
        return;                 // a run has only one job
    forget_idle (a, but);
    for (struct served *s = a->jobs; s; s = s->next)
        forget_silent_of (a, s, before);
}

/* Whether all agents of the job ended before then and had delivered everything.
 */
static bool is_at_peace (const struct served *s, int64_t before_ns)
{
    size_t i = 0;

    while (i < s->job.nagents && s->job.agents[i].done &&
           s->job.agents[i].heard_ns < before_ns)
        i++;
    return i == s->job.nagents;
}

/* The roster still needs what finished agents reported about their ranks while
 * other agents of the job are at work, or while a build is due.
 */
void aggregator_forget_gone (struct aggregator *a, int64_t now)
{
    for (struct served **at = &a->jobs; *at;) {
        struct served *s = *at;
        size_t had = s->job.nagents;
        int64_t ns = is_at_peace (s, now - AGGREGATOR_IDLE_NS)
                         ? AGGREGATOR_IDLE_NS : AGGREGATOR_GONE_NS;

        if (had > 0 && s != a->building && s != a->over &&
            build_schedule_due_ns (&s->schedule) == INT64_MAX)
            forget_silent_of (a, s, now - ns);
        if (had > 0 && s->job.nagents == 0)
            forget_job (a, at);
        else
            at = &s->next;
    }
}

/* Take claims from the ledger and from this program's options.  If the ledger
 * cannot be read, nothing is lost: agents repeat their claims.
 */
void aggregator_recall_claims (struct aggregator *a, struct served *s)
{
    const struct size_claim front = { .by = CLAIM_FRONT,
                                      .world_size = a->opt->world_size };
    struct size_claims claims;
    struct err err = { "" };

    if (ledger_size_claims (a->ledger, s->job.id, &claims, &err) < 0)
        log_error ("ledger-failed", "job %s: %s", s->job.id, err.text);
    else
        job_set_claims (&s->job, &claims);
    s->noted_size = s->job.world_size;
    (void)job_claim (&s->job, &front);
}

/* Find a job, or begin to serve it. */
struct served *aggregator_job (struct aggregator *a, const char *id)
{
    struct served *s = aggregator_find_job (a, id);

    if (s)
        return s;
    if (a->opt->job && strcmp (a->opt->job, id) != 0)
        return NULL;            // a run serves its own job only
    if (a->njobs >= AGGREGATOR_JOBS_MAX && a->transfers)
        aggregator_give_back (a, NULL);
    if (a->njobs >= AGGREGATOR_JOBS_MAX || !(s = calloc (1, sizeof (*s))))
        return NULL;
    a->njobs++;
    job_init (&s->job, id);
    aggregator_recall_claims (a, s);
    s->next = a->jobs;
    a->jobs = s;
    return s;
}

/* ---- notes ---- */

/* A service has no summary, so each note is logged once, with the agent that
 * sent it (or NULL).
 */
void aggregator_note (struct served *s, struct job_agent *agent,
                      const char *text)
{
    size_t had = s->job.nnotes;
    struct logline l;

    if (job_note (&s->job, text) < 0)
        counter_add (COUNTER_MESSAGES_REFUSED, 1);
    if (s->job.nnotes == had)
        return;
    if (agent)
        agent->notes += job_text_adds (text).texts;
    l = log_line (LOG_LEVEL_WARN, "agent-note");
    log_str (&l, "job", s->job.id);
    log_str (&l, "host", agent ? agent->host : NULL);
    log_str (&l, "key", agent && *agent->peer.who ? agent->peer.who : NULL);
    log_str (&l, "text", text);
    log_end (&l);
}

/* ---- results ---- */

enum item_kind aggregator_last_kind (const struct aggregator *a)
{
    return a->opt->raw ? ITEM_RAW : ITEM_ROWS;
}

void aggregator_name_out (const struct aggregator *a, const char *job,
                      char out[PATH_MAX])
{
    if (a->opt->out)
        (void)snprintf (out, PATH_MAX, "%s", a->opt->out);
    else
        (void)snprintf (out, PATH_MAX, "%s/jobs/%s", a->opt->root, job);
}

int aggregator_note_unbuilt (struct aggregator *a, const char *job)
{
    for (size_t i = 0; i < a->nunbuilt; i++) {
        if (strcmp (a->unbuilt[i], job) == 0)
            return 0;
    }
    return vec_add_text (&a->unbuilt, &a->nunbuilt, job);
}

void aggregator_forget_unbuilt (struct aggregator *a)
{
    vec_free_texts (a->unbuilt, a->nunbuilt);
    a->unbuilt = NULL;
    a->nunbuilt = 0;
}
