/* tests/kit/swap_names.c - the owner of a directory, who swaps names in it
 *
 *     swap_names SEED UID TARGET DIR PATTERN [DIR PATTERN]...
 *
 * Whatever is in a DIR and matches its PATTERN is exchanged, again and again,
 * with a symbolic link to TARGET/NAME (to TARGET if there is none), as the user
 * UID: by renameat2, so that there is no moment without the name.  DIRs are
 * opened before, by whoever started it.  Prints a line when it begins, and how
 * many were exchanged when it is ended by SIGTERM.
 */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAIRS_MAX 16
#define LINK_END "~"

static volatile sig_atomic_t over;
static uint64_t state;

static void on_term (int sig)
{
    (void)sig;
    over = 1;
}

static uint64_t draw (uint64_t below)       // splitmix64
{
    uint64_t z = (state += UINT64_C (0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

/* Mostly not at all: the moments to be met are of microseconds. */
static void rest (void)
{
    static const long most[] = { 1, 1, 1, 20000, 300000, 5000000 };
    struct timespec t = { 0, (long)draw ((uint64_t)most[draw (6)]) };

    if (t.tv_nsec > 0)
        (void)nanosleep (&t, NULL);
}

static void link_for (int dir, const char *name, const char *link, int target,
                      const char *path)
{
    char to[4096];
    struct stat st;
    int there = fstatat (target, name, &st, 0) == 0;

    (void)snprintf (to, sizeof (to), "%s%s%s", path, there ? "/" : "",
                    there ? name : "");
    (void)symlinkat (to, dir, link);
}

/* Exchange all that matches; how many were. */
static unsigned long once (DIR *dir, const char *pattern, int target,
                           const char *path)
{
    unsigned long n = 0;
    struct dirent *e;
    char link[300];

    rewinddir (dir);
    while (!over && (e = readdir (dir))) {
        size_t length = strlen (e->d_name);

        if (e->d_name[length - 1] == LINK_END[0] || strcmp (e->d_name, ".") == 0
            || strcmp (e->d_name, "..") == 0 ||
            fnmatch (pattern, e->d_name, 0) != 0)
            continue;
        (void)snprintf (link, sizeof (link), "%s" LINK_END, e->d_name);
        link_for (dirfd (dir), e->d_name, link, target, path);
        n += renameat2 (dirfd (dir), e->d_name, dirfd (dir), link,
                        RENAME_EXCHANGE) == 0;
        rest ();
    }
    return n;
}

int main (int argc, char **argv)
{
    DIR *dirs[PAIRS_MAX];
    unsigned long n = 0;
    int target, pairs = (argc - 4) / 2;
    uid_t uid;

    if (argc < 6 || argc % 2 != 0 || pairs > PAIRS_MAX) {
        (void)fputs ("usage: swap_names SEED UID TARGET DIR PATTERN...\n",
                     stderr);
        return 2;
    }
    state = strtoull (argv[1], NULL, 10);
    uid = (uid_t)strtoul (argv[2], NULL, 10);
    target = open (argv[3], O_PATH | O_DIRECTORY);
    for (int i = 0; i < pairs; i++)
        if (!(dirs[i] = opendir (argv[4 + 2 * i]))) {
            perror (argv[4 + 2 * i]);
            return 1;
        }
    if (target < 0 || setgid (uid) < 0 || setuid (uid) < 0 ||
        prctl (PR_SET_PDEATHSIG, SIGKILL) < 0) {
        perror ("swap_names");
        return 1;
    }
    (void)signal (SIGTERM, on_term);
    (void)puts ("begun");
    (void)fflush (stdout);
    while (!over)
        for (int i = 0; i < pairs; i++)
            n += once (dirs[i], argv[5 + 2 * i], target, argv[3]);
    (void)printf ("%lu\n", n);
    return 0;
}
