/* aggregator/service/aggregator_quota.c - refuse what is beyond a quota
 *
 * As with a full disk, an OFFER is not answered, and its agent keeps the data
 * and offers it again; WELCOME tells it why.
 */
#include "service/aggregator_private.h"

#include "base/log.h"

#include <string.h>

#define WAITS_NS (8 * NS_PER_S)         // an OFFER is repeated every 2 s
#define TELL_NS (600 * NS_PER_S)        // between lines about a job
#define COUNT_PART 20           // a count takes at most this part of the time

const char *aggregator_job_of (struct aggregator *a,
                               struct ledger_item *i)
{
    if (*i->dir)
        (void)ledger_choose_job (a->ledger, i, NULL);
    return i->job;
}

static void on_stored (void *arg, const struct ledger_item *item,
                       uint64_t bytes)
{
    struct ledger_item i = *item;
    struct aggregator *a = arg;

    usage_add (&a->usage, aggregator_job_of (a, &i), bytes, clock_wall_ns ());
}

void aggregator_count_usage (struct aggregator *a)
{
    int64_t began = clock_mono_ns ();
    struct err err = { "" };

    a->usage_stale = false;
    if (usage_count (&a->usage, a->ledger, a->store, clock_wall_ns (), &err) <
        0)
        log_warn ("count-failed", "how much the root holds is not known: %s",
                  err.text);
    a->counted_ns = clock_mono_ns ();
    a->count_took_ns = a->counted_ns - began;
    transfers_set_stored (a->transfers, on_stored, a);
}

void aggregator_check_usage (struct aggregator *a, int64_t now)
{
    if (a->usage_stale && now - a->counted_ns > COUNT_PART * a->count_took_ns)
        aggregator_count_usage (a);
}

static struct ledger_item item_of (const struct served *s,
                                   const struct message *m)
{
    struct ledger_item i = { .rank = m->rank, .newest_ns = m->newest_ns };

    PRINT (i.job, "%s", s->job.id);
    PRINT (i.capture, "%s", m->capture);
    PRINT (i.dir, "%s", m->place);
    if (*m->place)
        PRINT (i.scope, "%s", s->job.id);
    return i;
}

bool aggregator_has_quota (struct aggregator *a, struct served *s,
                           const struct message *offer)
{
    int64_t now = clock_mono_ns ();
    struct err why = { "" }, hint = { "" };
    struct ledger_item i;

    if (a->opt->job || !quotas_any (&a->opt->quotas))
        return true;
    i = item_of (s, offer);
    if (quotas_allow (&a->opt->quotas, &a->usage, aggregator_job_of (a, &i), offer->size,
                      &why, &hint))
        return true;
    PRINT (s->waits, "delivery waits: %s", why.text);
    s->waits_ns = now;
    if (s->waits_told_ns == 0 || now - s->waits_told_ns > TELL_NS) {
        s->waits_told_ns = now;
        PRINT (s->waits_hint, "%s", hint.text);
        log_warn ("quota", "job %s: %s; %s", i.job, s->waits, hint.text);
    }
    return false;
}

const char *aggregator_waits (const struct aggregator *a,
                              const struct served *s)
{
    bool quota = s->waits_ns > 0 && clock_mono_ns () - s->waits_ns < WAITS_NS;

    return a->floor.below ? "delivery waits: the aggregator's disk is full"
           : quota ? s->waits : "";
}
