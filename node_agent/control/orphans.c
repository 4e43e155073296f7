/* node_agent/control/orphans.c - kill processes that COMMAND leaves behind */
#include "control/orphans.h"

#include "base/buf.h"
#include "store/fileio.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENVIRONMENT_MAX (4u << 20)      // bytes; a larger environment is
                                        // ignored
#define ROUNDS_MAX 20                   // a tree of processes may fork while it
                                        // is killed

/* Find the value of a variable in the content of /proc/PID/environ, or NULL. */
static const char *find_variable (const struct buf *environment,
                                  const char *name)
{
    const char *at = (const char *)environment->data;
    const char *end = at + environment->size;
    size_t size = strlen (name);

    while (at < end) {
        size_t n = strnlen (at, (size_t)(end - at));

        if (at + n == end)
            return NULL;        // the text is truncated
        if (n > size && memcmp (at, name, size) == 0 && at[size] == '=')
            return at + size + 1;
        at += n + 1;
    }
    return NULL;
}

static int compare_in (int dir, const char *path, const char *name,
                       const char *value)
{
    const char *have = NULL;
    struct buf b;
    int same;

    buf_init (&b, ENVIRONMENT_MAX);
    if (fileio_read_at (dir, path, &b, NULL) == 0)
        have = find_variable (&b, name);
    same = have ? strcmp (have, value) == 0 : -1;
    buf_fini (&b);
    return same;
}

int orphans_compare (int process, const char *name, const char *value)
{
    return compare_in (process, "environ", name, value);
}

/* Kill it by its descriptor, since its pid may have been reused. */
static bool kill_orphan (pid_t pid, const char *name, const char *value)
{
    int fd = (int)syscall (SYS_pidfd_open, pid, 0);
    char path[64];
    bool yes;

    if (fd < 0)
        return false;
    PRINT (path, "/proc/%ld/environ", (long)pid);
    yes = compare_in (AT_FDCWD, path, name, value) == 1 &&
          syscall (SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
    (void)close (fd);
    return yes;
}

static size_t kill_once (const char *name, const char *value)
{
    DIR *dir = opendir ("/proc");
    struct dirent *e;
    size_t n = 0;

    while (dir && (e = readdir (dir))) {
        long pid = strtol (e->d_name, NULL, 10);

        if (pid > 0 && pid != (long)getpid ())
            n += kill_orphan ((pid_t)pid, name, value);
    }
    fileio_close_dir (dir);
    return n;
}

size_t orphans_kill (const char *name, const char *value)
{
    size_t n = 0, now = 1;

    for (int round = 0; round < ROUNDS_MAX && now > 0; round++)
        n += now = kill_once (name, value);
    return n;
}
