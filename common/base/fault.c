/* common/base/fault.c - fault points of the test build */
#include "base/fault.h"

#ifdef ROLLCALL_FAULTS

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void trace (const char *name)
{
    const char *path = getenv ("ROLLCALL_FAULT_TRACE");
    char line[128];
    int fd, n;

    if (!path)
        return;
    n = snprintf (line, sizeof (line), "%s\n", name);
    fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        ssize_t written = write (fd, line, (size_t)n);

        (void)written;
        (void)close (fd);
    }
}

/* Whether this is the first process in which the fault happens. */
static int is_first (void)
{
    const char *path = getenv ("ROLLCALL_FAULT_ONCE");
    int fd;

    if (!path)
        return 1;
    fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close (fd);
    return fd >= 0;
}

int fault_hit (const char *name)
{
    static atomic_int passes;
    const char *chosen = getenv ("ROLLCALL_FAULT");
    size_t n = strlen (name);
    const char *action = "kill";
    char *end;
    long pass = 1;

    trace (name);
    if (!chosen || strncmp (chosen, name, n) != 0 ||
        (chosen[n] != '\0' && chosen[n] != ':'))
        return 0;
    if (chosen[n] == ':') {
        pass = strtol (chosen + n + 1, &end, 10);
        if (*end == ':')
            action = end + 1;
    }
    if (atomic_fetch_add (&passes, 1) + 1 != pass || !is_first ())
        return 0;
    if (strcmp (action, "enospc") == 0)
        return -ENOSPC;
    if (strcmp (action, "eio") == 0)
        return -EIO;
    if (strcmp (action, "damaged") == 0)
        return -EBADMSG;
    (void)kill (getpid (), SIGKILL);
    for (;;)
        (void)pause ();
}

#else

typedef int fault_nothing_here; // ISO C forbids an empty file

#endif
