/* cli/run/run_job.c - directories, names and daemons of a run */
#include "run/run.h"

#include "base/clock.h"
#include "control/control.h"
#include "json/json.h"
#include "publish/publish.h"
#include "store/fileio.h"
#include "world/process_reports.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOIN_LIMIT_NS (20 * NS_PER_S)   // for the agent to listen
#define START_AGAIN_NS (2 * NS_PER_S)   // it may have met one that was dying
#define LINE_MAX_BYTES 512              // of a log's last line
#define LISTEN_FD 3                     // where the aggregator finds its socket
#define LAUNCH_FD 4                     // and the pipe that says who may come

void run_new_job (char out[WORLD_TEXT_MAX])
{
    time_t now = (time_t)(clock_wall_ns () / NS_PER_S);
    uint32_t random = 0;
    char stamp[32];
    struct tm tm;

    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        random = (uint32_t)clock_mono_ns ();
    (void)strftime (stamp, sizeof (stamp), "%Y%m%d-%H%M%S",
                    localtime_r (&now, &tm));
    (void)snprintf (out, WORLD_TEXT_MAX, "run-%s-%08x", stamp, random);
}

/* If the aggregator's output directory exists, check its owner now: a refusal
 * at the end of the job would be too late.
 */
static int check_below (const struct run *r, const char *name, struct err *err)
{
    struct tree t;
    int rc = tree_open_in (&t, &r->held, name, 0, NULL, NULL);

    if (rc < 0)
        return 0;
    rc = tree_check_owner (&t, r->opt->foreign, err);
    tree_close (&t);
    return rc;
}

