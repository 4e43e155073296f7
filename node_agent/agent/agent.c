/* node_agent/agent/agent.c - the process that watches and ships, one per node
 *
 * One loop serves the wrappers on this host, the watched directories, the
 * sealer's results and the aggregator.  An agent runs as part of a run (and
 * ends with it), with --once (and ends when everything is delivered), or as a
 * service (and does not end).
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "agent/agent_end.h"
#include "agent/agent_local.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/secret.h"
#include "net/keys.h"
#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define NICE 19                         // the agent must not slow the job
#define DISKS_NS NS_PER_S               // between looks at the disks
#define DNS_PAUSE_MAX_S 60              // between questions to DNS

static void go_on_removing (struct agent *a)
{
    if (agent_go_on_removing (a))
        agent_search_again (a, clock_mono_ns ());
}

/* ---- the aggregator ---- */

static void on_welcome (void *arg, unsigned copy)
{
    struct agent *a = arg;

    agent_on_connected (a, copy);
    agent_keep_holder (a, copy);
    go_on_removing (a);         // all acknowledged data is there
    agent_revise (a);
    agent_ask_gone (a);
    a->end.check (a);
}

static void on_stop (void *arg, const char *why)
{
    agent_tell_wrappers (arg, "stop", why, false);
}

static void on_delivered (void *arg)
{
    struct agent *a = arg;

    agent_tell_lost (a);
    agent_answer_wants (a);
    a->end.check (a);
}

static void on_clock (void *arg, const struct clock_sync *c)
{
    struct agent *a = arg;
    char text[128];

    PRINT (text, "the aggregator's clock minus this host's is %.6f s, give or "
           "take %.6f s", (double)c->offset_ns / (double)NS_PER_S,
           (double)c->error_ns / (double)NS_PER_S);
    if (clock_sync_is_off (c))
        log_warn ("clock", "%s", text);
    (void)spool_keep_note (a->spool, "clock", text, NULL);
}

/* ---- life ---- */

static void on_signal (void *arg, int signo)
{
    struct agent *a = arg;

    log_info ("signal", "ending on signal %d", signo);
    agent_finish (a, EX_TEMPFAIL, "signal");
}

/* ---- the ledger is damaged ---- */

static bool is_damaged (void *arg)
{
    const struct agent *a = arg;

    return spool_damage (a->spool) != NULL;
}

static void end_damaged (void *arg)
{
    agent_stop (arg, EX_IOERR, "ledger-damaged");
}

/* The ledger is damaged: end, whoever found it, and however the agent was about
 * to end.  In a run the wrappers take this for a death and start the next
 * agent.
 */
static void say_damaged (struct agent *a)
{
    const char *why = a->spool ? spool_damage (a->spool) : NULL;

    if (!why)
        return;
    log_error ("ledger-damaged", "%s: it is set aside at the next start", why);
    a->end.status = EX_IOERR;
}

/* ---- its files are removed ---- */

static void end_without (struct agent *a, const struct err *why)
{
    log_error ("spool-gone", "%s, while it was in use: the next start reads "
               "the captures here again, and none counts twice", why->text);
    agent_stop (a, EX_IOERR, "spool-gone");
}

/* Restore what can be restored. */
static void look_at_spool (struct agent *a)
{
    char aside[PATH_MAX];
    struct err why = { "" };
    int rc = spool_look (a->spool, aside, &why);

    if (rc == -ENODEV)
        end_without (a, &why);
    else if (rc > 0)
        log_error ("ledger-gone", "ledger.db or its journal in %s was removed "
                   "or replaced while it was in use: it was written again, "
                   "with all that it had%s%s", a->spool_dir,
                   *aside ? "; what was in its place is now " : "", aside);
    else if (rc < 0 && !a->ledger_gone)
        log_error ("ledger-gone", "ledger.db or its journal in %s was removed "
                   "or replaced while it was in use, and cannot be put back: "
                   "%s.  It is tried again each second", a->spool_dir,
                   why.text);
    a->ledger_gone = rc < 0;
}

