/* node_agent/agent/agent_end.c - when it is over, and how
 *
 * An agent of a run with its own aggregator ends by that one's ROLL; one of a
 * run with a service, or with --once, when nothing is left.  Captures that may
 * be removed are removed before anybody is told.
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "agent/agent_end.h"
#include "agent/agent_local.h"
#include "agent/exit_rule.h"
#include "base/clock.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/units.h"
#include "store/fileio.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define EX_GIVEN_UP 1                   // in addition to those of sysexits.h
#define STRAGGLER_NS (10 * NS_PER_S)    // for wrappers that start late
#define SETTLING_NS (5 * NS_PER_S)      // for what is found late, to settle,
#define SETTLING_SHARE 4                // or a quarter of the deadline

/* Started by hand, and not in a run. */
static bool is_once (const struct agent *a)
{
    return a->opt->once && !a->opt->run_dir;
}

/* ---- whether anything is left ---- */

/* A later scan sees what was changed or moved while it was sealed.  At half of
 * the deadline there is no time left to wait for captures that keep changing.
 */
static bool all_settled (const struct agent *a)
{
    int64_t settling_ns = a->opt->deadline_ns / SETTLING_SHARE;

    if (settling_ns > SETTLING_NS)
        settling_ns = SETTLING_NS;
    return a->search.flushed
               ? !watch_is_waiting (a->watch, clock_mono_ns () - settling_ns)
               : a->search.complete &&
                     a->search.scan_began_ns > a->seals.latest_ns &&
                     watch_unsettled (a->watch) == 0;
}

static bool all_delivered (struct agent *a)
{
    return sealer_pending (a->sealer) == 0 && agent_open_count (a) == 0 &&
           !agent_is_retrying_seal (a) && all_settled (a) &&
           spool_undelivered (a->spool) == 0 &&
           !spool_redelivers (a->spool) && !spool_has_to_revise (a->spool) &&
           ship_confirmed (a->ship, 0);
}

/* In a run with a service, half of the deadline is left to deliver what may be
 * wanted.
 */
static bool nothing_left (struct agent *a)
{
    return all_delivered (a) &&
           (!agent_awaits_wants (a) || agent_is_past_deadline (a, 2));
}

/* 0 if nothing is open or lost here, else 'status'. */
static int status_unless_all (struct agent *a, int status)
{
    bool all = sealer_pending (a->sealer) == 0 && a->captures.failed == 0 &&
               agent_open_count (a) == 0 &&
               (a->search.complete || !a->opt->once) && !a->search.unread &&
               watch_unsettled (a->watch) == 0 &&
               spool_undelivered (a->spool) == 0 &&
               !spool_redelivers (a->spool) && !agent_has_losses (a) &&
               agent_count_kept (a) == 0 &&
               (!a->opt->once || agent_is_confirmed (a));

    return all ? 0 : status;
}

/* Tell a service that this agent ends: it would miss a silent one. */
static int take_leave (struct agent *a, int status)
{
    status = status_unless_all (a, status);
    if (status == 0 && !a->opt->run_dir)
        ship_done (a->ship, "", 0);
    return status;
}

void agent_finish (struct agent *a, int status, const char *why)
{
    agent_stop (a, take_leave (a, status), why);
}

/* Everything that could be released is. */
static void agent_end_end (struct agent *a, int status)
{
    a->end.status = take_leave (a, status);
    (void)life_take (&a->life, LIFE_RELEASED, NULL);
}

/* ---- DONE, and withdrawing it ---- */

static void tell_left (struct agent *a, size_t captures)
{
    if (a->opt->run_dir && !a->opt->no_roll)
        ship_left (a->ship, captures);
}

/* The last message of a run's host: everything is delivered, or what never will
 * be.  'text' is for the aggregator, "" in the first case.
 */
static const char *last_word (struct agent *a, char *text, size_t size)
{
    agent_sum_up (a, text, size);
    return *text ? text : "all of it is delivered";
}

