/* node_agent/offline_analysis/process.c - run another program within limits */
#include "offline_analysis/process.h"

#include "control/orphans.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHELL "/bin/sh"
#define NICE 19
#define LOCK_FD 3               // its number in the child
#define HEAR_AT_ONCE 65536u

extern char **environ;

/* ---- in the child: only what is safe between fork and exec ---- */

static void lower_priority (bool idle)
{
    struct sched_param none = { .sched_priority = 0 };
    int fd = open ("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    (void)setpriority (PRIO_PROCESS, 0, NICE);
    if (idle)
        (void)sched_setscheduler (0, SCHED_IDLE, &none);
    if (fd >= 0 && write (fd, "1000", 4) < 0)   // the kernel should kill it
                                                // rather than the job
        (void)close (fd);
}

static void limit_memory (uint64_t bytes)
{
    struct rlimit l = { bytes, bytes };
    struct rlimit core = { 0, 0 };

    (void)setrlimit (RLIMIT_CORE, &core);
    if (bytes > 0)
        (void)setrlimit (RLIMIT_AS, &l);
}

static void become (const struct process_spec *spec, pid_t parent, int out,
                    char *const *argv, char *const *env)
{
    int null = open ("/dev/null", O_RDONLY);
    int lock = spec->lock < 0 ? -1 : fcntl (spec->lock, F_DUPFD, 10);
    struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t none;

    (void)setsid ();
    (void)prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (127);            // the parent has ended meanwhile
    (void)dup2 (null, STDIN_FILENO);
    (void)dup2 (out, STDOUT_FILENO);
    (void)dup2 (out, STDERR_FILENO);
    if (lock >= 0)
        (void)dup2 (lock, LOCK_FD);
    (void)close_range (lock >= 0 ? LOCK_FD + 1 : LOCK_FD, ~0u, 0);
    for (int i = 1; i < NSIG; i++)
        (void)sigaction (i, &usual, NULL);
    (void)sigemptyset (&none);
    (void)sigprocmask (SIG_SETMASK, &none, NULL);
    lower_priority (spec->idle);
    limit_memory (spec->memory);
    (void)execve (SHELL, argv, env);
    _exit (127);
}

/* ---- starting ---- */

/* Copy the environment, with the marks added.  The caller keeps the strings of
 * the marks.
 */
static char **marked_environment (char *analysis, char *analyser)
{
    size_t n = 0, used = 0;
    char **env;

    while (environ[n])
        n++;
    if (!(env = calloc (n + 3, sizeof (*env))))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strncmp (environ[i], PROCESS_ANALYSIS "=",
                     sizeof (PROCESS_ANALYSIS)) != 0 &&
            strncmp (environ[i], PROCESS_ANALYSER "=",
                     sizeof (PROCESS_ANALYSER)) != 0)
            env[used++] = environ[i];
    }
    env[used++] = analysis;
    env[used] = analyser;
    return env;
}

static int open_log (const struct process_spec *spec, struct process *p,
                     struct err *err)
{
    const char *name = strrchr (spec->log, '/') + 1;

    if (snprintf (p->log_path, sizeof (p->log_path), "%s", spec->log) >=
        (int)sizeof (p->log_path))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", spec->log);
    (void)unlinkat (spec->log_dir, name, 0);
    p->log = tree_openat (spec->log_dir, name, O_WRONLY | O_CREAT | O_EXCL,
                          FILEIO_FILE_MODE, true);
    return p->log < 0 ? err_sys (err, -p->log, "cannot create %s", spec->log)
                      : 0;
}

static int fork_it (const struct process_spec *spec, struct process *p,
                    char *const *argv, char *const *env, struct err *err)
{
    pid_t parent = getpid ();
    int pipes[2], rc;

    if (pipe2 (pipes, O_CLOEXEC) < 0)
        return err_sys (err, errno, "cannot make a pipe");
    p->pid = fork ();
    if (p->pid == 0)
        become (spec, parent, pipes[1], argv, env);
    rc = errno;
    (void)close (pipes[1]);
    p->out = pipes[0];
    if (p->pid < 0)
        return err_sys (err, rc, "cannot start %s", spec->command);
    (void)fcntl (p->out, F_SETFL, O_NONBLOCK);
    p->pidfd = (int)syscall (SYS_pidfd_open, p->pid, 0);
    if (p->pidfd >= 0)
        return 0;
    rc = errno;
    (void)kill (p->pid, SIGKILL);
    (void)waitpid (p->pid, NULL, 0);
    return err_sys (err, rc, "cannot watch %s", spec->command);
}

static void close_all (struct process *p)
{
    int fds[] = { p->pidfd, p->out, p->log };

    for (size_t i = 0; i < sizeof (fds) / sizeof (fds[0]); i++) {
        fileio_close (fds[i]);
    }
    p->pidfd = p->out = p->log = -1;
}

