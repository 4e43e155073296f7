/* cli/run/run_launch.c - run in front of a launcher (--launcher)
 *
 * For COMMANDs that call MPI_Init themselves: the wrappers must not call it, so
 * this process starts the aggregator, lets the launcher start the wrappers,
 * waits for both and reports the result.
 */
#include "run/run.h"

#include "base/clock.h"
#include "store/fileio.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 512
#define GOODBYE_MS 5000                 // for an unused aggregator to end
#define BUILD_NS (60 * NS_PER_S)        // beyond the deadline, for building

struct launch {
    struct run *r;
    pid_t launcher;             // 0: has ended
    int status;                 // of the launcher
    int signals, aggregator;    // descriptors
    int64_t ended_ns;
};

/* ---- the launcher's command line ---- */

struct words {
    char *at[ARGS_MAX];         // NULL behind the last one
    int n;
};

static int add_word (void *arg, const char *word)
{
    struct words *w = arg;

    if (w->n == ARGS_MAX - 1)
        return -E2BIG;
    if (!(w->at[w->n] = strdup (word)))
        return -ENOMEM;
    w->n++;
    return 0;
}

/* The wrappers get every option except those that only this process uses, and
 * what this process has found out.
 */
static int add_options (const struct run *r, struct words *w)
{
    struct run_options o = *r->opt;

    o.out = o.launcher = o.interface = o.ports = NULL;
    o.json = o.text = false;
    o.launched = true;
    o.child = r->opt->child;
    o.aggregator = r->endpoints;
    o.job = r->job;
    return options_words (&run_command, &o, add_word, w);
}

/* sh -c 'exec <launcher> "$@"' sh rollcall-run --child mpi ... -- COMMAND: the
 * shell splits the launcher's words, as its user would expect.
 */
static int launcher_words (const struct run *r, struct words *w,
                           struct err *err)
{
    char self[PATH_MAX], script[4096];
    const char *const shell[] = { "sh", "-c", script, "sh", self };
    int rc = run_program ("rollcall-run", self, err);

    if (rc < 0)
        return rc;
    if (snprintf (script, sizeof (script), "exec %s \"$@\"",
                  r->opt->launcher) >= (int)sizeof (script))
        return err_set (err, E2BIG, "--launcher is too long");
    for (size_t i = 0; i < sizeof (shell) / sizeof (shell[0]) && rc == 0; i++)
        rc = add_word (w, shell[i]);
    if (rc == 0)
        rc = add_options (r, w);
    if (rc == 0)
        rc = add_word (w, "--");
    for (char **c = r->command; *c && rc == 0; c++)
        rc = add_word (w, *c);
    return rc < 0 ? err_sys (err, -rc, "cannot write the launcher's command "
                             "line (%d words at most)", ARGS_MAX) : 0;
}

static int start_launcher (struct launch *l, struct err *err)
{
    struct words words = { .n = 0 };
    int rc = launcher_words (l->r, &words, err);
    sigset_t none;

    if (rc == 0 && (l->launcher = fork ()) == 0) {
        (void)sigemptyset (&none);
        (void)sigprocmask (SIG_SETMASK, &none, NULL);
        if (run_export_keys (l->r) < 0)
            _exit (126);
        (void)execv ("/bin/sh", words.at);
        _exit (127);
    }
    if (l->launcher < 0)
        rc = err_sys (err, errno, "cannot fork");
    while (words.n > 0)
        free (words.at[--words.n]);
    return rc;
}

/* ---- waiting ---- */

static void on_signal (struct launch *l)
{
    struct signalfd_siginfo info;
    int status;

    while (read (l->signals, &info, sizeof (info)) == sizeof (info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        // a signal from the terminal has already reached the launcher
        if (l->launcher > 0 && info.ssi_code <= 0)
            (void)kill (l->launcher, (int)info.ssi_signo);
    }
    if (l->launcher > 0 && waitpid (l->launcher, &status, WNOHANG) > 0) {
        l->launcher = 0;
        (void)close (l->r->launch[1]);
        l->ended_ns = clock_mono_ns ();
        l->status = WIFSIGNALED (status) ? 128 + WTERMSIG (status)
                                         : WEXITSTATUS (status);
    }
}

static bool somebody_joined (const struct run *r)
{
    return fileio_has (r->dir, RUN_JOINED);
}

static bool must_stay (const struct launch *l)
{
    if (l->launcher > 0)
        return true;
    if (l->aggregator < 0 || !somebody_joined (l->r))
        return false;
    return clock_mono_ns () - l->ended_ns <
           l->r->opt->deadline_ns + BUILD_NS;
}

static void aggregator_ended (struct launch *l)
{
    struct run *r = l->r;
    struct err err = { "" };

    (void)close (l->aggregator);
    l->aggregator = -1;
    if (run_has_result (r->dir) || (l->launcher == 0 && !somebody_joined (r)))
        return;
    if (r->restarts++ >= RUN_RESTARTS_MAX ||
        run_start_aggregator (r, &err) < 0)
        (void)RUN_FAIL (0, "the aggregator died: %s", err.text);
    else
        l->aggregator = run_open_process (r->aggregator, 0);
}

static void wait_for_all (struct launch *l)
{
    while (must_stay (l)) {
        struct pollfd p[2] = { { .fd = l->signals, .events = POLLIN },
                               { .fd = l->aggregator, .events = POLLIN } };

        if (l->launcher == 0)
            run_show_end (l->r, l->ended_ns);
        if (poll (p, 2, 1000) < 0)
            continue;
        if (p[0].revents)
            on_signal (l);
        if (p[1].revents)
            aggregator_ended (l);
    }
    run_hide_end ();
}

static int run_launch_finish (struct launch *l)
{
    struct run *r = l->r;
    int command = 0, roll;
    char state[RUN_STATE_OPTION];
    // 0 and 1 would say that there are results
    int missing = l->status > EXIT_NOT_ALL ? l->status : EX_UNAVAILABLE;

    if (!somebody_joined (r)) {
        struct pollfd p = { .fd = l->aggregator, .events = POLLIN };

        (void)kill (r->aggregator, SIGTERM);
        (void)poll (&p, 1, GOODBYE_MS);
        return RUN_FAIL (missing, "no rank has reported; the launcher (%s) "
                         "ended with status %d", r->opt->launcher, l->status);
    }
    roll = run_print_result (&run_command, r->dir, r->job, r->opt->json,
                             &command);
    if (roll == -ENOENT)
        return RUN_FAIL (missing, "job %s has no result yet: captures are safe "
                         "on the nodes' disks; on host %s, rollcall wait %s%s "
                         "looks again", r->job, r->host, r->job,
                         run_state_option (r, state));
    return command > 0 ? command : l->status ? l->status : roll;
}

int run_launch (struct run *r)
{
    struct launch l = { .r = r, .aggregator = -1 };
    struct err err = { "" };
    sigset_t set;

    (void)sigemptyset (&set);
    (void)sigaddset (&set, SIGCHLD);
    (void)sigaddset (&set, SIGTERM);
    (void)sigaddset (&set, SIGINT);
    (void)sigaddset (&set, SIGHUP);
    (void)sigprocmask (SIG_BLOCK, &set, NULL);
    l.signals = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l.signals < 0 || start_launcher (&l, &err) < 0)
        return RUN_FAIL (EX_OSERR, "%s", err.text);
    l.aggregator = run_open_process (r->aggregator, 0);
    wait_for_all (&l);
    return run_launch_finish (&l);
}
