/* cli/run/run_wrap.c - around one COMMAND
 *
 * Starts COMMAND, tells this host's agent when it has ended and how, ends it
 * when another rank has failed, and lets nobody outlive anybody: COMMAND dies
 * with the wrapper, the wrapper ends with its launcher.  Nothing depends on
 * cleaning up here: a wrapper may be killed at any time.
 */
#include "run/run_wrap.h"

#include "base/clock.h"
#include "control/control.h"
#include "json/json.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_AFTER_NS (5 * NS_PER_S)    // SIGKILL behind a SIGTERM
#define HOLD_EXTRA_NS (30 * NS_PER_S)   // beyond the deadline, for building
#define NOTED_NS (20 * NS_PER_S)        // for the agent to note COMMAND's end
#define GOODBYE_NS (30 * NS_PER_S)      // for the aggregator to end by itself,
                                        // and then the agent
#define GRACE_NS (30 * NS_PER_S)        // of silence beyond the deadline: an
                                        // agent at nice 19 of a busy node
#define ASK_NS (10 * NS_PER_S)          // between two questions meanwhile
#define DOUBT_NS (2 * NS_PER_S)         // for a signal that COMMAND was killed
                                        // by to come here, too
#define CLOCK_GRAIN_NS (20 * NS_PER_MS) // dates of files may lag so much

/* ---- COMMAND ---- */

/* What COMMAND starts stays below this process, even after COMMAND's end: so
 * the agent knows whose it is.  Daemons that are started here are not adopted.
 */
static void adopt_orphans (bool yes)
{
    (void)prctl (PR_SET_CHILD_SUBREAPER, yes ? 1 : 0);
}

static int start_command (struct wrap *w, struct err *err)
{
    adopt_orphans (true);
    w->began_ns = clock_mono_ns ();
    w->child = run_start_command (w->r, &w->given, err);
    return w->child < 0 ? (int)w->child : 0;
}

static void end_command (struct wrap *w, int sig)
{
    if (w->child <= 0)
        return;
    (void)kill (w->child, sig);
    if (w->kill_ns == 0)
        w->kill_ns = clock_mono_ns () + KILL_AFTER_NS;
}

/* Whether a scheduler kills what is left of a step, including daemons, as soon
 * as its last task ends.  When it ends the job, it gives tasks some time
 * (KillWait) in which the run must finish.
 */
static bool keeps_step (const struct wrap *w)
{
    return strcmp (w->r->world.launcher, "slurm") == 0 ||
           getenv ("SLURM_JOB_ID");
}

/* ---- the agent ---- */

static void run_wrap_say (struct wrap *w, struct json *j)
{
    if (w->control >= 0)
        (void)control_send (w->control, j);
    else
        json_free (j);
}

/* Make a path absolute, because the agent's working directory is another one.
 * It need not exist yet.
 */
static void absolute (const char *path, char out[PATH_MAX])
{
    char cwd[PATH_MAX];

    if (realpath (path, out))
        return;
    if (path[0] == '/' || !getcwd (cwd, sizeof (cwd)) ||
        !fileio_join (out, PATH_MAX, cwd, path))
        (void)snprintf (out, PATH_MAX, "%s", path);
}

static bool is_here (const char *dir)
{
    char cwd[PATH_MAX];

    return getcwd (cwd, sizeof (cwd)) && strcmp (cwd, dir) == 0;
}

