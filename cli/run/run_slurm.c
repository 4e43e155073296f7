/* cli/run/run_slurm.c - ask Slurm why its job ended
 *
 * A time limit sends the same signals as scancel.  Slurm knows the reason
 * before it sends them, but only its controller can tell.
 */
#include "run/run.h"

#include "base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_NS (1500 * NS_PER_MS)    // of a controller; mpirun kills within
                                        // 2 s

/* Start squeue, which writes the reason of the job's state, now or when it
 * ended, into 'fd'.
 */
static pid_t start_squeue (const char *job, int fd)
{
    char *argv[] = { (char *)"squeue", (char *)"-h", (char *)"-j",
                     (char *)job, (char *)"-t", (char *)"all",
                     (char *)"-o", (char *)"%r", NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t pid = -1;

    (void)sigemptyset (&none);
    (void)posix_spawn_file_actions_init (&files);
    (void)posix_spawn_file_actions_adddup2 (&files, fd, STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen (&files, STDERR_FILENO, "/dev/null",
                                            O_WRONLY, 0);
    (void)posix_spawnattr_init (&attr);
    (void)posix_spawnattr_setsigmask (&attr, &none);
    (void)posix_spawnattr_setflags (&attr, POSIX_SPAWN_SETSIGMASK);
    if (posix_spawnp (&pid, argv[0], &files, &attr, argv, environ) != 0)
        pid = -1;
    (void)posix_spawnattr_destroy (&attr);
    (void)posix_spawn_file_actions_destroy (&files);
    return pid;
}

/* Read until the end of the file or until time is up. */
static void read_answer (int fd, char *out, size_t size)
{
    int64_t until = clock_mono_ns () + ANSWER_NS, left;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    size_t n = 0;
    ssize_t got = 1;

    while (got > 0 && n < size - 1 &&
           (left = until - clock_mono_ns ()) > 0 &&
           poll (&p, 1, (int)(left / NS_PER_MS) + 1) == 1) {
        got = read (fd, out + n, size - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    out[n] = '\0';
}

const char *run_slurm_job (void)
{
    const char *job = getenv ("SLURM_JOB_ID");

    return job ? job : "";
}

bool run_past_limit (const char *job)
{
    char answer[64] = "";
    int fds[2];
    pid_t pid;

    if (!*job || pipe2 (fds, O_CLOEXEC) < 0)
        return false;
    pid = start_squeue (job, fds[1]);
    (void)close (fds[1]);
    if (pid > 0) {
        read_answer (fds[0], answer, sizeof (answer));
        (void)kill (pid, SIGKILL);
        (void)waitpid (pid, NULL, 0);
    }
    (void)close (fds[0]);
    return strncmp (answer, "TimeLimit", strlen ("TimeLimit")) == 0;
}
