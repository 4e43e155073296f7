/* node_agent/control/orphans.c - what a COMMAND leaves behind */
#include "control/orphans.h"

#include "base/buf.h"
#include "base/fileio.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENVIRONMENT_MAX (4u << 20)      // bytes; a larger one is not looked at
#define ROUNDS_MAX 20                   // of a tree that forks while it dies

static bool has_variable (const struct buf *environment, const char *wanted)
{
    const char *at = (const char *)environment->data;
    const char *end = at + environment->size;

    while (at < end) {
        size_t n = strnlen (at, (size_t)(end - at));

        if (n == strlen (wanted) && memcmp (at, wanted, n) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

/* Those of other users cannot be read; zombies have none. */
static bool is_orphan (pid_t pid, const char *wanted)
{
    char path[64];
    struct buf b;
    bool yes;

    (void)snprintf (path, sizeof (path), "/proc/%ld/environ", (long)pid);
    buf_init (&b, ENVIRONMENT_MAX);
    yes = fileio_read_at (AT_FDCWD, path, &b, NULL) == 0 &&
          has_variable (&b, wanted);
    buf_fini (&b);
    return yes;
}

/* By descriptor, so that the number cannot have been given away meanwhile. */
static bool kill_orphan (pid_t pid, const char *wanted)
{
    int fd = (int)syscall (SYS_pidfd_open, pid, 0);
    bool yes;

    if (fd < 0)
        return false;
    yes = is_orphan (pid, wanted) &&
          syscall (SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
    (void)close (fd);
    return yes;
}

static size_t kill_once (const char *wanted)
{
    DIR *dir = opendir ("/proc");
    struct dirent *e;
    size_t n = 0;

    while (dir && (e = readdir (dir))) {
        long pid = strtol (e->d_name, NULL, 10);

        if (pid > 0 && pid != (long)getpid ())
            n += kill_orphan ((pid_t)pid, wanted);
    }
    if (dir)
        (void)closedir (dir);
    return n;
}

size_t orphans_kill (const char *name, const char *value)
{
    struct buf wanted;
    size_t n = 0, now = 1;

    buf_init (&wanted, ENVIRONMENT_MAX);
    buf_printf (&wanted, "%s=%s", name, value);
    for (int round = 0; round < ROUNDS_MAX && now > 0; round++)
        n += now = kill_once (buf_text (&wanted));
    buf_fini (&wanted);
    return n;
}