static bool has_new_word (struct agent *a)
{
    char text[MESSAGE_TEXT_MAX];

    return a->opt->run_dir &&
           strcmp (last_word (a, text, sizeof (text)), a->end.last_word) != 0;
}

static void say_done (struct agent *a)
{
    char text[MESSAGE_TEXT_MAX];

    PRINT (a->end.last_word, "%s", last_word (a, text, sizeof (text)));
    agent_explain_ranks (a);
    agent_explain_captures (a);
    agent_explain_losses (a);
    agent_set_done (a, true);
    log_info ("done", "%s", a->end.last_word);
    tell_left (a, 0);
    ship_done (a->ship, text, agent_count_doubtful (a));
}

static size_t count_left (const struct agent *a)
{
    return sealer_pending (a->sealer) + watch_unsettled (a->watch);
}

static void take_back (struct agent *a)
{
    size_t left = count_left (a);

    log_info ("late-captures", "%zu more capture%s %s to be read: this host is "
              "not done, although it said so", left, units_s (left),
              left == 1 ? "is" : "are");
    *a->end.last_word = '\0';
    tell_left (a, left);
    ship_not_done (a->ship);
}

/* After a search, report the number of unread captures to the run's own
 * aggregator, which may be about to end the run.  Captures that are found after
 * DONE withdraw it.  One that could not be sealed and is tried again has been
 * named.
 */
static void look_at_left (struct agent *a)
{
    size_t left = count_left (a);
    bool more = left > 0 &&
                (sealer_pending (a->sealer) > a->captures.failed ||
                 !all_settled (a));

    if (more && life_take (&a->life, LIFE_FOUND_MORE, NULL))
        return;                 // take_back has reported it
    // what stays unread has been named by then
    tell_left (a, *a->end.last_word ? 0 : left);
}

/* ---- the end ---- */

/* When an agent dies, every wrapper starts another.  A file tells one that
 * starts after the end of the run not to wait for wrappers.
 */
static bool over_path (const struct agent *a, char path[PATH_MAX])
{
    return fileio_join (path, PATH_MAX, a->opt->run_dir, "agent.over");
}

static int64_t date_of (const char *path)
{
    struct stat st;

    return stat (path, &st) == 0 ? clock_ns (&st.st_mtim) : 0;
}

int64_t agent_over_ns (const struct agent *a)
{
    char path[PATH_MAX];

    return a->opt->run_dir && over_path (a, path) ? date_of (path) : 0;
}

/* The last wrapper has left a file, too.  If all were killed at once, nobody has:
 * then what is here now is the run's.
 */
static bool left_path (const struct agent *a, char path[PATH_MAX])
{
    return fileio_join (path, PATH_MAX, a->opt->run_dir, "wrappers.over");
}

int64_t agent_left_ns (const struct agent *a)
{
    int64_t ns = agent_over_ns (a);
    char path[PATH_MAX];

    if (ns == 0 && left_path (a, path))
        ns = date_of (path);
    return ns > 0 ? ns : clock_wall_ns ();
}

void agent_forget_left (const struct agent *a)
{
    char path[PATH_MAX];

    if (left_path (a, path))
        (void)unlink (path);
}

/* Its date stays that of the end. */
static void mark_over (const struct agent *a)
{
    char path[PATH_MAX];

    if (agent_over_ns (a) == 0 && over_path (a, path))
        (void)fileio_replace (path, "", 0, FILEIO_FILE_MODE, NULL);
}

/* When the wrappers have ended, whoever started them may kill what is left. */
static void end_run (struct agent *a, bool whole, const char *text, int status)
{
    mark_over (a);
    a->end.complete = whole && status_unless_all (a, 1) == 0;
    agent_tell_wrappers (a, "roll", text, whole);
    agent_end_end (a, status);
}