static void say_hello (struct wrap *w)
{
    const struct run *r = w->r;
    struct json *j = json_object (), *dirs;
    char dir[PATH_MAX], since[24];
    bool named = false;         // the working directory, by --watch

    json_add_text (j, "type", "hello");
    json_add_int (j, "rank", r->world.rank);
    json_add_int (j, "local_rank", r->world.local_rank);
    json_add_int (j, "pid", getpid ());
    PRINT (since, "%lld", (long long)w->since_ns);
    json_add_text (j, "since_ns", since);
    if (run_capture_dir (r, dir, NULL) == 0)
        json_add_text (j, "capture_dir", dir);
    absolute (r->opt->out ? r->opt->out : ".", dir);
    json_add_text (j, "out", dir);
    dirs = json_add_array (j, "watch");
    if (getcwd (dir, sizeof (dir)))
        json_push_text (dirs, dir);
    for (size_t i = 0; i < r->opt->watch.n; i++) {
        absolute (r->opt->watch.items[i], dir);
        named = named || is_here (dir);
        json_push_text (dirs, dir);
    }
    if (!named && getcwd (dir, sizeof (dir)))
        json_add_text (j, "bounded", dir);
    run_wrap_say (w, j);
}

static void say_ended (struct wrap *w)
{
    struct json *j = json_object ();
    char at[24];

    json_add_text (j, "type", "ended");
    json_add_int (j, "status", w->stopped ? -1 : w->status);
    json_add_text (j, "text", w->why);
    PRINT (at, "%lld", (long long)w->end.ns);
    json_add_text (j, "ended_ns", at);
    json_add_int (j, "signal", w->end.signal);
    json_add_int (j, "exit", w->end.status);
    run_wrap_say (w, j);
}

/* Tell why, in case this process is killed before COMMAND ends. */
static void say_ending (struct wrap *w)
{
    struct json *j = json_object ();

    json_add_text (j, "type", "ending");
    json_add_text (j, "text", w->why);
    run_wrap_say (w, j);
}

/* ---- its states ---- */

/* Whether schedulers and launchers end a job with this signal; a shell returns
 * 128 and its number.
 */
static bool may_be_for_all (int status)
{
    return status == 128 + SIGTERM || status == 128 + SIGINT ||
           status == 128 + SIGHUP;
}

/* Rank 0 reports the result, one wrapper on each host guards the agent, and a
 * wrapper whose COMMAND failed delays the launcher's abort.
 */
static bool is_spare (const struct wrap *w)
{
    const struct run *r = w->r;

    return !r->owns_aggregator && r->world.local_rank != 0 &&
           !keeps_step (w) &&
           (w->status == 0 || w->stopped ||
            clock_mono_ns () - w->ended_ns >=
                r->opt->deadline_ns + HOLD_EXTRA_NS);
}

static bool holds (void *arg, unsigned guard)
{
    const struct wrap *w = arg;
    int64_t now = clock_mono_ns ();

    switch (guard) {
    case WRAP_IF_FOR_ALL:
        return !w->stopped && may_be_for_all (w->status);
    case WRAP_IF_SENT_AWAY:
        return w->launcher_ended && !keeps_step (w);
    case WRAP_IF_SPARE:
        return is_spare (w);
    case WRAP_IF_UNHEARD:       // the agent may have died just now
        return now - w->ended_ns >= NOTED_NS && is_spare (w);
    case WRAP_IF_RELEASED:
        return w->control < 0 || now - w->built_ns >= GOODBYE_NS;
    default:                    // WRAP_IF_SAID
        return !w->r->owns_aggregator || w->aggregator < 0 ||
               now - w->over_ns >= GOODBYE_NS;
    }
}

static void act (void *arg, unsigned action)
{
    if (action == WRAP_TERMINATE)
        end_command (arg, SIGTERM);
    else if (action == WRAP_SAY_ENDING)
        say_ending (arg);
    else
        say_ended (arg);
}

static bool run_wrap_take (struct wrap *w, enum wrap_event event,
                           const char *why)
{
    const struct states_owner owner = { &wrap_states, holds, act, w,
                                        LOG_LEVEL_DEBUG };

    return state_take (&w->state, &owner, event, why && *why ? why : NULL,
                       NULL, NULL);
}

/* ---- what the agent says ---- */

static int join_agent (struct wrap *w, bool start, struct err *err)
{
    int fd = run_join_agent (w->r, start, err);

    if (fd < 0)
        return fd;
    w->control = fd;
    w->silent_ns = 0;
    say_hello (w);
    if (w->state.now >= WRAP_ENDED)
        say_ended (w);
    return 0;
}