int run_check_out (struct run *r, struct err *err)
{
    const char *out = r->opt->out ? r->opt->out : ".";
    int rc = tree_make_out (out, FILEIO_DIR_MODE, r->opt->foreign, err);

    if (rc < 0)
        return rc;
    if (!realpath (out, r->out))
        return err_sys (err, errno, "cannot resolve %s", out);
    if ((rc = tree_open (&r->held, r->out, err)) < 0)
        return rc;
    if (faccessat (r->held.fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        return err_sys (err, errno, "cannot write into %s", r->out);
    if ((rc = tree_check_owner (&r->held, r->opt->foreign, err)) < 0 ||
        (rc = check_below (r, PUBLISH_OUTPUT_DIR, err)) < 0)
        return rc;
    return r->opt->raw ? check_below (r, "captures", err) : 0;
}

const char *run_state_option (const struct run *r, char out[RUN_STATE_OPTION])
{
    static const char option[] = " --state ";
    size_t below = strlen (r->job) + strlen (r->key) + 2;
    size_t n = strlen (r->dir);
    char state[PATH_MAX];

    PRINT (state, "%.*s", (int)(n > below ? n - below : 0), r->dir);
    (void)shell_word (state, strcpy (out, option) + sizeof (option) - 1);
    return out;
}

int run_make_dir (struct run *r, struct err *err)
{
    char state[PATH_MAX];
    int rc = run_state_dir (r->opt->state, state, err);
    int n;

    if (rc < 0)
        return rc;
    n = snprintf (r->dir, sizeof (r->dir), "%s/%s/%s", state, r->job, r->key);
    if (n < 0 || (size_t)n >= sizeof (r->dir) - 64)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", state);
    return fileio_mkdirs (r->dir, 0700, err);
}

int run_make_new_dir (struct run *r, struct err *err)
{
    static const char *const left[] = { RUN_AGGREGATOR, RUN_OVER };
    int rc = run_make_dir (r, err);

    for (size_t i = 0; i < 2 && rc == 0; i++) {
        if (fileio_has (r->dir, left[i]))
            rc = err_set (err, EEXIST, "job %s has been run on this host "
                          "before (%s): give this one another id", r->job,
                          r->dir);
    }
    return rc;
}

static int find_beside (const char *name, int mode, char out[PATH_MAX],
                        struct err *err)
{
    static const char *const below[] = { "", "/../libexec/rollcall",
                                         "/../../bin" };
    char self[PATH_MAX];
    ssize_t n = readlink ("/proc/self/exe", self, sizeof (self) - 1);

    if (n < 0)
        return err_sys (err, errno, "cannot read /proc/self/exe: is /proc "
                                    "mounted?");
    self[n] = '\0';
    *strrchr (self, '/') = '\0';
    // beside us in a build, or installed: bin and libexec/rollcall
    for (size_t i = 0; i < sizeof (below) / sizeof (below[0]); i++) {
        int size = snprintf (out, PATH_MAX, "%s%s/%s", self, below[i], name);

        if (size > 0 && size < PATH_MAX && access (out, mode) == 0)
            return 0;
    }
    return err_set (err, ENOENT, "%s is not installed beside %s", name, self);
}

int run_program (const char *name, char out[PATH_MAX], struct err *err)
{
    return find_beside (name, X_OK, out, err);
}

int run_module (const char *name, char out[PATH_MAX], struct err *err)
{
    return find_beside (name, R_OK, out, err);
}

int run_library (char out[PATH_MAX], struct err *err)
{
    return run_module (PRELOAD_LIBRARY, out, err);
}

/* ---- daemons ---- */

static bool matches (const char *variable, const char *pattern)
{
    size_t n = strlen (pattern);

    if (pattern[n - 1] == '*')
        return strncmp (variable, pattern, n - 1) == 0;
    return strncmp (variable, pattern, n) == 0 && variable[n] == '=';
}

/* The environment without what belongs to the launch. */
static char **clean_environment (void)
{
    size_t n = 0, used = 0;
    char **env;

    while (environ[n])
        n++;
    if (!(env = calloc (n + 1, sizeof (*env))))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        bool drop = strncmp (environ[i], "LD_PRELOAD=", 11) == 0;

        for (size_t k = 0; world_launcher_variables[k] && !drop; k++)
            drop = matches (environ[i], world_launcher_variables[k]);
        if (!drop)
            env[used++] = environ[i];
    }
    return env;
}

/* In the grandchild: close all of the wrapper's descriptors but fds[0], as
 * LISTEN_FD, and fds[1], as LAUNCH_FD; -1: none.
 */
static void become_daemon (const char *program, char **argv, char **env,
                           int log, const int fds[2])
{
    int at[] = { open ("/dev/null", O_RDONLY), log, log, fds[0], fds[1] };
    sigset_t none;

    (void)sigemptyset (&none);
    (void)sigprocmask (SIG_SETMASK, &none, NULL);
    // first move them away from their final numbers
    for (int i = 0; i <= LAUNCH_FD; i++)
        at[i] = fcntl (at[i], F_DUPFD, 10);
    (void)close_range (LISTEN_FD, 9, 0);
    for (int i = 0; i <= LAUNCH_FD; i++)
        (void)dup2 (at[i], i);
    (void)close_range (LAUNCH_FD + 1, ~0u, 0);
    if (chdir ("/") == 0)
        (void)execve (program, argv, env);
    _exit (127);
}

/* Fork twice, so that nobody waits for it; its pid, or -errno. */
static pid_t start_daemon (struct run *r, const char *program, char **argv,
                           const char *logname, const int fds[2],
                           struct err *err)
{
    char path[PATH_MAX], **env = clean_environment ();
    int log, pipes[2];
    pid_t child, pid = -1;

    if (!env || !fileio_join (path, sizeof (path), r->dir, logname))
        return (pid_t)err_set (err, ENOMEM, "no memory to start %s", program);
    log = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0 || pipe2 (pipes, O_CLOEXEC) < 0) {
        free (env);
        return (pid_t)err_sys (err, errno, "cannot open %s", path);
    }
    child = fork ();
    if (child == 0) {
        (void)setsid ();
        pid = fork ();
        if (pid == 0)
            become_daemon (program, argv, env, log, fds);
        _exit (write (pipes[1], &pid, sizeof (pid)) == sizeof (pid) ? 0 : 1);
    }
    (void)close (pipes[1]);
    if (child > 0 && read (pipes[0], &pid, sizeof (pid)) != sizeof (pid))
        pid = -1;
    if (child > 0)
        (void)waitpid (child, NULL, 0);
    (void)close (pipes[0]);
    (void)close (log);
    free (env);
    return pid > 0 ? pid
                   : (pid_t)err_set (err, EAGAIN, "cannot start %s", program);
}

static void write_pid (const struct run *r)
{
    struct json *j = json_object ();

    json_add_text (j, "job", r->job);
    json_add_int (j, "pid", r->aggregator);
    json_add_int (j, "start_time", run_start_time (r->aggregator));
    json_add_text (j, "out", r->out);
    (void)json_replace (j, true, r->dir, RUN_AGGREGATOR, 0600, NULL);
}

/* The arguments of a daemon, with space for numbers. */
#define DAEMON_WORDS 63         // of a command line: an agent's has 55 at most
#define DAEMON_NUMBERS 16       // among them: an agent has 13

struct daemon_words {
    char *at[DAEMON_WORDS + 1]; // NULL behind the last one
    int n;
    char numbers[DAEMON_NUMBERS][32];
    int used;                   // of these
    bool over;                  // there are more
};