/* Tell whoever started the agent by hand how it ended. */
static void say_delivered (struct agent *a)
{
    unsigned long long items = counter_get (COUNTER_ITEMS_DURABLE);
    unsigned long long confirmed = counter_get (COUNTER_ITEMS_CONFIRMED);
    unsigned long long left = spool_undelivered (a->spool);
    size_t unsealed = a->captures.failed;
    char size[16], unread[64] = "", before[96] = "", to[MESSAGE_TEXT_MAX];

    units_bytes_text (counter_get (COUNTER_BYTES_SENT), size);
    if (unsealed > 0)
        PRINT (unread, "%zu capture%s could not be read", unsealed,
               units_s (unsealed));
    if (confirmed > 0)
        PRINT (before, "; %llu delivered before %s still there", confirmed,
               units_are (confirmed));
    log_info ("delivered", "%llu item%s, %s, to %s%s; %s", items,
              units_s (items), size, agent_acknowledging (a, to), before,
              left > 0           ? "not all is delivered"
              : *unread          ? unread
              : a->search.unread ? "not all was searched"
              : items == 0       ? "nothing was left to deliver"
                                 : "nothing is left to deliver");
}

static void end_once (struct agent *a)
{
    char kept[MESSAGE_TEXT_MAX];

    say_delivered (a);
    agent_name_kept (a, kept, sizeof (kept));
    if (*kept)
        log_warn ("not-stored", "%s", kept);
    agent_end_end (a, a->captures.failed > 0 ? EX_CANTCREAT
                      : a->search.unread ? EX_NOINPUT
                                      : EX_GIVEN_UP);
}

static void add_reason (char *text, size_t size, const char *reason)
{
    size_t used = strlen (text);

    if (*reason)
        (void)snprintf (text + used, size - used, "; %.600s", reason);
}

/* What was not delivered when the deadline passed, and why, if that is known. */
static void name_late (struct agent *a, const char *lost, char *text,
                       size_t size)
{
    unsigned long long items = spool_undelivered (a->spool);
    size_t captures = count_left (a);
    char second[MESSAGE_TEXT_MAX];

    (void)snprintf (text, size, "host %s: when the deadline passed, %llu "
                    "item%s of the spool %s not delivered, and %zu capture%s "
                    "%s not read", a->self.host, items, units_s (items),
                    items == 1 ? "was" : "were", captures, units_s (captures),
                    captures == 1 ? "was" : "were");
    if (spool_redelivers (a->spool))
        add_reason (text, size, "what the aggregator has lost was not "
                                "delivered again");
    add_reason (text, size, agent_lacks_second (a, second));
    add_reason (text, size, lost);
}

/* What a run with a service has to report at its end, or "". */
static void sum_up_run (struct agent *a, char *text, size_t size)
{
    char lost[MESSAGE_TEXT_MAX];

    agent_sum_up (a, lost, sizeof (lost));
    if (!all_delivered (a))
        name_late (a, lost, text, size);
    else if (*lost)
        (void)snprintf (text, size, "%s", lost);
    else if (!a->search.complete)
        (void)snprintf (text, size, "host %s: the deadline passed before its "
                        "directories were searched to the end", a->self.host);
    else if (!agent_is_confirmed (a))
        (void)snprintf (text, size, "host %s: everything was delivered, but "
                        "the aggregator was silent when the deadline passed: "
                        "it may no longer have everything, so no capture is "
                        "removed here", a->self.host);
    else
        agent_name_kept (a, text, size);
}

static void end_served (struct agent *a)
{
    bool late = a->life.state.now == LIFE_LATE;
    char text[MESSAGE_TEXT_MAX];

    sum_up_run (a, text, sizeof (text));
    if (*text)
        log_warn (late ? "deadline" : "ending", "%s", text);
    end_run (a, !*text, text, late ? EX_UNAVAILABLE : EX_TEMPFAIL);
}

/* No aggregator ends this by a ROLL, so the agent ends itself.  It releases
 * captures first, one in each turn of the loop, because the aggregator must be
 * heard meanwhile.  While it is not heard, none is released;
 * agent_check_exit_rule gives it up.
 */
