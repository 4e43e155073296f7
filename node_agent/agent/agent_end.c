/* node_agent/agent/agent_end.c - when it is over, and how
 *
 * Of a run with an aggregator of its own, by that one's ROLL; of one with a
 * service, and with --once, when nothing is left.  Captures that may go do so
 * before anybody is told.
 */
#include "agent/agent_private.h"

#include "agent/exit_rule.h"
#include "base/clock.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/units.h"
#include "store/fileio.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define EX_GIVEN_UP 1                   // beside those of sysexits.h
#define STRAGGLER_NS (10 * NS_PER_S)    // for wrappers that start late
#define SETTLING_NS (5 * NS_PER_S)      // for what is found late, to settle,
#define SETTLING_SHARE 4                // or a quarter of the deadline

static void finish (struct agent *a, int status)
{
    a->status = status;
    loop_stop (a->loop, 0);
}

/* What was changed or moved while it was sealed is seen by a later scan.  At
 * half of the deadline there is no time left to wait for what goes on changing.
 */
static bool all_settled (const struct agent *a)
{
    int64_t settling_ns = a->opt->deadline_ns / SETTLING_SHARE;

    if (settling_ns > SETTLING_NS)
        settling_ns = SETTLING_NS;
    return a->flushed
               ? !watch_awaits (a->watch, clock_mono_ns () - settling_ns)
               : a->searched && a->scan_began_ns > a->sealed_ns &&
                     watch_unsettled (a->watch) == 0;
}

static bool nothing_left (struct agent *a)
{
    return sealer_pending (a->sealer) == 0 && agent_open_count (a) == 0 &&
           !agent_seals_again (a) && all_settled (a) &&
           spool_undelivered (a->spool) == 0 &&
           !spool_redelivers (a->spool) && ship_confirmed (a->ship, 0);
}

/* The status of an end at which nothing of this may be open or lost. */
static int status_unless_all (struct agent *a, int status)
{
    bool all = sealer_pending (a->sealer) == 0 && !a->unsealed &&
               agent_open_count (a) == 0 &&
               (a->searched || !a->opt->once) && !a->unsearched &&
               watch_unsettled (a->watch) == 0 &&
               spool_undelivered (a->spool) == 0 &&
               !spool_redelivers (a->spool) && !agent_has_losses (a) &&
               (!a->opt->once || agent_is_confirmed (a));

    return all ? 0 : status;
}

/* A service misses an agent that goes without a word. */
void agent_finish (struct agent *a, int status)
{
    status = status_unless_all (a, status);
    if (status == 0 && !a->opt->run_dir)
        ship_done (a->ship, "", 0);
    finish (a, status);
}

static void tell_left (struct agent *a, size_t captures)
{
    if (a->opt->run_dir && !a->opt->no_roll)
        ship_left (a->ship, captures);
}

/* The last word of a host of a run: that all is delivered, or what never will
 * be.  Said again if what is found later makes it another one.
 */
static void say_done (struct agent *a)
{
    char text[MESSAGE_TEXT_MAX];

    agent_sum_up (a, text, sizeof (text));
    if (a->done_said && strcmp (text, a->done_text) == 0)
        return;
    agent_explain_ranks (a);
    agent_explain_captures (a);
    agent_explain_losses (a);
    (void)snprintf (a->done_text, sizeof (a->done_text), "%s", text);
    agent_set_done (a, true);
    log_text (LOG_LEVEL_INFO, "done", "%s", *text ? text
                                                  : "all of it is delivered");
    a->done_said = true;
    tell_left (a, 0);
    ship_done (a->ship, text, agent_count_doubtful (a));
}

/* The aggregator may be about to end the run.  One that could not be sealed and
 * is tried again has been named.
 */
void agent_tell_left (struct agent *a)
{
    size_t pending = sealer_pending (a->sealer);
    size_t left = pending + watch_unsettled (a->watch);
    bool more = a->done_said && !a->over && left > 0 &&
                (pending > agent_count_unsealed (a) || !all_settled (a));

    if (more) {
        log_text (LOG_LEVEL_INFO, "found-more", "%zu more capture%s %s to be "
                  "read: this host is not done, as it had said", left,
                  units_s (left), left == 1 ? "is" : "are");
        a->done_said = false;
    }
    // what stays unread then has been named
    tell_left (a, a->done_said ? 0 : left);
    if (more)
        ship_not_done (a->ship);
}