static void daemon_word (struct daemon_words *w, const char *word)
{
    w->over = w->over || w->n == DAEMON_WORDS;
    if (!w->over)
        w->at[w->n++] = (char *)word;
}

static int daemon_check (const struct daemon_words *w, struct err *err)
{
    return w->over ? err_set (err, E2BIG, "%s has more options than there is "
                              "room for", w->at[0]) : 0;
}

/* Add an option and its value; nothing without a value. */
static void daemon_option (struct daemon_words *w, const char *name,
                           const char *value)
{
    if (!value)
        return;
    daemon_word (w, name);
    daemon_word (w, value);
}

static void daemon_flag (struct daemon_words *w, const char *name, bool set)
{
    if (set)
        daemon_word (w, name);
}

/* 'unit' follows the number. */
static void daemon_number (struct daemon_words *w, const char *name,
                           int64_t value, const char *unit)
{
    char *text;

    if (w->used == DAEMON_NUMBERS) {
        w->over = true;
        return;
    }
    text = w->numbers[w->used++];
    (void)snprintf (text, sizeof (w->numbers[0]), "%lld%s", (long long)value,
                    unit);
    daemon_option (w, name, text);
}

int run_start_aggregator (struct run *r, struct err *err)
{
    char program[PATH_MAX], root[PATH_MAX], listen[64], keys[PATH_MAX];
    const int fds[2] = { r->listener, r->launch[0] };
    struct daemon_words w = { .n = 0 };
    int rc = run_program ("rollcall-aggregator", program, err);

    if (rc < 0)
        return rc;
    if (!fileio_join (root, sizeof (root), r->dir, "root"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", r->dir);
    PRINT (listen, "%s%.7s",
           r->all_interfaces ? "tcp://*:" : "tcp://127.0.0.1:",
           strrchr (r->endpoints, ':') + 1);
    daemon_word (&w, program);
    daemon_option (&w, "--root", root);
    daemon_option (&w, "--run-dir", r->dir);
    daemon_option (&w, "--out", r->out);
    daemon_option (&w, "--job", r->job);
    daemon_option (&w, "--listen", listen);
    daemon_number (&w, "--listen-fd", LISTEN_FD, "");
    daemon_number (&w, "--world-size",
                   r->opt->launcher ? 0 : r->world.size, "");
    daemon_number (&w, "--deadline", r->opt->deadline_ns / NS_PER_MS, "ms");
    if (r->launch[0] >= 0)
        daemon_number (&w, "--launch-fd", LAUNCH_FD, "");
    daemon_flag (&w, "--raw", r->opt->raw);
    daemon_flag (&w, "--foreign-output", r->opt->foreign);
    daemon_option (&w, "--only", r->opt->only);
    daemon_number (&w, "--one-file", r->opt->one_file, "");
    daemon_number (&w, "--max-ranks", r->opt->max_ranks, "");
    daemon_option (&w, "--note", *r->note ? r->note : NULL);
    if (run_has_keys (r)) {
        if ((rc = run_write_server_keys (r, keys, err)) < 0)
            return rc;
        daemon_option (&w, "--keys", keys);
    } else {
        daemon_word (&w, "--insecure");
    }
    if ((rc = daemon_check (&w, err)) < 0)
        return rc;
    r->aggregator = start_daemon (r, program, w.at, "aggregator.log", fds, err);
    if (r->aggregator < 0)
        return r->aggregator;
    r->owns_aggregator = true;
    write_pid (r);
    return 0;
}

static void add_analyse (struct daemon_words *w,
                         const struct analyser_settings *set)
{
    daemon_option (w, "--analyse-with", set->command);
    daemon_option (w, "--analyse-export", set->own.export);
    daemon_option (w, "--analyse-steps", set->own.steps);
    daemon_number (w, "--analyse-jobs", set->jobs, "");
    daemon_number (w, "--analyse-timeout", set->timeout_ns / NS_PER_MS, "ms");
    daemon_number (w, "--analyse-memory", set->memory, "");
    daemon_number (w, "--analyse-processes", set->own.processes, "");
}

int run_start_agent (struct run *r, struct err *err)
{
    char program[PATH_MAX], key[PATH_MAX], list[PATH_MAX];
    struct daemon_words w = { .n = 0 };
    int rc = run_program ("rollcall-agent", program, err);
    pid_t pid;

    if (rc < 0)
        return rc;
    if (r->command)
        run_write_origin (r);
    daemon_word (&w, program);
    daemon_option (&w, "--run-dir", r->dir);
    daemon_option (&w, "--job", r->job);
    daemon_option (&w, "--aggregator", r->endpoint);
    // with "" none, despite the variable
    daemon_option (&w, "--aggregators", run_list_for_agent (r, list));
    if (r->targets.n > 0) {
        daemon_number (&w, "--copies", r->opt->copies, "");
        daemon_number (&w, "--away", r->opt->away_ns / NS_PER_MS, "ms");
        daemon_number (&w, "--spread", r->opt->spread, "");
    } else {
        daemon_number (&w, "--copies", 1, "");
    }
    daemon_number (&w, "--max-ranks", r->opt->max_ranks, "");
    daemon_number (&w, "--world-size", r->world.size, "");
    daemon_number (&w, "--deadline", r->opt->deadline_ns / NS_PER_MS, "ms");
    daemon_number (&w, "--quiet-period", r->opt->quiet_ns / NS_PER_MS, "ms");
    daemon_word (&w, "--hold");
    // else ROLLCALL_WHEN_FULL, which is meant for a service here, would apply
    daemon_option (&w, "--when-full", "block");
    daemon_number (&w, "--max-rate", r->opt->max_rate, "");
    daemon_option (&w, "--compress", r->opt->compress);
    add_analyse (&w, &r->opt->analyse);
    daemon_option (&w, "--release", r->opt->release ? r->opt->release
                                    : r->opt->raw   ? "shipped" : "never");
    daemon_flag (&w, "--raw", r->opt->raw);
    daemon_flag (&w, "--owner", r->opt->owner);
    if (run_is_served (r)) {
        daemon_word (&w, "--no-roll");
        daemon_number (&w, "--local-size", r->world.local_size, "");
    }
    if (run_has_keys (r)) {
        if ((rc = run_write_agent_key (r, key, err)) < 0)
            return rc;
        daemon_option (&w, "--key", key);
        daemon_option (&w, "--server-key", r->keys.server_public);
    } else if (r->opt->insecure || !r->opt->aggregator) {
        daemon_word (&w, "--insecure");
    }
    if ((rc = daemon_check (&w, err)) < 0)
        return rc;
    pid = start_daemon (r, program, w.at, "agent.log", (int[]){ -1, -1 }, err);
    return pid < 0 ? (int)pid : 0;
}

/* Wait until something happens in the directory, or 'ms' have passed. */
static void wait_for_change (int inotify, int ms)
{
    struct pollfd p = { .fd = inotify, .events = POLLIN };
    char events[4096];

    if (poll (&p, 1, ms) > 0 && read (inotify, events, sizeof (events)) < 0)
        return;
}

/* The last line of a file, or the end of that; "" if there is none. */
static void last_line (const char *path, char out[LINE_MAX_BYTES])
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    off_t end = fd < 0 ? 0 : lseek (fd, 0, SEEK_END);
    size_t n = end < LINE_MAX_BYTES ? (size_t)end : LINE_MAX_BYTES - 1;
    char *newline;

    if (n > 0 && fileio_pread_all (fd, out, n, end - (off_t)n) < 0)
        n = 0;
    if (n > 0 && out[n - 1] == '\n')
        n--;
    out[n] = '\0';
    if ((newline = strrchr (out, '\n')))
        memmove (out, newline + 1, strlen (newline));
    fileio_close (fd);
}

static int too_late (const struct run *r, struct err *err)
{
    char log[PATH_MAX], line[LINE_MAX_BYTES];

    (void)fileio_join (log, sizeof (log), r->dir, "agent.log");
    last_line (log, line);
    return err_set (err, ETIMEDOUT, "the agent of host %s did not start, or "
                    "died at once; its log, %s, ends with: %s", r->host, log,
                    line[0] ? line : "(nothing)");
}

int run_join_agent (struct run *r, bool start, struct err *err)
{
    int64_t now = clock_mono_ns (), limit = now + JOIN_LIMIT_NS;
    int64_t start_ns = start ? now : INT64_MAX;
    int inotify = inotify_init1 (IN_CLOEXEC | IN_NONBLOCK);
    int fd = -ECONNREFUSED, rc = 0;

    (void)inotify_add_watch (inotify, r->dir, IN_CREATE | IN_MOVED_TO);
    while (rc == 0) {
        if (now >= start_ns) {
            rc = run_start_agent (r, err);
            start_ns = now + START_AGAIN_NS;
        }
        if (rc < 0 || (fd = control_connect (r->dir, err)) >= 0)
            break;
        // a socket may be there some microseconds before it listens
        wait_for_change (inotify, fd == -ECONNREFUSED ? 20 : 500);
        now = clock_mono_ns ();
        if (now > limit)
            rc = too_late (r, err);
    }
    fileio_close (inotify);
    return rc < 0 ? rc : fd;
}