static void release_and_end (void *arg)
{
    struct agent *a = arg;
    bool late = a->life.state.now == LIFE_LATE;

    if (a->life.state.now != LIFE_ENDING && !late)
        return;
    if (!late && !nothing_left (a))
        (void)life_take (&a->life, LIFE_NOT_YET, NULL);
    else if (agent_release_next (a))
        (void)loop_add_timer (a->loop, 0, release_and_end, a);
    else if (!late && !agent_is_confirmed (a))
        (void)loop_add_timer (a->loop, NS_PER_S / 4, release_and_end, a);
    else if (!late && agent_awaits_store (a))
        (void)loop_add_timer (a->loop, NS_PER_S / 4, release_and_end, a);
    else if (!late && a->search.scan_began_ns <= a->release.stale_ns)
        (void)life_take (&a->life, LIFE_NOT_YET,
                         "the next scan shows what is new");
    else if (a->opt->run_dir)
        end_served (a);
    else
        end_once (a);
}

/* Something was delivered or searched: if nothing is left, end (--once), or
 * tell the aggregator (a run).
 */
static void check_done (struct agent *a)
{
    if (a->ship && nothing_left (a))
        (void)life_take (&a->life, LIFE_NOTHING_LEFT, NULL);
}

/* Of several aggregators: those of which there is no copy; with two copies an
 * object store, too.
 */
static int64_t count_stand_ins (const struct targets *t)
{
    return (int64_t)(t->endpoints.n - t->choice.copies) + (t->choice.copies > 1);
}

/* Why this process is no longer needed, or NULL. */
static const char *useless (const struct agent *a)
{
    int64_t now = clock_mono_ns ();
    char names[MESSAGE_TEXT_MAX];
    const struct exit_facts l = {
        .missing = agent_missing (a, names),
        .now_ns = now, .began_ns = now - agent_began_for_ns (a),
        .heard_ns = ship_heard_ns (a->ship),
        .ended_ns = a->end.commands_ns > 0 ? now - agent_ended_for_ns (a) : 0,
        .deadline_ns = a->opt->deadline_ns, .run = a->opt->run_dir,
        .once = a->opt->once, .joined = a->local.ranks,
        .served = a->opt->once || a->opt->no_roll,
        .others_ns = a->opt->away_ns * count_stand_ins (&a->targets),
        .done = *a->end.last_word || a->life.state.now == LIFE_ENDING,
    };

    return exit_reason (&l);
}

/* ---- messages of the aggregator ---- */

/* Release captures first, one in each turn of the loop: they are in OUT. */
static void end_rolled (void *arg)
{
    struct agent *a = arg;

    if (a->life.state.now != LIFE_ROLLED)
        return;
    if (!*a->end.roll_text && agent_release_next (a))
        (void)loop_add_timer (a->loop, 0, end_rolled, a);
    else
        end_run (a, a->end.roll_whole, a->end.roll_text, EX_TEMPFAIL);
}

static void take_roll (struct agent *a)
{
    if (*a->end.roll_text && a->release.policy.kind != RELEASE_NEVER)
        log_warn ("captures-kept", "captures stay here: %s", a->end.roll_text);
    if (a->opt->run_dir) {
        mark_over (a);
        end_rolled (a);
    } else if (a->opt->once) {  // of a run's own: it goes now
        agent_finish (a, EX_TEMPFAIL, "roll");
    }
}

/* A run's own aggregator sent ROLL; 'text': why OUT is not complete, or "". */
void agent_on_roll (void *arg, bool complete, const char *text)
{
    struct agent *a = arg;

    if (life_is_over (&a->life))
        return;                 // ROLL is repeated
    a->end.roll_whole = complete;
    PRINT (a->end.roll_text, "%s", text);
    (void)life_take (&a->life, LIFE_ROLL, NULL);
}

