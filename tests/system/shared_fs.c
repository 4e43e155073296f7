/* tests/system/shared_fs.c - a directory that seems to be on a shared file
 * system: $SHARED_FS, on hosts whose names begin with $SHARED_FS_HOST; NFS, or
 * Lustre if $SHARED_FS_TYPE is set
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

int statfs (const char *path, struct statfs *st)
{
    int (*real) (const char *, struct statfs *);
    const char *dir = getenv ("SHARED_FS"), *on = getenv ("SHARED_FS_HOST");
    char resolved[PATH_MAX], host[256] = "";
    void *at = dlsym (RTLD_NEXT, "statfs");
    int rc;

    memcpy (&real, &at, sizeof (at));
    rc = real (path, st);
    (void)gethostname (host, sizeof (host) - 1);
    if (rc == 0 && dir && realpath (path, resolved) &&
        strncmp (resolved, dir, strlen (dir)) == 0 &&
        (!on || strncmp (host, on, strlen (on)) == 0))
        st->f_type = getenv ("SHARED_FS_TYPE") ? 0x0bd00bd0 : 0x6969;
    return rc;
}
