/* common/options/program.c - start another program of rollcall */
#include "options/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

bool program_beside (const char *name, char path[PATH_MAX])
{
    ssize_t n = readlink ("/proc/self/exe", path, PATH_MAX - 1);
    char *slash;

    if (n <= 0)
        return false;
    path[n] = '\0';
    if (!(slash = strrchr (path, '/')) ||
        (size_t)(slash + 1 - path) + strlen (name) >= PATH_MAX)
        return false;
    (void)strcpy (slash + 1, name);
    return true;
}

/* They are all closed by exec anyway, as far as libraries did what they should.
 */
static int close_others (posix_spawn_file_actions_t *files, int n)
{
#if __GLIBC_PREREQ (2, 34)
    return posix_spawn_file_actions_addclosefrom_np (files, n);
#else
    (void)files;
    (void)n;
    return 0;
#endif
}

static int set_files (posix_spawn_file_actions_t *files, const int fds[], int n)
{
    int rc = 0;

    for (int i = 0; i < n && rc == 0; i++)
        rc = fds[i] < 0 ? posix_spawn_file_actions_addopen (
                              files, i, "/dev/null", O_RDONLY, 0)
                        : posix_spawn_file_actions_adddup2 (files, fds[i], i);
    return rc == 0 ? close_others (files, n) : rc;
}

int program_start (const char *path, const char *const words[],
                   char *const env[], const int fds[], int n, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, pipe;
    int rc;

    (void)sigemptyset (&none);
    (void)sigemptyset (&pipe);
    (void)sigaddset (&pipe, SIGPIPE);
    (void)posix_spawn_file_actions_init (&files);
    (void)posix_spawnattr_init (&how);
    (void)posix_spawnattr_setsigmask (&how, &none);
    (void)posix_spawnattr_setsigdefault (&how, &pipe);
    rc = posix_spawnattr_setflags (&how, POSIX_SPAWN_SETSIGMASK |
                                             POSIX_SPAWN_SETSIGDEF);
    if (rc == 0 && (rc = set_files (&files, fds, n)) == 0)
        rc = posix_spawn (ret, path, &files, &how,
                          (char *const *)(uintptr_t)words, env);
    (void)posix_spawn_file_actions_destroy (&files);
    (void)posix_spawnattr_destroy (&how);
    return -rc;
}