static void set_over (struct wrap *w)
{
    if (w->over_ns == 0)
        w->over_ns = clock_mono_ns ();
}

static int start_agent_again (struct wrap *w, struct err *err)
{
    int rc;

    adopt_orphans (false);
    rc = join_agent (w, true, err);
    adopt_orphans (true);
    return rc;
}

/* The agent died: start another one, which resumes from its spool. */
static void lost_agent (struct wrap *w)
{
    struct err err = { "" };

    (void)close (w->control);
    w->control = -1;
    if (w->over_ns > 0 || w->built_ns > 0 ||
        (w->launcher_ended && !keeps_step (w)))
        return;
    if (w->restarts++ >= RUN_RESTARTS_MAX)
        (void)err_set (&err, ECHILD, "the agent of host %s died %u times",
                       w->r->host, w->restarts);
    else if (start_agent_again (w, &err) == 0)
        return;
    PRINT (w->undelivered, "not everything is delivered: %.400s", err.text);
    if (!run_is_served (w->r))  // else it is said at the end
        (void)RUN_FAIL (0, "%s; captures stay in %s", err.text, w->r->dir);
    set_over (w);
}

static void on_control (struct wrap *w)
{
    int rc;
    struct json *j = control_receive (w->control, &rc);
    const char *type = json_text (json_get (j, "type"), "");

    if (j)
        w->silent_ns = 0;
    if (!j && rc != -EAGAIN) {
        lost_agent (w);
    } else if (strcmp (type, "stop") == 0 && w->state.now == WRAP_RUNNING) {
        w->stopped = true;
        PRINT (w->why, "rollcall ended it, since %.400s",
               json_text (json_get (j, "text"), "another rank failed"));
        (void)run_wrap_take (w, WRAP_STOP, w->why);
    } else if (strcmp (type, "noted") == 0) {
        (void)run_wrap_take (w, WRAP_WAS_NOTED, NULL);
    } else if (strcmp (type, "roll") == 0) {
        set_over (w);
        PRINT (w->undelivered, "%s", json_text (json_get (j, "text"), ""));
    }
    json_free (j);
}

/* ---- signals ---- */

static void command_ended (struct wrap *w, int wait_status)
{
    double seconds = (double)(clock_mono_ns () - w->began_ns) / 1e9;
    bool signalled = WIFSIGNALED (wait_status);
    int n = signalled ? WTERMSIG (wait_status) : WEXITSTATUS (wait_status);

    w->child = 0;
    w->kill_ns = 0;
    w->ended_ns = clock_mono_ns ();
    w->status = signalled ? 128 + n : n;
    w->end = (struct command_end){ .ns = clock_wall_ns (),
                                   .signal = signalled ? n : 0,
                                   .status = signalled ? 0 : n };
    if (!w->stopped && w->status != 0)
        PRINT (w->why, signalled ? "COMMAND was killed by signal %d (%s) "
                           "after %.1f s"
                         : "COMMAND ended with status %d%s after "
                           "%.1f s",
               n, signalled ? strsignal (n) : "", seconds);
    (void)run_wrap_take (w, WRAP_COMMAND_ENDED, w->why);
}

static bool by_launcher (const struct wrap *w,
                         const struct signalfd_siginfo *info)
{
    return info->ssi_code > 0 || (pid_t)info->ssi_pid == w->r->parent;
}

