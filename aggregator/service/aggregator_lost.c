/* aggregator/service/aggregator_lost.c - files removed below the root while it
 * is served
 *
 * Acknowledged data that no longer exists is requested again: agents that
 * delivered any of it are told that it is lost, and each agent is ignored until
 * it has said HELLO again.
 */
#include "service/aggregator_private.h"

#include "base/log.h"
#include "base/units.h"
#include "store/root.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

#define NAMED_MAX 64            // captures named in the log; more are counted
#define AGAIN_NS NS_PER_S       // before a failed repair is tried again

/* ---- the root ---- */

bool aggregator_has_root (struct aggregator *a)
{
    if (a->root_gone || root_is_there (a->root_fd, a->opt->root))
        return !a->root_gone;
    a->root_gone = true;
    log_error ("root-gone", "%s was removed or replaced while it was in use: "
               "nothing more is acknowledged.  What was acknowledged is lost, "
               "unless it is in a result elsewhere or the captures are still "
               "on their nodes", a->opt->root);
    transfers_hold (a->transfers, true);
    a->status = EX_IOERR;
    loop_stop (a->loop, 0);
    return false;
}

/* ---- the ledger ---- */

/* This process still has all of the ledger, so it is not rebuilt from the
 * segments.  They do not record what agents were told: agents would take for
 * lost what they have released, and read everything else again.
 */
static bool put_ledger_back (struct aggregator *a)
{
    char aside[PATH_MAX];
    struct err err = { "" };
    int rc = ledger_put_back (a->ledger, aside, &err);

    if (rc < 0) {
        log_error ("ledger-gone", "ledger.db or its journal in %s was removed "
                   "or replaced while it was in use, and cannot be put back: "
                   "%s.  Nothing is acknowledged%s", a->opt->root, err.text,
                   rc == -ENODEV ? "; restart the aggregator to repair it"
                                 : " until it can be");
        if (rc == -ENODEV) {
            a->status = EX_IOERR;
            loop_stop (a->loop, 0);
        }
        return false;
    }
    log_error ("ledger-gone", "ledger.db or its journal in %s was removed or "
               "replaced while it was in use: it was written again, with all "
               "that it had%s%s", a->opt->root,
               *aside ? "; what was in its place is now " : "", aside);
    return true;
}

/* ---- segments ---- */

static void tell_files (const struct aggregator *a,
                        const struct store_lost *lost)
{
    for (size_t i = 0; i < lost->nsegments; i++)
        log_error ("removed", "segment %lld in %s/segments was %s while it was "
                   "in use", (long long)lost->segments[i].segment,
                   a->opt->root,
                   lost->segments[i].end > 0 ? "cut" : "removed or emptied");
}

struct losses {                 // by job, rank and capture
    struct aggregator *a;
    struct ledger_item last, first;     // the first of its job
    size_t of_job, all;
};

static void tell_job (struct losses *l)
{
    struct served *s = aggregator_find_job (l->a, l->first.job);
    char text[MESSAGE_TEXT_MAX];

    if (!s || l->of_job == 0)
        return;
    PRINT (text, "acknowledged data of %zu capture%s was removed from the "
           "aggregator's root while it was in use, and is requested again; the "
           "first is %.200s (rank %lld)", l->of_job, units_s (l->of_job),
           l->first.capture, (long long)l->first.rank);
    aggregator_note (s, NULL, text);
}

static void on_lost (void *arg, const struct ledger_item *i)
{
    struct losses *l = arg;
    bool same_job = l->all > 0 && strcmp (l->last.job, i->job) == 0;
    struct logline line;

    if (same_job && l->last.rank == i->rank &&
        strcmp (l->last.capture, i->capture) == 0)
        return;
    if (!same_job) {
        tell_job (l);
        l->first = *i;
        l->of_job = 0;
    }
    l->last = *i;
    l->of_job++;
    if (l->all++ >= NAMED_MAX)
        return;
    line = log_line (LOG_LEVEL_ERROR, "lost");
    log_str (&line, "job", i->job);
    log_int (&line, "rank", i->rank);
    log_str (&line, "host", i->host);
    log_str (&line, "capture", i->capture);
    log_str (&line, "text", "its acknowledged data was removed: its agent is "
             "asked to deliver it again");
    log_end (&line);
}

/* Ignore agents until their next HELLO.  Otherwise what they deliver would be
 * acknowledged with a new mark, which hides what they were told before the
 * loss.
 */
static void ask_again (struct aggregator *a)
{
    for (struct served *s = a->jobs; s; s = s->next) {
        for (size_t i = 0; i < s->job.nagents; i++) {
            struct job_agent *g = &s->job.agents[i];

            transfers_forget (a->transfers, &g->peer);
            g->loss_unrecorded = g->asked_again = true;
            g->done = false;
        }
    }
}

static int mend (struct aggregator *a, const struct store_lost *lost,
                 struct err *err)
{
    struct losses l = { .a = a };
    int rc = store_repair (a->store, a->ledger, lost, on_lost, &l, err);

    if (rc < 0)
        return rc;
    transfers_recheck (a->transfers);
    tell_files (a, lost);
    tell_job (&l);
    if (l.all > NAMED_MAX)
        log_error ("lost", "and %zu more capture%s", l.all - NAMED_MAX,
                   units_s (l.all - NAMED_MAX));
    if (rc == 0)
        return 0;
    ask_again (a);
    return ledger_begin_epoch (a->ledger, err);
}

static bool look_at_store (struct aggregator *a, bool all)
{
    struct store_lost lost;
    struct err err = { "" };
    int rc = store_look (a->store, all, &lost, &err);

    // what was appended is in that commit, or arrives again
    if (rc > 0 && transfers_uncommitted (a->transfers)) {
        store_lost_fini (&lost);
        (void)aggregator_commit_now (a);
        rc = store_look (a->store, true, &lost, &err);
    }
    if (rc > 0)
        rc = mend (a, &lost, &err);
    store_lost_fini (&lost);
    if (rc < 0)
        log_error ("root-failed", "the loss of data in %s cannot be recorded: "
                   "%s.  No data is accepted until it is; if this lasts, end "
                   "the aggregator and run rollcall fsck aggregator --repair",
                   a->opt->root, err.text);
    return rc >= 0;
}

bool aggregator_look (struct aggregator *a, bool all)
{
    int64_t now = clock_mono_ns ();
    bool was = a->unrepaired;

    if (was && now - a->looked_ns < AGAIN_NS)
        return false;
    a->looked_ns = now;
    a->unrepaired = (!ledger_is_there (a->ledger) && !put_ledger_back (a)) ||
                  !look_at_store (a, all || was);
    if (a->unrepaired)
        transfers_hold (a->transfers, true);
    return !a->unrepaired;
}

bool aggregator_is_sound (struct aggregator *a)
{
    return !a->unrepaired && ledger_is_there (a->ledger) &&
           store_is_there (a->store) ? true : aggregator_look (a, true);
}
