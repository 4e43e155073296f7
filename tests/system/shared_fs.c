/* tests/system/shared_fs.c - a directory that seems to be on a shared file
 * system: $SHARED_FS, on hosts whose names begin with $SHARED_FS_HOST; NFS, or
 * Lustre if $SHARED_FS_TYPE is set
 *
 * As with NFS, a lock on a directory there is for this host only: it keeps out
 * nobody.  With SHARED_FS_LOCKS=none there are no locks at all.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_shared (const char *path)
{
    const char *dir = getenv ("SHARED_FS"), *on = getenv ("SHARED_FS_HOST");
    char resolved[PATH_MAX], host[256] = "";

    (void)gethostname (host, sizeof (host) - 1);
    return dir && realpath (path, resolved) &&
           strncmp (resolved, dir, strlen (dir)) == 0 &&
           (!on || strncmp (host, on, strlen (on)) == 0);
}

int statfs (const char *path, struct statfs *st)
{
    int (*real) (const char *, struct statfs *);
    void *at = dlsym (RTLD_NEXT, "statfs");
    int rc;

    memcpy (&real, &at, sizeof (at));
    rc = real (path, st);
    if (rc == 0 && is_shared (path))
        st->f_type = getenv ("SHARED_FS_TYPE") ? 0x0bd00bd0 : 0x6969;
    return rc;
}

int flock (int fd, int how)
{
    int (*real) (int, int);
    const char *locks = getenv ("SHARED_FS_LOCKS");
    void *at = dlsym (RTLD_NEXT, "flock");
    char path[64];
    struct stat st;

    (void)snprintf (path, sizeof (path), "/proc/self/fd/%d", fd);
    memcpy (&real, &at, sizeof (at));
    if (!is_shared (path))
        return real (fd, how);
    if (locks && strcmp (locks, "none") == 0) {
        errno = ENOLCK;
        return -1;
    }
    return fstat (fd, &st) == 0 && S_ISDIR (st.st_mode) ? 0 : real (fd, how);
}
