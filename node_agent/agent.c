/* node_agent/agent.c - the process that watches and ships, one per node
 *
 * One loop: wrappers on this host, the watched directories, the sealer's
 * results, the aggregator.  Three ways to live: as part of a run (ends with
 * it), --once (ends when all is delivered), as a service (does not end).
 */
#include "agent_inside.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/fileio.h"
#include "base/log.h"
#include "life.h"
#include "net/keys.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#define EX_GIVEN_UP 1                   // beside those of sysexits.h
#define NICE 19                         // never in the job's way
#define STRAGGLER_NS (10 * NS_PER_S)    // for wrappers that start late

void agent_note (struct agent *a, enum log_level level, const char *event,
                 const char *fmt, ...)
{
    char text[MESSAGE_TEXT_MAX];
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    log_text (level, event, "%s", text);
    (void)ship_note (a->ship, text);
}

/* ---- the end ---- */

static void finish (struct agent *a, int status)
{
    a->status = status;
    loop_stop (a->loop, 0);
}

/* What was changed or moved while it was sealed is seen by a later scan. */
static bool all_settled (const struct agent *a)
{
    return a->searched && a->scan_began_ns > a->sealed_ns &&
           watch_unsettled (a->watch) == 0;
}

static bool nothing_left (struct agent *a)
{
    return sealer_pending (a->sealer) == 0 && agent_open_count (a) == 0 &&
           !agent_seals_again (a) && (all_settled (a) || a->flushed) &&
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
               (!a->opt->once || ship_confirmed (a->ship, 0));

    return all ? 0 : status;
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
    ship_done (a->ship, text);
    a->done_said = true;
}

/* Captures first, one in each turn of the loop: the aggregator has to be heard
 * meanwhile.  While it is not none goes; check_life gives it up.
 */
static void end_once (void *arg)
{
    struct agent *a = arg;

    a->ending = nothing_left (a);
    if (!a->ending)
        return;                 // agent_check_done comes again
    if (agent_release_next (a))
        (void)loop_add_timer (a->loop, 0, end_once, a);
    else if (!agent_is_confirmed (a))
        (void)loop_add_timer (a->loop, NS_PER_S / 4, end_once, a);
    else
        finish (a, status_unless_all (a, a->unsealed     ? EX_CANTCREAT
                                         : a->unsearched ? EX_NOINPUT
                                                         : EX_GIVEN_UP));
}

void agent_check_done (struct agent *a)
{
    if (a->over || !a->ship || !nothing_left (a))
        return;
    if (a->opt->once && !a->opt->run_dir) {
        agent_explain_losses (a);
        if (!a->ending)
            end_once (a);
    } else if (a->opt->run_dir && agent_all_ended (a) &&
               a->scans_after_end > 1) {
        say_done (a);
    }
}

/* Why this process has no purpose any more, or NULL. */
static const char *useless (const struct agent *a, int64_t now)
{
    const struct life l = {
        .now_ns = now, .began_ns = a->began_ns,
        .heard_ns = ship_heard_ns (a->ship), .ended_ns = a->ended_ns,
        .deadline_ns = a->opt->deadline_ns, .run = a->opt->run_dir,
        .once = a->opt->once, .joined = a->ranks, .done = a->done_said,
    };

    return life_useless (&l);
}

/* ---- the aggregator ---- */

static void on_welcome (void *arg)
{
    struct agent *a = arg;

    agent_on_connected (a);
    agent_go_on_removing (a);   // what was acknowledged is there
    agent_check_done (a);
}

