/* common/store/tree_files.c - files in a held directory */
#include "store/tree.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int tree_remove (int dirfd, const char *name, const struct stat *is)
{
    struct stat st;

    if (fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (st.st_dev != is->st_dev || st.st_ino != is->st_ino)
        return -ESTALE;
    return unlinkat (dirfd, name, S_ISDIR (st.st_mode) ? AT_REMOVEDIR : 0) < 0
               ? -errno : 0;
}

int tree_rename (const struct tree *from, const char *name,
                 const struct tree *to, const char *as, struct err *err)
{
    if (renameat (from->fd, name, to->fd, as) < 0)
        return err_sys (err, errno, "cannot rename %s/%s to %s/%s", from->path,
                        name, to->path, as);
    return fsync (to->fd) < 0
               ? err_sys (err, errno, "cannot fsync directory %s", to->path)
               : 0;
}

bool tree_is_mount (int dirfd, const char *name)
{
    struct statx x;

    return statx (dirfd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0,
                  &x) == 0 &&
           (x.stx_attributes_mask & x.stx_attributes &
            STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Create a file with a name that nobody can predict. */
static int make_temp (const struct tree *t, char name[NAME_MAX], mode_t mode)
{
    uint64_t random;
    int fd;

    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        return -EAGAIN;
    (void)snprintf (name, NAME_MAX, ".rollcall-%016" PRIx64 ".tmp", random);
    fd = openat (t->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
                                  O_NOFOLLOW, mode);
    return fd < 0 ? -errno : fd;
}

int tree_replace (const struct tree *t, const char *name, const void *data,
                  size_t size, mode_t mode, struct err *err)
{
    char temp[NAME_MAX];
    int fd = make_temp (t, temp, mode), rc;

    if (fd < 0)
        return err_sys (err, -fd, "cannot make a file in %s", t->path);
    if ((rc = fileio_write_file (fd, data, size, mode)) < 0)
        rc = err_sys (err, -rc, "cannot write %s/%s", t->path, temp);
    else
        rc = tree_rename (t, temp, t, name, err);
    if (rc < 0)
        (void)unlinkat (t->fd, temp, 0);
    return rc;
}

int tree_make_temp (const struct tree *t)
{
    char temp[NAME_MAX];
    int fd = make_temp (t, temp, 0600);

    if (fd >= 0)
        (void)unlinkat (t->fd, temp, 0);
    return fd;
}

int tree_try_file (const struct tree *t)
{
    int fd = openat (t->fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        return tree_make_temp (t);
    return fd < 0 ? -errno : fd;
}

/* Whether files that we create there also belong to that user. */
static bool we_pass_for (const struct tree *t, uid_t uid)
{
    int fd = tree_try_file (t);
    struct stat st;
    bool same = fd >= 0 && fstat (fd, &st) == 0 && st.st_uid == uid;

    fileio_close (fd);
    return same;
}

int tree_check_owner (const struct tree *t, bool foreign, struct err *err)
{
    struct stat st;

    if (foreign || geteuid () != 0 || fstat (t->fd, &st) < 0 ||
        st.st_uid == 0 || we_pass_for (t, st.st_uid))
        return 0;
    return err_set (err, EPERM, "%s is another user's, who could change what "
                    "root writes there: run this as that user, name another "
                    "directory, or give --foreign-output", t->path);
}

int tree_check_path (const char *path, bool foreign, struct err *err)
{
    char part[PATH_MAX], *slash;
    struct tree t;
    int rc;

    if (foreign || geteuid () != 0 ||
        snprintf (part, sizeof (part), "%s", path) >= PATH_MAX)
        return 0;
    while ((rc = tree_open (&t, *part ? part : "/", NULL)) == -ENOENT &&
           (slash = strrchr (part, '/')))
        *slash = '\0';
    if (rc == -ENOENT)
        rc = tree_open (&t, ".", NULL);
    if (rc < 0)                 // creating it reports that
        return 0;
    rc = tree_check_owner (&t, false, err);
    tree_close (&t);
    return rc;
}

int tree_make_out (const char *path, mode_t mode, bool foreign,
                   struct err *err)
{
    int rc = tree_check_path (path, foreign, err);

    return rc < 0 ? rc : fileio_mkdirs (path, mode, err);
}
