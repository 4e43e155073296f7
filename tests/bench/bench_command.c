/* tests/bench/bench_command.c - what one command costs
 *
 *     bench_command COMMAND [ARGUMENT]...
 *
 * Runs it and prints one line "name=value ..." for tests/bench/run: wall time,
 * CPU time of user and system, peak resident memory.  Exits as the command
 * did.  (time(1) is not everywhere, and counts in hundredths of a second.)
 */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_RUN 127        // as shells say it

static double seconds (struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main (int argc, char **argv)
{
    int64_t began = clock_mono_ns ();
    struct rusage used;
    double wall;
    int status;
    pid_t pid;

    if (argc < 2)
        return 2;
    pid = fork ();
    if (pid == 0) {
        (void)execvp (argv[1], argv + 1);
        perror (argv[1]);
        _exit (EXIT_NOT_RUN);
    }
    if (pid < 0 || wait4 (pid, &status, 0, &used) < 0) {
        perror ("bench_command");
        return EXIT_FAILURE;
    }
    wall = (double)(clock_mono_ns () - began) / (double)NS_PER_S;
    (void)printf ("wall_s=%.4f cpu_s=%.4f peak_kib=%ld\n", wall,
                  seconds (used.ru_utime) + seconds (used.ru_stime),
                  used.ru_maxrss);
    return WIFEXITED (status) ? WEXITSTATUS (status) : EXIT_FAILURE;
}