int process_start (const struct process_spec *spec, struct process *p,
                   struct err *err)
{
    char analysis[PATH_MAX + 64], analyser[PATH_MAX + 32];
    const char *slash = strrchr (spec->log, '/');
    char *script = NULL, **env;
    int rc;

    *p = (struct process){ .pid = -1, .pidfd = -1, .out = -1, .log = -1 };
    // another analyser may have a log of the same name in another directory
    PRINT (p->mark, "%d:%s", (int)getpid (), spec->log);
    PRINT (analysis, PROCESS_ANALYSIS "=%s", p->mark);
    PRINT (analyser, PROCESS_ANALYSER "=%.*s",
           slash ? (int)(slash - spec->log) : 0, spec->log);
    env = marked_environment (analysis, analyser);
    if (!env || asprintf (&script, "exec %s \"$@\"", spec->command) < 0) {
        free (env);
        return err_set (err, ENOMEM, "no memory to start %s", spec->command);
    }
    if ((rc = open_log (spec, p, err)) == 0) {
        char *argv[] = { (char *)"sh", (char *)"-c", script, (char *)"sh",
                         (char *)spec->argument, NULL };

        rc = fork_it (spec, p, argv, env, err);
    }
    free (script);
    free (env);
    if (rc < 0)
        close_all (p);
    return rc;
}

/* ---- what it says ---- */

static void process_take (struct process *p, const char *s, size_t n)
{
    size_t room = p->said < PROCESS_LOG_MAX
                      ? (size_t)(PROCESS_LOG_MAX - p->said) : 0;

    if (room > 0)
        (void)fileio_write_all (p->log, s, n < room ? n : room);
    for (size_t i = 0; i < n; i++)
        p->tail[(p->said + i) % PROCESS_TAIL_MAX] = s[i];
    p->said += n;
}

bool process_hear (struct process *p, size_t most)
{
    char block[HEAR_AT_ONCE];

    while (most > 0) {
        ssize_t n = read (p->out, block,
                          most < sizeof (block) ? most : sizeof (block));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno == EAGAIN;
        process_take (p, block, (size_t)n);
        most -= (size_t)n;
    }
    return true;
}

/* Append the end of the output, if it was too long to be stored. */
static void finish_log (struct process *p)
{
    char text[64];
    uint64_t over = p->said > PROCESS_LOG_MAX ? p->said - PROCESS_LOG_MAX : 0;
    size_t n = over < PROCESS_TAIL_MAX ? (size_t)over : PROCESS_TAIL_MAX;
    uint64_t skipped = over - n;
    char end[PROCESS_TAIL_MAX];
    int size;

    size = snprintf (text, sizeof (text), "\n... %llu bytes left out ...\n",
                     (unsigned long long)skipped);
    for (size_t i = 0; i < n; i++)
        end[i] = p->tail[(p->said - n + i) % PROCESS_TAIL_MAX];
    if (skipped > 0)
        (void)fileio_write_all (p->log, text, (size_t)size);
    (void)fileio_write_all (p->log, end, n);
}

void process_last_line (const struct process *p, char *out, size_t max)
{
    uint64_t kept = p->said < PROCESS_TAIL_MAX ? p->said : PROCESS_TAIL_MAX;
    uint64_t end = p->said, begin;
    size_t n = 0;

#define AT(i) ((unsigned char)p->tail[(i) % PROCESS_TAIL_MAX])
    while (end > p->said - kept && AT (end - 1) <= ' ')
        end--;
    begin = end;
    while (begin > p->said - kept && AT (begin - 1) != '\n' &&
           AT (begin - 1) != '\r')
        begin--;
    for (uint64_t i = begin; i < end && n + 1 < max; i++)
        out[n++] = AT (i) < ' ' || AT (i) == 127 ? ' ' : (char)AT (i);
    out[n] = '\0';
#undef AT
}

/* ---- the end ---- */

void process_kill (struct process *p)
{
    if (p->pid <= 0)
        return;
    // it was not reaped, so no other process has its pid
    (void)kill (-p->pid, SIGKILL);
    (void)kill (p->pid, SIGKILL);       // it may not have a group yet
}

bool process_end (struct process *p, int wait_ms, int *status)
{
    struct pollfd ended = { .fd = p->pidfd, .events = POLLIN };
    struct rusage used;
    pid_t reaped;

    *status = -1;
    memset (&used, 0, sizeof (used));
    process_kill (p);
    while (poll (&ended, 1, wait_ms) < 0 && errno == EINTR)
        ;
    reaped = wait4 (p->pid, status, WNOHANG, &used);
    (void)orphans_kill (PROCESS_ANALYSIS, p->mark);
    (void)process_hear (p, PROCESS_LOG_MAX);
    finish_log (p);
    close_all (p);
    p->most_memory = (uint64_t)used.ru_maxrss * 1024;
    return reaped > 0;
}