/* Name the sender: "its launcher", or whoever else it was, if it is known. */
static void name_sender (const struct wrap *w,
                         const struct signalfd_siginfo *info, char *out,
                         size_t size)
{
    char path[64];
    struct buf name;

    if (by_launcher (w, info)) {
        (void)snprintf (out, size, "its launcher (signal %u)",
                        info->ssi_signo);
        return;
    }
    buf_init (&name, 64);
    PRINT (path, "/proc/%u/comm", info->ssi_pid);
    (void)fileio_read_at (AT_FDCWD, path, &name, NULL);
    (void)snprintf (out, size, "signal %u of %.*s%sprocess %u%s",
                    info->ssi_signo,
                    (int)strcspn (buf_text (&name), "\n"), buf_text (&name),
                    name.size > 0 ? " (" : "", info->ssi_pid,
                    name.size > 0 ? ")" : "");
    buf_fini (&name);
}

/* Only rank 0 asks: the scheduler's controller need not hear from each rank. */
static void name_limit (struct wrap *w, const struct signalfd_siginfo *info)
{
    size_t n = strlen (w->why);

    if (w->r->world.rank == 0 && by_launcher (w, info) &&
        run_past_limit (run_slurm_job ()))
        (void)snprintf (w->why + n, sizeof (w->why) - n, ", since the Slurm "
                        "job was at its time limit");
}

static void ended_by (struct wrap *w, const struct signalfd_siginfo *info)
{
    bool first = w->state.now == WRAP_RUNNING ||
                 w->state.now == WRAP_IN_DOUBT;
    char who[160];

    w->launcher_ended = true;
    if (first) {
        w->stopped = true;
        name_sender (w, info, who, sizeof (who));
        PRINT (w->why, "ended by %s", who);
        (void)run_wrap_take (w, WRAP_SIGNAL, w->why);
    }
    // a signal from the terminal has already reached COMMAND
    if (info->ssi_code <= 0)
        end_command (w, SIGTERM);
    if (!first)
        return;
    name_limit (w, info);
    (void)run_wrap_take (w, WRAP_DOUBT_OVER, w->why);
}

static void on_signal (struct wrap *w)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read (w->signals, &info, sizeof (info)) == sizeof (info)) {
        if (info.ssi_signo != SIGCHLD)
            ended_by (w, &info);
    }
    while ((pid = waitpid (-1, &status, WNOHANG)) > 0) {
        if (pid == w->child)
            command_ended (w, status);
    }
}

static int open_signals (struct wrap *w)
{
    static const int list[] = { SIGTERM, SIGINT, SIGHUP };
    sigset_t set;

    (void)signal (SIGCHLD, SIG_DFL);    // or children would vanish unseen
    w->given.on_pipe = signal (SIGPIPE, SIG_IGN);
    (void)sigemptyset (&set);
    (void)sigaddset (&set, SIGCHLD);
    for (size_t i = 0; i < sizeof (list) / sizeof (list[0]); i++) {
        if (!cli_is_ignored (list[i]))
            (void)sigaddset (&set, list[i]);
    }
    (void)sigprocmask (SIG_BLOCK, &set, &w->given.mask);
    w->signals = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return w->signals < 0 ? -errno : 0;
}

/* ---- the aggregator ---- */

static void watch_aggregator (struct wrap *w)
{
    w->aggregator = run_open_process (w->r->aggregator, 0);
}

static void aggregator_ended (struct wrap *w)
{
    struct err err = { "" };

    fileio_close (w->aggregator);
    w->aggregator = -1;
    adopt_orphans (false);
    if (run_has_result (w->r->dir)) {
        w->built_ns = clock_mono_ns ();
    } else if (w->r->restarts++ >= RUN_RESTARTS_MAX ||
               run_start_aggregator (w->r, &err) < 0) {
        (void)RUN_FAIL (0, "the aggregator died: %s", err.text);
        set_over (w);
    } else {
        watch_aggregator (w);   // it goes on from its ledger
    }
    adopt_orphans (true);
}

/* ---- waiting ---- */

/* The deadline has passed and the job is not over: is anybody left to report
 * its end?  An agent confirms COMMAND's end each time that it is told. An
 * aggregator that answers ends the job, without that agent if necessary.
 */
