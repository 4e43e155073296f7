/* node_agent/offline_analysis/capture_lock.c - lock a capture for one analysis at a time
 */
#include "offline_analysis/capture_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NAME_SIZE 32            // names in the kernel have 15 bytes

/* The pid of the process that took the lock.  It may have ended while a process
 * that it started still has the lock: then 0.
 */
static long holder_of (const struct stat *st)
{
    FILE *f = fopen ("/proc/locks", "re");
    char line[256];
    long found = 0;

    while (f && found == 0 && fgets (line, sizeof (line), f)) {
        unsigned major, minor;
        uint64_t inode;
        long pid;

        if (sscanf (line, "%*s FLOCK %*s %*s %ld %x:%x:%" SCNu64, &pid,
                    &major, &minor, &inode) == 4 &&
            inode == st->st_ino && major == major (st->st_dev) &&
            minor == minor (st->st_dev) && pid > 0)
            found = pid;
    }
    if (f)
        (void)fclose (f);
    return found;
}

static void name_of (long pid, char name[NAME_SIZE])
{
    char path[64];
    FILE *f;

    PRINT (path, "/proc/%ld/comm", pid);
    if (!(f = fopen (path, "re")) || !fgets (name, NAME_SIZE, f))
        (void)snprintf (name, NAME_SIZE, "it has ended");
    name[strcspn (name, "\n")] = '\0';
    if (f)
        (void)fclose (f);
}

static int is_held (int fd, struct err *err)
{
    char name[NAME_SIZE];
    struct stat st;
    long pid = fstat (fd, &st) < 0 ? 0 : holder_of (&st);

    if (pid == 0)
        return err_set (err, EWOULDBLOCK, "another process has locked it");
    name_of (pid, name);
    return err_set (err, EWOULDBLOCK, "process %ld (%s) has locked it", pid,
                    name);
}

/* Whether the error is permanent. */
static bool is_its_own (int code)
{
    return code == EACCES || code == EPERM || code == EROFS ||
           code == ENOENT || code == ENOTDIR || code == ELOOP;
}

static int cannot (int code, const char *what, struct err *err)
{
    int rc = err_sys (err, code, "%s", what);

    return is_its_own (code) ? err_prefix (err, rc, "it was not analysed")
                             : -EWOULDBLOCK;
}

static int capture_lock_take (int fd, struct err *err)
{
    if (flock (fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? is_held (fd, err)
                                    : cannot (errno, "cannot lock it", err);
    if (faccessat (fd, ".", W_OK, AT_EACCESS) < 0)
        return cannot (errno, "an analysis would write into the capture, which "
                       "is not allowed here", err);
    return fd;
}

int lock_capture (const char *path, struct err *err)
{
    int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return cannot (errno, "cannot open it", err);
    if ((rc = capture_lock_take (fd, err)) < 0)
        (void)close (fd);
    return rc;
}
