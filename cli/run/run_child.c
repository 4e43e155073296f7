/* cli/run/run_child.c - find out whether COMMAND is a program that calls
 * MPI_Init
 */
#include "run/run.h"

#include "store/fileio.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Find the file that execvp would run; false if there is none. */
static bool find_program (const char *name, char out[PATH_MAX])
{
    const char *path = getenv ("PATH");

    if (strchr (name, '/'))
        return snprintf (out, PATH_MAX, "%s", name) < PATH_MAX;
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn (p, ":");

        if (snprintf (out, PATH_MAX, "%.*s/%s", (int)n, p, name) < PATH_MAX &&
            access (out, X_OK) == 0)
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

/* Whether an ELF file names libmpi among the libraries that it needs.  Searches
 * its string tables, without trusting any of the file's offsets.
 */
static bool needs_libmpi (const char *path)
{
    static const char wanted[] = "libmpi";
    unsigned char head[SELFMAG];
    char block[65536];
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    off_t at = 0;
    bool found = false;
    ssize_t n;

    if (fd < 0)
        return false;
    if (fileio_pread_all (fd, head, SELFMAG, 0) == 0 &&
        memcmp (head, ELFMAG, SELFMAG) == 0) {
        while (!found && (n = pread (fd, block, sizeof (block), at)) > 0) {
            found = memmem (block, (size_t)n, wanted, sizeof (wanted) - 1);
            if (n < (ssize_t)sizeof (block))
                break;
            at += n - (ssize_t)sizeof (wanted);         // across the seam
        }
    }
    (void)close (fd);
    return found;
}

int run_choose_child (struct run *r)
{
    char path[PATH_MAX];

    if (strcmp (r->opt->child, "mpi") == 0)
        r->child = RUN_CHILD_MPI;
    else if (strcmp (r->opt->child, "plain") == 0)
        r->child = RUN_CHILD_PLAIN;
    else if (strcmp (r->opt->child, "auto") == 0)
        r->child = find_program (r->command[0], path) && needs_libmpi (path)
                       ? RUN_CHILD_MPI : RUN_CHILD_ANY;
    else
        return RUN_FAIL (EXIT_USAGE, "--child: \"%s\" is not auto, plain or "
                         "mpi", r->opt->child);
    return 0;
}