static void run_wrap_ask (struct wrap *w)
{
    int64_t now = clock_mono_ns ();

    if (w->state.now < WRAP_ENDED || w->over_ns > 0 ||
        now - w->asked_ns < ASK_NS || now - w->ended_ns < w->r->opt->deadline_ns)
        return;
    w->asked_ns = now;
    if (w->silent_ns == 0 ||
        (w->aggregator >= 0 && run_aggregator_answers (w->r)))
        w->silent_ns = now;
    if (now - w->silent_ns >= GRACE_NS)
        (void)run_wrap_take (w, WRAP_SILENCE, NULL);
    say_ended (w);
}

/* Whether anything is left to wait for.  A roster and a result may have come
 * while COMMAND ran.
 */
static bool must_stay (struct wrap *w)
{
    if (w->over_ns > 0)
        (void)run_wrap_take (w, WRAP_ROLL, NULL);
    if (w->built_ns > 0)
        (void)run_wrap_take (w, WRAP_RESULT, NULL);
    (void)run_wrap_take (w, WRAP_LOOK, NULL);
    return w->state.now < WRAP_GIVEN_UP;
}

static int timeout_ms (const struct wrap *w)
{
    int64_t left, at = w->state.now == WRAP_IN_DOUBT
                           ? w->state.since_ns + DOUBT_NS : w->kill_ns;

    if (at == 0)
        return 1000;
    left = (at - clock_mono_ns ()) / NS_PER_MS + 1;
    return left < 0 ? 0 : left > 1000 ? 1000 : (int)left;
}

static void turn (struct wrap *w)
{
    struct pollfd p[3] = {
        { .fd = w->signals, .events = POLLIN },
        { .fd = w->control, .events = POLLIN },
        { .fd = w->aggregator, .events = POLLIN },
    };

    if (poll (p, 3, timeout_ms (w)) < 0)
        return;
    if (p[0].revents)
        on_signal (w);
    if (p[1].revents && w->control >= 0)
        on_control (w);
    if (p[2].revents && w->aggregator >= 0)
        aggregator_ended (w);
    if (w->kill_ns > 0 && clock_mono_ns () >= w->kill_ns) {
        w->kill_ns = 0;
        end_command (w, SIGKILL);
    }
    if (clock_mono_ns () >= w->state.since_ns + DOUBT_NS)
        (void)run_wrap_take (w, WRAP_DOUBT_OVER, w->why);
    run_wrap_ask (w);
}

int run_wrap (struct run *r)
{
    struct wrap w = { .r = r, .control = -1, .signals = -1, .aggregator = -1,
                      .since_ns = clock_wall_ns () - CLOCK_GRAIN_NS };
    struct err err = { "" };
    int status;

    state_begin (&w.state, WRAP_STARTING);
    (void)prctl (PR_SET_PDEATHSIG, SIGTERM);    // a launcher that is killed
    if (open_signals (&w) < 0 ||
        run_leave_master (r, &err) < 0 ||
        join_agent (&w, r->world.local_rank == 0, &err) < 0)
        return RUN_FAIL (EX_OSERR, "%s", err.text);
    run_find_master (r);
    if (start_command (&w, &err) < 0)
        return RUN_FAIL (EX_OSERR, "%s", err.text);
    (void)run_wrap_take (&w, WRAP_STARTED, NULL);
    if (getppid () != r->parent)        // it died before we asked
        (void)kill (getpid (), SIGTERM);
    if (r->owns_aggregator)
        watch_aggregator (&w);
    while (must_stay (&w)) {
        if (w.child == 0 && (r->owns_aggregator || run_is_served (r)) &&
            r->world.local_rank == 0)   // one of those on this terminal
            run_show_end (r, w.ended_ns);
        if (w.child == 0 && run_is_served (r) && r->world.local_rank == 0)
            run_say_wait (r, w.ended_ns, &w.wait_said);
        turn (&w);
    }
    run_hide_end ();
    status = wrap_end (&w);
    (void)close (w.control);
    return status;
}