/* Whether all wrappers of this host have joined, as far as is known. */
static bool all_joined (const struct agent *a)
{
    return a->opt->finish ||
           (a->opt->local_size > 0 &&
            agent_count_ranks (a) >= a->opt->local_size) ||
           agent_ended_for_ns (a) > STRAGGLER_NS;
}

/* A service sends no ROLL: the run ends here when it has received this host's
 * last message, unless more wrappers will join.  Called repeatedly.
 */
void agent_on_said (void *arg)
{
    struct agent *a = arg;

    (void)life_take (&a->life, LIFE_WORD_HEARD, NULL);
}

/* ---- timers ---- */

void agent_check_exit_rule (void *arg)
{
    struct agent *a = arg;
    char text[MESSAGE_TEXT_MAX];
    const char *why;

    agent_look_whether_deaf (a);
    why = useless (a);
    if (life_is_over (&a->life))        // end_rolled continues
        return;
    agent_check_rejoined (a);
    if (a->opt->no_roll && !a->opt->finish && agent_is_past_deadline (a, 1) &&
        life_take (&a->life, LIFE_DEADLINE, NULL))
        return;
    if (why) {
        agent_explain_end (a, why, text);
        log_warn ("ending", "%s", text);
        agent_tell_wrappers (a, "roll", text, false);
        agent_finish (a, EX_UNAVAILABLE, why);
        return;
    }
    (void)loop_add_timer (a->loop, NS_PER_S, agent_check_exit_rule, a);
}

/* ---- guards and actions of its life ---- */

static bool holds (void *arg, unsigned guard)
{
    struct agent *a = arg;

    switch (guard) {
    case LIFE_IF_ONCE:
        return is_once (a);
    case LIFE_IF_SEARCHED:
        return a->opt->run_dir && agent_all_ended (a) &&
               a->search.scans_after_end > 1;
    case LIFE_IF_SAID:
        return *a->end.last_word != '\0';
    case LIFE_IF_NEW_WORD:
        return has_new_word (a);
    case LIFE_IF_ALL_JOINED:
        return a->opt->no_roll && all_joined (a);
    default:
        return true;
    }
}

static void search_all (struct agent *a)
{
    agent_look_whether_deaf (a);        // before: that was not after it
    a->end.commands_ns = clock_mono_ns ();
    a->end.commands_deaf_ns = a->end.deaf_ns;
    a->search.scans_after_end = 0;
    agent_scan (a);
    agent_search (a);
}

static void forget_done (struct agent *a)
{
    *a->end.last_word = '\0';
}

static void reopen (struct agent *a)
{
    a->end.commands_ns = 0;
    a->search.complete = a->search.flushed = false;
    forget_done (a);
}

static void begin_release (struct agent *a)
{
    if (is_once (a))
        agent_explain_losses (a);
    release_and_end (a);
}

static void stop_loop (struct agent *a)
{
    if (a->loop)
        loop_stop (a->loop, 0);
}

static void act (void *arg, unsigned action)
{
    static void (*const actions[LIFE_ACTIONS]) (struct agent *) = {
        [LIFE_SEARCH_ALL] = search_all,   [LIFE_REOPEN] = reopen,
        [LIFE_SAY_DONE] = say_done,       [LIFE_TAKE_BACK] = take_back,
        [LIFE_FORGET_DONE] = forget_done, [LIFE_RELEASE] = begin_release,
        [LIFE_TAKE_ROLL] = take_roll,     [LIFE_STOP_LOOP] = stop_loop,
    };

    actions[action] (arg);
}

/* With --once whoever reads the log wants to know only the result. */
void agent_begin_life (struct agent *a)
{
    a->captures.level = is_once (a) ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
    a->life.owner = (struct states_owner){ &life_states, holds, act, a,
                                           a->captures.level };
    state_begin (&a->life.state, LIFE_STARTING);
    a->life.began_ns = a->life.state.since_ns;
    a->end.check = check_done;
    a->end.scanned = look_at_left;
}
