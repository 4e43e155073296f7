/* common/options/program.h - start another program of rollcall */
#ifndef ROLLCALL_OPTIONS_PROGRAM_H
#define ROLLCALL_OPTIONS_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The path of a program that lies beside this one; false: it is not known. */
bool program_beside (const char *name, char path[PATH_MAX]);

/* Start 'path' with the words (a NULL at the end), an environment and 'n'
 * descriptors, all of them at least n: they become 0 to n-1, and others are
 * closed; -1 as the first is /dev/null.  Its signals are those of a process that
 * nobody has prepared.  Or an error of posix_spawn.
 */
int program_start (const char *path, const char *const words[],
                   char *const env[], const int fds[], int n, pid_t *ret);

#endif
