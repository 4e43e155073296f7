/* cli/wait.c - rollcall wait: pick up a run whose launcher died */
#include "run.h"

#include "base/clock.h"
#include "base/fileio.h"
#include "base/json.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESTART_NS (3 * NS_PER_S)       // for a run to start another aggregator

struct wait_options {
    const char *state;
    int64_t timeout_ns;
    bool json, text;
};

static const struct option_spec options[] = {
    { "state", 0, OPTION_TEXT, offsetof (struct wait_options, state), "DIR",
      NULL, "ROLLCALL_STATE_DIR", 0, 0,
      "Local directory of runs, as in rollcall run." },
    { "timeout", 't', OPTION_DURATION,
      offsetof (struct wait_options, timeout_ns), "TIME", "24h", NULL, 0, 0,
      "Give up after so long." },
    CLI_FORMAT_OPTIONS (struct wait_options),
};

const struct command_spec wait_command = {
    "rollcall wait", "[OPTION]... JOB",
    "Wait until a run is over, on the host where its aggregator is, and tell "
    "what came of it: for runs whose launcher died.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&wait_command, status, __VA_ARGS__)

/* True when the process is gone, false when time is up. */
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

/* Which process is the aggregator; false when nobody can tell. */
static bool read_pid (const char *state, const char *job, char dir[PATH_MAX],
                      int64_t *pid, int64_t *start)
{
    struct buf text;
    struct json *j = NULL;
    bool found;

    buf_init (&text, 65536);
    if ((found = run_find_aggregator (state, job, dir, &text)))
        j = json_parse ((const char *)text.data, text.size, NULL);
    buf_fini (&text);
    *pid = *start = 0;
    (void)json_int (json_get (j, "pid"), pid);
    (void)json_int (json_get (j, "start_time"), start);
    json_free (j);
    return found;
}

/* An aggregator that was killed is started again by its run: wait a moment for
 * another one than 'pid'.
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

static int wait_for (const struct wait_options *opt, const char *job)
{
    char state[PATH_MAX], dir[PATH_MAX];
    struct err err = { "" };
    int64_t pid, start, until = clock_mono_ns () + opt->timeout_ns;
    int command = 0, status;

    if (run_state_dir (opt->state, state, &err) < 0)
        return FAIL (EX_NOINPUT, "%s", err.text);
    do {
        if (!read_pid (state, job, dir, &pid, &start))
            return FAIL (EX_NOINPUT, "there is no job %s below %s on this "
                         "host (its aggregator is on the host of rank 0, or "
                         "of rollcall run --launcher)", job, state);
        if (!wait_process (pid, start, until - clock_mono_ns ()))
            return FAIL (EX_TEMPFAIL, "job %s is still under way", job);
    } while (!run_has_result (dir) && was_restarted (state, job, pid));
    status = run_print_result (&wait_command, dir, job,
                               cli_format (opt->json), &command);
    if (status == -ENOENT)
        return FAIL (EX_UNAVAILABLE, "the aggregator of job %s died before it "
                     "was over; captures are safe on the nodes' disks (below "
                     "%s here), its log is %s/aggregator.log", job, dir, dir);
    return command > 0 ? command : status;
}

int verb_wait (int argc, char **argv)
{
    struct wait_options opt = { .state = NULL };
    int rest, status;

    if (!cli_options (&wait_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest + 1 != argc)
        return FAIL (EXIT_USAGE, "which job? (usage: %s %s)",
                     wait_command.name, wait_command.usage);
    return wait_for (&opt, argv[rest]);
}
