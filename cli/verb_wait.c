/* cli/verb_wait.c - rollcall wait: resume a run whose launcher died */
#include "cli.h"
#include "run/run.h"

#include "base/clock.h"
#include "options/shell.h"
#include "control/control.h"
#include "json/json.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAY_NS (NS_PER_S / 2)           // shorter waits are not reported
#define RESTART_NS (3 * NS_PER_S)       // for a run to start another aggregator

struct wait_options {
    const char *state;
    int64_t timeout_ns;
    bool json, text;
};

static const struct option_spec options[] = {
    CLI_STATE_OPTION (struct wait_options, state,
      "Local directory of runs, as in rollcall run."),
    OPTION (DURATION, "timeout", 't', struct wait_options, timeout_ns, "TIME",
      "24h", NULL, "Give up after this time."),
    CLI_FORMAT_OPTIONS (struct wait_options),
};

static const struct command_spec wait_command = {
    "rollcall wait", "[OPTION]... JOB",
    "Wait until a run is over, on the host of its aggregator, and print its "
    "result: for runs whose launcher died.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&wait_command, status, __VA_ARGS__)

/* True once the process is gone, false if time is up. */
static bool wait_process (int64_t pid, int64_t start_time, int64_t limit_ns)
{
    struct pollfd p = { .fd = run_open_process ((pid_t)pid, start_time),
                        .events = POLLIN };
    int64_t until = clock_mono_ns () + limit_ns;
    bool gone = p.fd < 0;

    while (!gone && clock_mono_ns () < until) {
        int64_t left = (until - clock_mono_ns ()) / NS_PER_MS + 1;

        gone = poll (&p, 1, left > 60000 ? 60000 : (int)left) == 1;
    }
    if (p.fd >= 0)
        (void)close (p.fd);
    return gone;
}

/* Find the run and the process of its aggregator, 0 if that is not known;
 * false: this host has no such run.
 */
static bool read_pid (const char *state, const char *job, char dir[PATH_MAX],
                      int64_t *pid, int64_t *start)
{
    struct json *j;
    bool found = run_find_aggregator (state, job, dir, &j);

    *pid = cli_number (j, "pid");
    *start = cli_number (j, "start_time");
    json_free (j);
    return found;
}

/* A run restarts an aggregator that was killed: wait a moment for another one
 * than 'pid'.
 */
static bool was_restarted (const char *state, const char *job, int64_t pid)
{
    int64_t limit = clock_mono_ns () + RESTART_NS, now, start;
    char dir[PATH_MAX];

    while (read_pid (state, job, dir, &now, &start) && now == pid &&
           !run_has_result (dir) && clock_mono_ns () < limit)
        (void)poll (NULL, 0, 50);
    return now != pid;
}

/* ---- a run whose aggregator is gone for good ---- */

/* As long as this host's agent lives, the run may restart its aggregator; if it
 * does not, the agent ends by itself.  False when time is up.
 */
static bool wait_agent (const char *dir, int64_t limit_ns)
{
    struct ucred peer = { .pid = 0 };
    socklen_t size = sizeof (peer);
    int fd = control_connect (dir, NULL);

    if (fd < 0)
        return true;
    (void)getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    (void)close (fd);
    return peer.pid <= 0 || wait_process (peer.pid, 0, limit_ns);
}

/* Run rollcall-run, which knows how runs are started. */
static int verb_wait_finish (const char *dir)
{
    char program[PATH_MAX];
    struct err err = { "" };
    int status = 0;
    pid_t pid;

    if (run_program ("rollcall-run", program, &err) < 0)
        return FAIL (EX_OSFILE, "%s", err.text);
    if ((pid = fork ()) == 0) {
        (void)execl (program, "rollcall-run", "--finish", dir, (char *)NULL);
        _exit (EX_OSERR);
    }
    if (pid < 0 || waitpid (pid, &status, 0) < 0)
        return FAIL (EX_OSERR, "cannot start %s", program);
    return WIFEXITED (status) ? WEXITSTATUS (status) : EX_OSERR;
}

/* ---- waiting ---- */

static int no_job (const char *job, const char *state)
{
    char dir[PATH_MAX], word[SHELL_WORD (PATH_MAX)];

    if (run_find_dir (state, job, NULL, NULL, dir))
        return FAIL (EX_NOINPUT, "job %s was on this host, its aggregator on "
                     "another: call this there, on the host that rollcall run "
                     "has named behind the job's id (that of rank 0, or of "
                     "rollcall run --launcher; srun -w HOST under Slurm). If it "
                     "was delivered to a service (--aggregator), the result is "
                     "there: rollcall show JOB. "
                     "What ranks of this host have captured and not delivered "
                     "is below %s, or where COMMAND wrote it: rollcall status "
                     "%s tells how much", job, dir, shell_word (dir, word));
    return FAIL (EX_NOINPUT, "there is no job %s below %s on this host. "
                 "rollcall jobs lists the runs here. If it ran elsewhere, call "
                 "this on the host that rollcall run printed (line \"host\"); "
                 "under Slurm: srun -w HOST rollcall wait %s", job, state,
                 shell_word (job, word));
}

/* Say what is waited for: once, and only if it takes some time. */
static void say_waiting (const char *job, const char *dir, int64_t pid,
                         int64_t start)
{
    static bool said;
    char word[SHELL_WORD (PATH_MAX)];

    if (said || run_has_result (dir) || wait_process (pid, start, SAY_NS))
        return;
    said = true;
    (void)FAIL (0, "job %s is under way: waiting until its aggregator (process "
                "%lld of this host) has the captures of all ranks, or gives "
                "them up, and has made the result; rollcall status %s shows "
                "how far it is", job, (long long)pid, shell_word (dir, word));
}

/* Wait until there is a result, or an aggregator died and was not replaced. */
static int wait_end (const char *state, const char *job, int64_t until,
                     char dir[PATH_MAX])
{
    int64_t pid, start;

    do {
        if (!read_pid (state, job, dir, &pid, &start))
            return no_job (job, state);
        if (until - clock_mono_ns () > SAY_NS)
            say_waiting (job, dir, pid, start);
        if (!wait_process (pid, start, until - clock_mono_ns ()))
            return FAIL (EX_TEMPFAIL, "job %s is still under way", job);
    } while (!run_has_result (dir) && was_restarted (state, job, pid));
    return 0;
}

static int finish_and_wait (const char *state, const char *job, int64_t until,
                            char dir[PATH_MAX])
{
    int status;

    if (!wait_agent (dir, until - clock_mono_ns ()))
        return FAIL (EX_TEMPFAIL, "job %s is still under way: its aggregator "
                     "has died, its agent on this host continues", job);
    (void)FAIL (0, "the aggregator of job %s died before it was over: it is "
                "restarted with the data that was delivered and the captures "
                "on this host", job);
    status = verb_wait_finish (dir);
    return status ? status : wait_end (state, job, until, dir);
}

static int wait_for (const struct wait_options *opt, const char *job)
{
    char state[PATH_MAX], dir[PATH_MAX];
    struct err err = { "" };
    int64_t until = clock_mono_ns () + opt->timeout_ns;
    int command = 0, status;

    if (run_state_dir (opt->state, state, &err) < 0)
        return FAIL (EX_NOINPUT, "%s", err.text);
    status = wait_end (state, job, until, dir);
    if (status == 0 && !run_has_result (dir))
        status = finish_and_wait (state, job, until, dir);
    if (status != 0)
        return status;
    status = run_print_result (&wait_command, dir, job, opt->json, &command);
    if (status == -ENOENT)
        return FAIL (EX_UNAVAILABLE, "the aggregator of job %s died before it "
                     "was over; captures are safe on the nodes' disks (below "
                     "%s here), its log is %s/aggregator.log", job, dir, dir);
    // 66: the status of COMMAND would say that there is a result
    return command > 0 && status != EX_NOINPUT ? command : status;
}

int verb_wait (int argc, char **argv)
{
    struct wait_options opt = { .state = NULL };
    int rest, status;

    if (!cli_options (&wait_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest + 1 != argc)
        return FAIL (EXIT_USAGE, "no job was given (usage: %s %s)",
                     wait_command.name, wait_command.usage);
    return wait_for (&opt, argv[rest]);
}