/* ---- its clock ---- */

/* Check the disks, and release captures that may be removed. */
static void look_at_disks (void *arg)
{
    struct agent *a = arg;
    bool full = agent_check_disks (a);

    look_at_spool (a);
    if (agent_has_room_again (a))
        agent_hand_on (a);
    go_on_removing (a);
    agent_release_some (a, full);
    agent_give_way (a);
    (void)loop_add_timer (a->loop, DISKS_NS, look_at_disks, a);
}

/* ---- start and end ---- */

static int open_spool (struct agent *a, struct err *err)
{
    int rc = agent_name_dir (a, "spool", a->spool_dir, err);
    struct err why = { "" };

    if (rc < 0)
        return rc;
    if ((rc = spool_open (a->spool_dir, &a->spool, &why)) < 0)
        return err_set (err, -rc, "%s%s", why.text, rc == -EACCES &&
                        strncmp (a->spool_dir, SPOOL_STATE_DEFAULT "/",
                                 sizeof (SPOOL_STATE_DEFAULT)) == 0
                            ? ": name another directory with --state DIR" : "");
    spool_log_captures (a->spool, a->captures.level);
    if (a->opt->divided)
        spool_divide (a->spool, a->self.host_id);
    if (loop_add_source (a->loop, is_damaged, end_damaged, a) < 0)
        return err_set (err, ENOMEM, "no memory for the spool");
    return 0;
}

/* The file of a run's own key exists in the run's directory only until it is
 * read; any other key file is permanent.
 */
static void forget_key (const struct agent_options *opt)
{
    if (opt->run_dir && agent_is_below (opt->key, opt->run_dir))
        (void)unlink (opt->key);
}

/* -ENOKEY: the list of aggregators, or the keys are invalid; -EAGAIN: DNS does
 * not answer; -ENOMEM.
 */
static int open_targets (struct agent *a, struct err *err)
{
    const struct agent_options *opt = a->opt;
    char to[MESSAGE_TEXT_MAX];
    int rc;

    if (opt->key)
        secret_forbid_cores ();
    rc = agent_open_targets (a, err);
    if (!opt->insecure && opt->key)
        forget_key (opt);
    if (rc == 0 && opt->insecure)
        log_warn ("insecure", "nothing is encrypted, and anybody can pretend "
                  "to be %s", agent_endpoints (a, to));
    return rc == 0 || rc == -EAGAIN || rc == -ENOMEM ? rc : -ENOKEY;
}

/* A service asks DNS until it answers: nothing is open here yet, so that a signal
 * may just end it.
 */
static int await_targets (struct agent *a, struct err *err)
{
    int64_t pause_s = 1;
    int rc;

    while ((rc = open_targets (a, err)) == -EAGAIN && !a->opt->once &&
           !a->opt->run_dir) {
        const struct timespec pause = { .tv_sec = pause_s };

        log_warn ("dns", "%s: it is asked again in %lld s", err->text,
                  (long long)pause_s);
        (void)nanosleep (&pause, NULL);
        agent_close_targets (a);
        pause_s = 2 * pause_s < DNS_PAUSE_MAX_S ? 2 * pause_s : DNS_PAUSE_MAX_S;
    }
    return rc;
}