/* When an agent dies every wrapper starts another.  One that comes so late that
 * the run is over by then must not wait for wrappers: it is told by a file.
 */
static bool over_path (const struct agent *a, char path[PATH_MAX])
{
    return fileio_join (path, PATH_MAX, a->opt->run_dir, "agent.over");
}

static void mark_over (const struct agent *a)
{
    char path[PATH_MAX];

    if (over_path (a, path))
        (void)fileio_replace (path, "", 0, FILEIO_FILE_MODE, NULL);
}

bool agent_is_over (const struct agent *a)
{
    char path[PATH_MAX];

    return a->opt->run_dir && over_path (a, path) && access (path, F_OK) == 0;
}

/* When its wrappers have ended whoever started them may kill what is left. */
static void end_run (struct agent *a, bool whole, const char *text, int status)
{
    a->over = true;
    mark_over (a);
    a->complete = whole && status_unless_all (a, 1) == 0;
    agent_tell_wrappers (a, "roll", text, whole);
    agent_finish (a, status);
}

/* Who called it by hand wants to know what came of it. */
static void say_delivered (struct agent *a)
{
    unsigned long long items = counter_get (COUNTER_ITEMS_DURABLE);
    unsigned long long left = spool_undelivered (a->spool);
    char size[16];

    units_bytes_text (counter_get (COUNTER_BYTES_SENT), size);
    log_text (LOG_LEVEL_INFO, "delivered", "%llu item%s, %s, to %s; %s", items,
              units_s (items), size, a->opt->aggregator,
              left > 0     ? "not all is delivered"
              : items == 0 ? "nothing was left to deliver"
                           : "nothing is left to deliver");
}

static void end_once (struct agent *a)
{
    say_delivered (a);
    agent_finish (a, a->unsealed     ? EX_CANTCREAT
                     : a->unsearched ? EX_NOINPUT
                                     : EX_GIVEN_UP);
}

/* What a run with a service has to tell at its end, or "". */
static void sum_up_run (struct agent *a, char *text, size_t size)
{
    unsigned long long items = spool_undelivered (a->spool);
    size_t captures = sealer_pending (a->sealer) + watch_unsettled (a->watch);
    char lost[MESSAGE_TEXT_MAX];

    agent_sum_up (a, lost, sizeof (lost));
    if (!nothing_left (a))
        (void)snprintf (text, size, "host %s: when the deadline passed, %llu "
                        "item%s of the spool %s not delivered, and %zu "
                        "capture%s %s not read%s%s%.600s", a->host, items,
                        units_s (items), items == 1 ? "was" : "were", captures,
                        units_s (captures), captures == 1 ? "was" : "were",
                        spool_redelivers (a->spool)
                            ? "; what the aggregator has lost was not "
                              "delivered again" : "",
                        *lost ? "; " : "", lost);
    else if (*lost)
        (void)snprintf (text, size, "%s", lost);
    else if (!a->searched)
        (void)snprintf (text, size, "host %s: the deadline passed before its "
                        "directories were searched to the end", a->host);
    else if (!agent_is_confirmed (a))
        (void)snprintf (text, size, "host %s: all was delivered, but the "
                        "aggregator was silent when the deadline passed: it is "
                        "not known whether it has all of it, and no capture is "
                        "removed here", a->host);
    else
        *text = '\0';
}

static void end_served (struct agent *a)
{
    char text[MESSAGE_TEXT_MAX];

    sum_up_run (a, text, sizeof (text));
    if (*text)
        log_text (LOG_LEVEL_WARN, a->late_end ? "deadline" : "ending", "%s",
                  text);
    end_run (a, !*text, text, a->late_end ? EX_UNAVAILABLE : EX_TEMPFAIL);
}

/* No aggregator ends this by a ROLL: an end of its own.  Captures first, one in
 * each turn of the loop: the aggregator has to be heard meanwhile.  While it is
 * not none goes; check_life gives it up.  If it says that it has lost anything
 * this is not the end: agent_check_done comes again.
 */