static void on_stop (void *arg, const char *why)
{
    agent_tell_wrappers (arg, "stop", why, false);
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

static bool is_over (const struct agent *a)
{
    char path[PATH_MAX];

    return a->opt->run_dir && over_path (a, path) && access (path, F_OK) == 0;
}

/* Captures first, one in each turn of the loop: when its wrappers have ended,
 * whoever started them may kill what is left.
 */
static void end_run (void *arg)
{
    struct agent *a = arg;

    if (a->releases && agent_release_next (a)) {
        (void)loop_add_timer (a->loop, 0, end_run, a);
        return;
    }
    agent_tell_wrappers (a, "roll", a->over_text, a->over_whole);
    finish (a, status_unless_all (a, a->over_status));
}

/* 'unwritten': why OUT has not all of it, or "". */
static void begin_end (struct agent *a, bool complete, const char *text,
                       const char *unwritten, int status)
{
    if (a->over)
        return;
    a->over = true;
    a->over_ns = clock_mono_ns ();
    a->complete = complete && status_unless_all (a, 1) == 0;
    a->over_whole = complete;
    a->over_status = status;
    a->releases = !*unwritten;
    (void)snprintf (a->over_text, sizeof (a->over_text), "%s", text);
    if (*unwritten && a->release.kind != RELEASE_NEVER)
        log_text (LOG_LEVEL_WARN, "kept", "captures stay here: %s", unwritten);
    if (!a->opt->run_dir)
        return;
    mark_over (a);
    end_run (a);
}

/* An aggregator of a run's own has said it. */
static void on_roll (void *arg, bool complete, const char *text)
{
    struct agent *a = arg;

    a->rolled = true;
    begin_end (a, complete, text, text, EX_TEMPFAIL);
}

/* A service says no ROLL: that it has heard the last word of this host is the
 * end of the run here, unless more wrappers are to come.  Called again and
 * again.
 */
static void on_said (void *arg)
{
    struct agent *a = arg;

    if (a->opt->no_roll && a->done_said && !a->over &&
        ((a->opt->local_size > 0 &&
          agent_count_ranks (a) >= a->opt->local_size) ||
         clock_mono_ns () - a->ended_ns > STRAGGLER_NS))
        begin_end (a, !*a->done_text, a->done_text, "", EX_TEMPFAIL);
}

static void end_at_deadline (struct agent *a)
{
    unsigned long long items = spool_undelivered (a->spool);
    size_t captures = sealer_pending (a->sealer) + watch_unsettled (a->watch);
    char text[MESSAGE_TEXT_MAX];

    agent_sum_up (a, text, sizeof (text));
    if (!nothing_left (a))
        (void)snprintf (text, sizeof (text), "host %s: not delivered when the "
                        "deadline passed: %llu items in the spool, %zu "
                        "captures that were not read yet", a->host, items,
                        captures);
    else if (!*text && !agent_is_confirmed (a))
        (void)snprintf (text, sizeof (text), "host %s: all was delivered, but "
                        "when the deadline passed the aggregator was silent: "
                        "whether it has it is not known", a->host);
    if (*text)
        log_text (LOG_LEVEL_WARN, "deadline", "%s", text);
    begin_end (a, !*text, text, "", EX_UNAVAILABLE);
}

static void check_life (void *arg)
{
    struct agent *a = arg;
    int64_t now = clock_mono_ns ();
    const char *why = useless (a, now);
    char text[MESSAGE_TEXT_MAX];

    if (a->over)                // end_run goes on
        return;
    agent_check_rejoined (a, now);
    if (a->opt->no_roll && a->ended_ns > 0 &&
        now - a->ended_ns > a->opt->deadline_ns) {
        end_at_deadline (a);
        return;
    }
    if (why) {
        agent_explain_end (a, why, text);
        log_text (LOG_LEVEL_WARN, "ending", "%s", text);
        agent_tell_wrappers (a, "roll", text, false);
        finish (a, status_unless_all (a, EX_UNAVAILABLE));
        return;
    }
    (void)loop_add_timer (a->loop, NS_PER_S, check_life, a);
}

void agent_give_up (struct agent *a, int status, const char *why)
{
    log_text (LOG_LEVEL_ERROR, "refused", "%s", why);
    agent_tell_wrappers (a, "roll", why, false);
    finish (a, status);
}

static void on_delivered (void *arg)
{
    agent_check_done (arg);
}

static void on_clock (void *arg, const struct clock_sync *c)
{
    struct agent *a = arg;
    char text[128];

    (void)snprintf (text, sizeof (text), "the aggregator's clock minus this "
                    "host's is %.6f s, give or take %.6f s",
                    (double)c->offset_ns / (double)NS_PER_S,
                    (double)c->error_ns / (double)NS_PER_S);
    if (clock_sync_is_off (c))
        log_text (LOG_LEVEL_WARN, "clock", "%s", text);
    (void)spool_keep_note (a->spool, "clock", text, NULL);
}

/* ---- life ---- */

static void on_signal (void *arg, int signo)
{
    struct agent *a = arg;

    log_text (LOG_LEVEL_INFO, "signal", "ending by signal %d", signo);
    finish (a, status_unless_all (a, EX_TEMPFAIL));
}

/* ---- the ledger is damaged ---- */

static bool is_damaged (void *arg)
{
    const struct agent *a = arg;

    return spool_damage (a->spool) != NULL;
}

static void end_damaged (void *arg)
{
    struct agent *a = arg;

    loop_stop (a->loop, 0);     // say_damaged has the status
}

/* Whoever met it, and whatever the end was going to be.  The next start is a
 * wrapper's affair, in a run: to them this is a death.
 */
static void say_damaged (struct agent *a)
{
    const char *why = a->spool ? spool_damage (a->spool) : NULL;

    if (!why)
        return;
    log_text (LOG_LEVEL_ERROR, "ledger-damaged", "%s: it is set aside at the "
              "next start", why);
    a->status = EX_IOERR;
}

/* ---- start and end ---- */

static int open_spool (struct agent *a, struct err *err)
{
    char *dir = a->spool_dir;
    const size_t size = sizeof (a->spool_dir);
    int n = a->opt->run_dir
                ? snprintf (dir, size, "%s/spool", a->opt->run_dir)
                : snprintf (dir, size, "%s/" SPOOL_PREFIX "%s", a->opt->state,
                            a->opt->job);

    if (n < 0 || (size_t)n >= size)
        return err_set (err, ENAMETOOLONG, "path is too long: %s",
                        a->opt->state);
    if ((n = spool_open (dir, &a->spool, err)) < 0)
        return n;
    if (loop_add_source (a->loop, is_damaged, end_damaged, a) < 0)
        return err_set (err, ENOMEM, "no memory for the spool");
    return 0;
}

/* A run's own key is in a file of the run's directory for as long as it takes
 * to read it; any other is somebody's for good.
 */
static void forget_key (const struct agent_options *opt)
{
    size_t n = opt->run_dir ? strlen (opt->run_dir) : 0;

    if (n > 0 && strncmp (opt->key, opt->run_dir, n) == 0 &&
        opt->key[n] == '/')
        (void)unlink (opt->key);
}

/* -ENOKEY: the keys are not as they should be. */
static int open_keys (struct agent *a, struct err *err)
{
    const struct agent_options *opt = a->opt;
    int rc = 0;

    a->security.insecure = opt->insecure;
    if (!opt->insecure && opt->key) {
        rc = key_client (opt->key, opt->server_key, &a->security, err);
        forget_key (opt);
    }
    if (opt->insecure)
        log_text (LOG_LEVEL_WARN, "insecure", "nothing is encrypted, and "
                  "anybody can pretend to be %s", opt->aggregator);
    return rc < 0 ? -ENOKEY : 0;
}

static int start (struct agent *a, struct err *err)
{
    const struct ship_events events = { on_welcome, on_stop, on_roll,
                                        agent_on_refused, agent_on_problem,
                                        on_delivered, on_clock, on_said,
                                        agent_on_lost, a };
    struct ship_identity who = { a->opt->job, a->host, a->key,
                                 a->opt->world_size,
                                 a->opt->key || a->opt->insecure
                                     ? &a->security : NULL };
    int rc;

    host_name (a->host, sizeof (a->host));
    host_key (a->key);
    (void)setpriority (PRIO_PROCESS, 0, NICE);
    if (!(a->loop = loop_create ()) ||
        loop_add_signals (a->loop, on_signal, a) < 0)
        return err_set (err, ENOMEM, "cannot watch for signals");
    if ((rc = open_spool (a, err)) < 0)
        return rc;
    if (is_over (a)) {          // asked with the lock: nobody else is at it
        a->complete = spool_undelivered (a->spool) == 0 &&
                      !agent_has_losses (a);
        return err_set (err, EBUSY, "the run is over");
    }
    agent_open_room (a);
    if ((rc = agent_open_captures (a, err)) < 0 ||
        (rc = agent_open_wrappers (a, err)) < 0 ||
        (rc = ship_create (a->loop, a->spool, a->opt->aggregator, &who,
                           &events, &a->ship, err)) < 0)
        return rc;
    ship_limit (a->ship, a->opt->max_rate);
    if ((rc = agent_recall_captures (a, err)) < 0)
        return rc;
    agent_recall_redelivery (a);
    return agent_recall_wrappers (a, err);
}

/* The spool of a run that is over and of which everything was delivered. */
static void remove_spool (const struct agent *a)
{
    char dir[PATH_MAX];

    if (fileio_join (dir, sizeof (dir), a->opt->run_dir, "spool"))
        (void)fileio_remove_tree (dir, NULL);
}

static void stop (struct agent *a)
{
    agent_end_status (a);
    agent_stop_redelivery (a);
    agent_close_captures (a);
    ship_destroy (a->ship);
    agent_close_wrappers (a);
    agent_close_room (a);
    spool_close (a->spool);
    if (a->complete && a->opt->run_dir)
        remove_spool (a);
    loop_destroy (a->loop);
    explicit_bzero (&a->security, sizeof (a->security));
}

static void run (struct agent *a)
{
    int rc;

    if (a->opt->run_dir || a->opt->once)
        check_life (a);
    agent_look_at_connection (a);
    agent_check_room (a);
    agent_write_status (a);
    agent_search (a);
    agent_scan (a);
    if ((rc = loop_run (a->loop)) == 0)
        return;
    log_text (LOG_LEVEL_ERROR, "ending", "cannot wait for anything: %s",
              strerror (-rc));
    a->status = EX_OSERR;
}

int agent_run (const struct agent_options *opt)
{
    struct agent a = { .opt = opt, .listener = -1,
                       .began_ns = clock_mono_ns () };
    struct err err = { "" };
    int rc;

    rc = open_keys (&a, &err);
    if (rc == 0)
        rc = start (&a, &err);

    if (rc == -EBUSY && opt->run_dir) {
        a.status = 0;           // another one was faster: it serves the host
    } else if (rc < 0) {
        log_text (LOG_LEVEL_ERROR, "start-failed", "%s", err.text);
        a.status = rc == -ENOKEY ? EX_CONFIG : EX_CANTCREAT;
    } else {
        run (&a);
    }
    say_damaged (&a);
    stop (&a);
    return a.status;
}
