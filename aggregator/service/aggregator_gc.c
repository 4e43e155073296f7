/* aggregator/service/aggregator_gc.c - collect what nothing refers to, while
 * data arrives
 *
 * Some steps at a time, for a quarter of the time, and not while something is
 * built: a build reads places that a step would change.
 */
#include "service/aggregator_private.h"

#include "archive/request.h"
#include "base/log.h"

#include <errno.h>

#define TURN_NS (25 * NS_PER_MS)        // of steps, until the last one ends
#define SHARE 3                 // pauses are so much longer than turns
#define HELD_NS NS_PER_S        // before a lease is looked at again
#define HELD_MAX 60             // such pauses, before it is given up; not if
                                // users' verbs hold it: those end, and no others
                                // begin (aggregator_views.c)
#define UPKEEP_WAITS_NS (600 * NS_PER_S)        // jobs that always have news
                                // keep builds going, and the disk fills
#define UPKEEP_TURN_NS (120 * NS_PER_S)

static void gc_over (struct aggregator *a, int rc, const struct err *err)
{
    struct logline l;

    if (rc >= 0 || rc == -EAGAIN)
        l = log_line (rc < 0 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "collected");
    else
        l = log_line (LOG_LEVEL_ERROR, "collect-failed");
    log_int (&l, "unused", (int64_t)a->gc_report.unused);
    log_int (&l, "freed", (int64_t)a->gc_report.freed);
    log_int (&l, "copied", (int64_t)a->gc_report.copied);
    log_int (&l, "segments", (int64_t)a->gc_report.removed);
    log_int (&l, "damaged", (int64_t)a->gc_report.damaged);
    log_int (&l, "away", (int64_t)a->gc_report.away);
    if (rc < 0)
        log_str (&l, "text", err->text);
    log_end (&l);
    a->gc_rc = rc;
    a->keep.gc_due = a->keep.gc_due && rc < 0;
    a->gc_err = *err;
    gc_end (a->gc);
    a->gc = NULL;
}

int aggregator_start_gc (struct aggregator *a, const struct gc_options *opt,
                         struct err *err)
{
    struct gc_options now = *opt;
    int rc;

    if (a->gc)
        return 0;
    now.now_ns = clock_wall_ns ();
    if ((rc = gc_begin (a->ledger, a->store, &now, &a->gc, err)) < 0)
        return rc;
    transfers_touch (a->transfers);
    a->gc_run++;
    a->gc_held = 0;
    a->gc_next_ns = 0;
    a->gc_report = gc_report (a->gc);
    return 0;
}

bool aggregator_upkeep_waits (struct aggregator *a, int64_t now)
{
    if (!a->building)
        a->upkeep_waits_ns = 0;
    else if (a->upkeep_waits_ns == 0)
        a->upkeep_waits_ns = now;
    return a->building;
}

bool aggregator_upkeep_has_turn (struct aggregator *a, int64_t now)
{
    if (!a->building && a->upkeep_waits_ns > 0 &&
        now - a->upkeep_waits_ns >= UPKEEP_WAITS_NS)
        a->upkeep_until_ns = now + UPKEEP_TURN_NS;
    return now < a->upkeep_until_ns &&
           (a->upkeep_waits_ns > 0 || a->gc || a->keep.reader ||
            a->keep.under_way);
}

/* What a thread of this process reads stays until it has ended. */
static bool is_read (const struct aggregator *a)
{
    return (a->keep.reader && !root_reader_ended (a->keep.reader)) ||
           (a->counting && !root_reader_ended (a->counting));
}

void aggregator_check_gc (struct aggregator *a, int64_t now)
{
    int64_t began = clock_mono_ns ();
    struct err err = { "" };
    int rc;

    if (!a->gc || aggregator_upkeep_waits (a, now) || a->unrepaired ||
        now < a->gc_next_ns || !aggregator_has_root (a) || is_read (a) ||
        !aggregator_is_quiet (a))
        return;
    do
        rc = gc_step (a->gc, &err);
    while (rc > 0 && clock_mono_ns () - began < TURN_NS);
    a->gc_report = gc_report (a->gc);
    a->gc_next_ns = now + (1 + SHARE) * (clock_mono_ns () - began);
    if (rc == -EAGAIN && (++a->gc_held < HELD_MAX || a->getting > 0))
        a->gc_next_ns = now + HELD_NS;
    else if (rc <= 0)
        gc_over (a, rc, &err);
}

int64_t aggregator_gc_waits (const struct aggregator *a)
{
    return a->gc ? a->gc_held * HELD_NS : 0;
}

void aggregator_end_gc (struct aggregator *a)
{
    gc_end (a->gc);
    a->gc = NULL;
}

int aggregator_gc_request (struct aggregator *a, const struct json *request,
                           struct json *answer, struct err *err)
{
    struct gc_options opt;
    int64_t run = 0;
    int rc = 0;

    (void)json_int (json_get (request, "run"), &run);
    request_gc_options (request, &opt);
    if (run == 0 && !aggregator_is_quiet (a))
        return err_set (err, EIO, "received data cannot be committed: see the "
                        "aggregator's log");
    if (run == 0 && (rc = request_audit_gc (a->opt->root, request, err)) == 0)
        rc = aggregator_start_gc (a, &opt, err);
    if (rc < 0)
        return rc;
    if (!a->gc && run == a->gc_run && a->gc_rc < 0 && a->gc_rc != -EAGAIN)
        return err_set (err, -a->gc_rc, "%s", a->gc_err.text);
    json_add_bool (answer, "running", a->gc != NULL);
    json_add_int (answer, "run", a->gc ? a->gc_run : run);
    request_gc_answer (&a->gc_report, answer);
    return 0;
}