static void end_by_itself (void *arg)
{
    struct agent *a = arg;

    a->ending = !a->over && (nothing_left (a) || a->late_end);
    if (!a->ending)
        return;
    if (agent_release_next (a))
        (void)loop_add_timer (a->loop, 0, end_by_itself, a);
    else if (!agent_is_confirmed (a) && !a->late_end)
        (void)loop_add_timer (a->loop, NS_PER_S / 4, end_by_itself, a);
    else if (a->scan_began_ns <= a->stale_ns && !a->late_end)
        a->ending = false;      // the next scan tells what is new there
    else if (a->opt->run_dir)
        end_served (a);
    else
        end_once (a);
}

void agent_check_done (struct agent *a)
{
    if (a->over || !a->ship || !nothing_left (a))
        return;
    if (a->opt->once && !a->opt->run_dir) {
        agent_explain_losses (a);
        if (!a->ending)
            end_by_itself (a);
    } else if (a->opt->run_dir && agent_all_ended (a) &&
               a->scans_after_end > 1) {
        say_done (a);
    }
}

/* Why this process has no purpose any more, or NULL. */
static const char *useless (const struct agent *a, int64_t now)
{
    const struct exit_facts l = {
        .now_ns = now, .began_ns = a->began_ns,
        .heard_ns = ship_heard_ns (a->ship), .ended_ns = a->ended_ns,
        .deadline_ns = a->opt->deadline_ns, .run = a->opt->run_dir,
        .once = a->opt->once, .joined = a->ranks,
        .served = a->opt->once || a->opt->no_roll,
        .done = a->done_said || a->ending,
    };

    return exit_reason (&l);
}

/* ---- what the aggregator says ---- */

/* Captures first, one in each turn of the loop: they are in OUT. */
static void end_rolled (void *arg)
{
    struct agent *a = arg;

    if (!*a->roll_text && agent_release_next (a))
        (void)loop_add_timer (a->loop, 0, end_rolled, a);
    else
        end_run (a, a->roll_whole, a->roll_text, EX_TEMPFAIL);
}

/* An aggregator of a run's own has said it; 'text': why OUT has not all of it,
 * or "".
 */
void agent_on_roll (void *arg, bool complete, const char *text)
{
    struct agent *a = arg;

    if (a->over)
        return;
    a->over = a->rolled = true;
    a->roll_whole = complete;
    (void)snprintf (a->roll_text, sizeof (a->roll_text), "%s", text);
    if (*text && a->release.kind != RELEASE_NEVER)
        log_text (LOG_LEVEL_WARN, "kept", "captures stay here: %s", text);
    if (!a->opt->run_dir) {
        if (a->opt->once)       // of a run's own: it goes now
            agent_finish (a, EX_TEMPFAIL);
        return;
    }
    mark_over (a);
    end_rolled (a);
}

/* A service says no ROLL: that it has heard the last word of this host is the
 * end of the run here, unless more wrappers are to come.  Called again and
 * again.
 */
void agent_on_said (void *arg)
{
    struct agent *a = arg;

    if (a->opt->no_roll && a->done_said && !a->over && !a->ending &&
        ((a->opt->local_size > 0 &&
          agent_count_ranks (a) >= a->opt->local_size) ||
         clock_mono_ns () - a->ended_ns > STRAGGLER_NS))
        end_by_itself (a);
}

/* ---- what time says ---- */

void agent_check_life (void *arg)
{
    struct agent *a = arg;
    int64_t now = clock_mono_ns ();
    const char *why = useless (a, now);
    char text[MESSAGE_TEXT_MAX];

    if (a->over)                // end_rolled goes on
        return;
    agent_check_rejoined (a, now);
    if (a->opt->no_roll && a->ended_ns > 0 &&
        now - a->ended_ns > a->opt->deadline_ns) {
        a->late_end = true;
        if (!a->ending)
            end_by_itself (a);
        return;
    }
    if (why) {
        agent_explain_end (a, why, text);
        log_text (LOG_LEVEL_WARN, "ending", "%s", text);
        agent_tell_wrappers (a, "roll", text, false);
        agent_finish (a, EX_UNAVAILABLE);
        return;
    }
    (void)loop_add_timer (a->loop, NS_PER_S, agent_check_life, a);
}

void agent_give_up (struct agent *a, int status, const char *why)
{
    log_text (LOG_LEVEL_ERROR, "refused", "%s", why);
    agent_tell_wrappers (a, "roll", why, false);
    finish (a, status);
}
