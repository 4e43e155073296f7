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
#define COUNT_AGAIN_NS (60 * NS_PER_S)  // after a failure

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
    if (a->counting)
        usage_add (&a->since, i.job, bytes, clock_wall_ns ());
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

/* ---- again, beside the loop ---- */

static int count (void *arg, struct ledger *ledger, struct store *store,
                  struct err *err)
{
    struct aggregator *a = arg;

    return usage_count (&a->counted, ledger, store, clock_wall_ns (), err);
}

static void count_again (struct aggregator *a, const struct err *err)
{
    log_warn ("count-failed", "how much the root holds is not known: %s",
              err->text);
    a->usage_stale = true;
    a->count_took_ns = COUNT_AGAIN_NS / COUNT_PART;
}

static void begin_count (struct aggregator *a, int64_t now)
{
    struct err err = { "" };

    a->usage_stale = false;
    a->count_began_ns = a->counted_ns = now;
    if (root_reader_begin (a->opt->root, count, a, &a->counting, &err) < 0)
        count_again (a, &err);
}

/* What came since it began is not in it. */
static void end_count (struct aggregator *a, int64_t now)
{
    struct err err = { "" };
    int rc = root_reader_end (a->counting, &err);

    a->counting = NULL;
    a->counted_ns = now;
    a->count_took_ns = now - a->count_began_ns;
    if (rc < 0) {
        count_again (a, &err);
        usage_fini (&a->counted);
    } else {
        usage_merge (&a->counted, &a->since, clock_wall_ns ());
        usage_fini (&a->usage);
        a->usage = a->counted;
        a->counted = (struct usage){ .total = 0 };
    }
    usage_fini (&a->since);
}

void aggregator_check_usage (struct aggregator *a, int64_t now)
{
    if (a->counting && root_reader_ended (a->counting))
        end_count (a, now);
    else if (!a->counting && a->usage_stale &&
             now - a->counted_ns > COUNT_PART * a->count_took_ns)
        begin_count (a, now);
}

void aggregator_end_usage (struct aggregator *a)
{
    root_reader_cancel (a->counting);
    (void)root_reader_end (a->counting, NULL);
    a->counting = NULL;
    usage_fini (&a->counted);
    usage_fini (&a->since);
    usage_fini (&a->usage);
    usage_fini (&a->promised);
}

const char *aggregator_waits (const struct aggregator *a,
                              const struct served *s)
{
    bool quota = s->waits_ns > 0 && clock_mono_ns () - s->waits_ns < WAITS_NS;

    return a->floor.below ? "delivery waits: the aggregator's disk is full"
           : quota ? s->waits : "";
}