static int agent_start (struct agent *a, struct err *err)
{
    const struct ship_events events = { on_welcome, on_stop, agent_on_roll,
                                        agent_on_refused, agent_on_problem,
                                        on_delivered, on_clock, agent_on_said,
                                        agent_on_lost, agent_on_raw,
                                        agent_on_want, agent_on_judged, a };
    int rc;

    host_name (a->self.host, sizeof (a->self.host));
    host_key (a->self.key);
    host_id (a->self.host_id);
    (void)setpriority (PRIO_PROCESS, 0, NICE);
    if (!(a->loop = loop_create ()) ||
        loop_add_signals (a->loop, on_signal, a) < 0)
        return err_set (err, ENOMEM, "cannot watch for signals");
    if ((rc = open_spool (a, err)) < 0)
        return rc;
    // with the lock held: nobody else writes
    if (!a->opt->finish && agent_over_ns (a) > 0) {
        a->end.complete = spool_undelivered (a->spool) == 0 &&
                      !agent_has_losses (a);
        return err_set (err, EBUSY, "the run is over");
    }
    agent_open_disk_pressure (a);
    agent_recall_raw (a);
    if ((rc = agent_open_search (a, err)) < 0 ||
        (rc = agent_open_seals (a, err)) < 0 ||
        (rc = agent_open_analyses (a, err)) < 0 ||
        (rc = agent_open_wrappers (a, err)) < 0 ||
        (rc = agent_open_ship (a, &events, err)) < 0 ||
        (rc = agent_recall_captures (a, err)) < 0)
        return rc;
    agent_recall_redelivery (a);
    (void)life_take (&a->life, LIFE_OPENED, NULL);
    if ((rc = agent_recall_wrappers (a, err)) == 0 && a->opt->run_dir)
        agent_read_reports (a);
    return rc;
}

/* The spool of a run that is over and was delivered completely. */
static void remove_spool (const struct agent *a)
{
    char dir[PATH_MAX];

    if (fileio_join (dir, sizeof (dir), a->opt->run_dir, "spool"))
        (void)fileio_remove_tree (dir, NULL);
}

static void stop (struct agent *a)
{
    agent_end_status (a);
    agent_close_analyses (a);
    agent_close_seals (a);
    agent_close_search (a);
    ship_destroy (a->ship);
    agent_close_wants (a);
    agent_close_wrappers (a);
    agent_close_disk_pressure (a);
    free (a->reports.all);
    spool_close (a->spool);
    if (a->end.complete && a->opt->run_dir) {
        agent_remove_reports (a);
        remove_spool (a);
    }
    agent_close_targets (a);
    loop_destroy (a->loop);
}

static void agent_execute (struct agent *a)
{
    char to[MESSAGE_TEXT_MAX];
    int rc;

    if (a->opt->run_dir || a->opt->once)
        agent_check_exit_rule (a);
    if (a->opt->run_dir)
        agent_look_at_reports (a);
    agent_look_at_connection (a);
    agent_look_at_targets (a);
    if (a->opt->once && !a->opt->run_dir)
        log_info ("waiting", "until the captures here are read and %s %s "
                  "acknowledged them", agent_endpoints (a, to),
                  choice_next_copy (&a->targets.choice, 1) < SPOOL_COPIES_ALL
                      ? "have" : "has");
    look_at_disks (a);
    agent_write_status (a);
    agent_search (a);
    agent_scan (a);
    if ((rc = loop_run (a->loop)) == 0)
        return;
    log_error ("ending", "cannot wait for events: %s", strerror (-rc));
    agent_stop (a, EX_OSERR, "loop-failed");
}

int agent_run (const struct agent_options *opt)
{
    struct agent a = {
        .opt = opt,
        .local = { .listener = -1, .world_size = opt->world_size },
    };
    struct err err = { "" };
    int rc;

    agent_begin_life (&a);
    rc = await_targets (&a, &err);
    if (rc == 0)
        rc = agent_start (&a, &err);

    if (rc == -EBUSY && opt->run_dir && !opt->finish) {
        agent_stop (&a, 0, "another agent serves this host");
    } else if (rc < 0) {
        log_error ("start-failed", "%s", err.text);
        agent_stop (&a, rc == -ENOKEY   ? EX_CONFIG
                        : rc == -EAGAIN ? EX_TEMPFAIL : EX_CANTCREAT,
                    "start-failed");
    } else {
        agent_execute (&a);
    }
    say_damaged (&a);
    stop (&a);
    return a.end.status;
}
