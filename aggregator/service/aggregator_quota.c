/* aggregator/service/aggregator_quota.c - refuse what is beyond a quota
 *
 * As with a full disk, an OFFER is not answered, and its agent keeps the data
 * and offers it again; WELCOME tells it why.  Only new bytes need room: it is
 * promised to an accepted offer until they are here.
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

static void say_waits (struct aggregator *a, const struct ledger_item *i,
                       const struct err *why, const struct err *hint)
{
    struct served *s = aggregator_find_job (a, *i->dir ? i->scope : i->job);
    int64_t now = clock_mono_ns ();

    if (!s)
        return;
    PRINT (s->waits, "delivery waits: %s", why->text);
    s->waits_ns = now;
    if (s->waits_told_ns == 0 || now - s->waits_told_ns > TELL_NS) {
        s->waits_told_ns = now;
        PRINT (s->waits_hint, "%s", hint->text);
        log_warn ("quota", "job %s: %s; %s", i->job, s->waits, hint->text);
    }
}

/* Promises of a job count for its user, too, as far as he is known. */
static int64_t ask_room (void *arg, const struct ledger_item *item,
                         uint64_t bytes)
{
    struct aggregator *a = arg;
    struct err why = { "" }, hint = { "" };
    struct ledger_item i = *item;
    const struct usage_job *j;

    if (!quotas_any (&a->opt->quotas))
        return 0;
    j = usage_of_job (&a->usage, aggregator_job_of (a, &i));
    if (!quotas_allow (&a->opt->quotas, &a->usage, &a->promised, i.job, bytes,
                       &why, &hint)) {
        say_waits (a, &i, &why, &hint);
        return -1;
    }
    usage_set_user (&a->promised, i.job,
                    j && j->user != TEXTS_NONE
                        ? texts_at (&a->usage.users, j->user) : "");
    return usage_promise (&a->promised, i.job, bytes);
}

static void change_room (void *arg, int64_t number, int64_t bytes)
{
    struct aggregator *a = arg;

    usage_change (&a->promised, number, bytes);
}

void aggregator_count_usage (struct aggregator *a)
{
    const struct transfer_room room = { ask_room, change_room, a };
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
    transfers_set_room (a->transfers, &room);
}

void aggregator_check_usage (struct aggregator *a, int64_t now)
{
    if (a->usage_stale && now - a->counted_ns > COUNT_PART * a->count_took_ns)
        aggregator_count_usage (a);
}

const char *aggregator_waits (const struct aggregator *a,
                              const struct served *s)
{
    bool quota = s->waits_ns > 0 && clock_mono_ns () - s->waits_ns < WAITS_NS;

    return a->floor.below ? "delivery waits: the aggregator's disk is full"
           : quota ? s->waits : "";
}
