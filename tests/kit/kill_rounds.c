/* tests/kit/kill_rounds.c - kill two programs at random moments
 *
 *     kill_rounds SEED ROUNDS MAX-MS STAGE WATCHED -- SERVICE... -- AGENT...
 *
 * In each round the program that is not running is started, the next capture
 * is moved from STAGE into WATCHED, and after a while of 0 to MAX-MS the
 * service, the agent, or both are killed (SIGKILL).  At the end neither runs.
 * Prints what was done; status 1 if one of the programs ended by itself with
 * a signal, that is, crashed.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct program {
    char **argv;
    pid_t pid;                  // 0: does not run
    unsigned long killed, ended, crashed;
};

static uint64_t state;

static uint64_t draw (uint64_t below)       // splitmix64
{
    uint64_t z = (state += UINT64_C (0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static void start (struct program *p)
{
    if (p->pid > 0)
        return;
    p->pid = fork ();
    if (p->pid == 0) {
        (void)prctl (PR_SET_PDEATHSIG, SIGKILL);
        (void)execv (p->argv[0], p->argv);
        perror (p->argv[0]);
        _exit (127);
    }
}

/* Whether it ended by itself since it was started. */
static void look (struct program *p)
{
    int status;

    if (p->pid <= 0 || waitpid (p->pid, &status, WNOHANG) != p->pid)
        return;
    p->pid = 0;
    p->ended++;
    if (WIFSIGNALED (status)) {
        p->crashed++;
        printf ("%s crashed with signal %d\n", p->argv[0], WTERMSIG (status));
    }
}

static void end (struct program *p)
{
    look (p);
    if (p->pid <= 0)
        return;
    (void)kill (p->pid, SIGKILL);
    (void)waitpid (p->pid, NULL, 0);
    p->pid = 0;
    p->killed++;
}

/* Move one capture; which one does not matter. */
static void stage_one (const char *from, const char *to)
{
    DIR *dir = opendir (from);
    struct dirent *e = NULL;
    char a[PATH_MAX], b[PATH_MAX];

    while (dir && (e = readdir (dir)) && e->d_name[0] == '.')
        ;
    if (e) {
        (void)snprintf (a, sizeof (a), "%s/%s", from, e->d_name);
        (void)snprintf (b, sizeof (b), "%s/%s", to, e->d_name);
        if (rename (a, b) < 0)
            perror (a);
    }
    if (dir)
        (void)closedir (dir);
}

static void wait_ns (uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

    while (nanosleep (&t, &t) < 0 && errno == EINTR)
        ;
}

static char **after_dashes (char **v)
{
    while (*v && strcmp (*v, "--") != 0)
        v++;
    if (!*v)
        return NULL;
    *v = NULL;
    return v + 1;
}

int main (int argc, char **argv)
{
    struct program service = { .pid = 0 }, agent = { .pid = 0 };
    unsigned long rounds, n[3] = { 0, 0, 0 };
    uint64_t most;

    if (argc < 9 || !(service.argv = after_dashes (argv + 6)) ||
        !(agent.argv = after_dashes (service.argv))) {
        fprintf (stderr, "usage: kill_rounds SEED ROUNDS MAX-MS STAGE WATCHED "
                 "-- SERVICE... -- AGENT...\n");
        return 2;
    }
    state = strtoull (argv[1], NULL, 10);
    rounds = strtoul (argv[2], NULL, 10);
    most = strtoull (argv[3], NULL, 10) * 1000000;
    setvbuf (stdout, NULL, _IOLBF, 0);
    for (unsigned long i = 0; i < rounds; i++) {
        unsigned who = (unsigned)draw (3);

        look (&service);
        look (&agent);
        start (&service);
        start (&agent);
        stage_one (argv[4], argv[5]);
        // half of the time early, when they are starting
        wait_ns (draw (draw (2) ? most + 1 : most / 5 + 1));
        n[who]++;
        if (who != 1)
            end (&agent);
        if (who != 0)
            end (&service);
    }
    end (&service);
    end (&agent);
    printf ("rounds %lu: agent %lu, aggregator %lu, both %lu; ended by "
            "themselves %lu, crashed %lu\n", rounds, n[0], n[1], n[2],
            service.ended + agent.ended, service.crashed + agent.crashed);
    return service.crashed + agent.crashed > 0;
}
