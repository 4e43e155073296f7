/* common/store/tree.c - hold a directory open and work below it */
#include "store/tree.h"

#include "store/fileio.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HELD "/proc/self/fd/"
#define FDINFO "/proc/self/fdinfo/"
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define RACES_MAX 100           // retries of openat2 while somebody renames

/* ---- opening below a directory ---- */

/* Open one component.  O_PATH would give a descriptor of a link itself. */
static int step (int dirfd, const char *name, int flags, mode_t mode)
{
    struct stat st;
    int fd = openat (dirfd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);

    if (fd < 0) {
        if (errno == ENOTDIR &&
            fstatat (dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK (st.st_mode))
            return -ELOOP;
        return errno == ENOTDIR ? -ENOTDIR : -errno;
    }
    if ((flags & O_PATH) && fstat (fd, &st) == 0 && S_ISLNK (st.st_mode)) {
        (void)close (fd);
        return -ELOOP;
    }
    return fd;
}

/* The mount id of a descriptor; -1: unknown in /proc. */
static long mount_of (int fd)
{
    static const char key[] = "mnt_id:";
    char path[sizeof (FDINFO) + 16], text[512], *at;
    ssize_t n = -1;
    int info;

    PRINT (path, FDINFO "%d", fd);
    if ((info = open (path, O_RDONLY | O_CLOEXEC)) >= 0) {
        n = read (info, text, sizeof (text) - 1);
        (void)close (info);
    }
    if (n < 0)
        return -1;
    text[n] = '\0';
    at = strstr (text, key);
    return at ? strtol (at + sizeof (key) - 1, NULL, 10) : -1;
}

/* Whether both are on the same mount.  A part of a file system may also be
 * mounted within itself.
 */
static bool same_mount (int a, int b)
{
    struct stat one, other;

    return fstat (a, &one) == 0 && fstat (b, &other) == 0 &&
           one.st_dev == other.st_dev && mount_of (a) == mount_of (b);
}

/* Check that 'fd' is on the mount of 'dirfd', if required.  Otherwise close it:
 * -EXDEV.
 */
static int on_mount (int dirfd, int fd, bool one_mount)
{
    if (fd < 0 || !one_mount || same_mount (dirfd, fd))
        return fd;
    (void)close (fd);
    return -EXDEV;
}

int tree_walk_openat (int dirfd, const char *path, int flags, mode_t mode,
                      bool one_mount)
{
    char name[NAME_MAX + 1];
    int at = dirfd, fd;

    if (*path == '/')
        return -EXDEV;
    for (;;) {
        size_t n = strcspn (path, "/");
        const char *rest = path + n + strspn (path + n, "/");

        if (n > NAME_MAX)
            fd = -ENAMETOOLONG;
        else if (n == 2 && memcmp (path, "..", 2) == 0)
            fd = -EXDEV;
        else {
            PRINT (name, "%.*s", (int)n, path);
            fd = *rest ? step (at, name, O_PATH | O_DIRECTORY, 0)
                       : step (at, name, flags, mode);
        }
        fd = on_mount (dirfd, fd, one_mount);
        if (at != dirfd)
            (void)close (at);
        if (fd < 0 || !*rest)
            return fd;
        at = fd;
        path = rest;
    }
}

static int open_how (int dirfd, const char *path, int flags, mode_t mode,
                     uint64_t resolve)
{
    struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
                            .mode = flags & O_CREAT ? mode : 0,
                            .resolve = resolve };
    long fd = -1;

    for (int i = 0; i < RACES_MAX; i++) {
        fd = syscall (SYS_openat2, dirfd, path, &how, sizeof (how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd < 0 ? -errno : (int)fd;
}

/* Whether a system call is unknown.  Filters in containers refuse unknown
 * calls.
 */
static bool is_unknown (int rc)
{
    return rc == -ENOSYS || rc == -EPERM || rc == -EINVAL;
}

int tree_openat (int dirfd, const char *path, int flags, mode_t mode,
                 bool one_mount)
{
    int fd = open_how (dirfd, path, flags, mode,
                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                           RESOLVE_NO_MAGICLINKS |
                           (one_mount ? RESOLVE_NO_XDEV : 0));

    return is_unknown (fd)
               ? tree_walk_openat (dirfd, path, flags, mode, one_mount) : fd;
}

int tree_open_real (const char *path, int flags)
{
    int root, fd = open_how (AT_FDCWD, path, flags, 0, RESOLVE_NO_SYMLINKS);

    if (!is_unknown (fd))
        return fd;
    if ((root = open (*path == '/' ? "/" : ".", DIR_FLAGS)) < 0)
        return -errno;
    path += strspn (path, "/");
    fd = tree_walk_openat (root, *path ? path : ".", flags, 0, false);
    (void)close (root);
    return fd;
}

/* ---- whose links a path has ---- */

#define LINKS_MAX 40            // in a path, as in the kernel
#define NOBODY ((uid_t)-1)

struct way {
    char real[PATH_MAX];        // resolved so far; "" is "/"
    char rest[PATH_MAX];        // not resolved yet
    uid_t owner;                // owner of links that are not trusted, or
                                // NOBODY
    unsigned links;
};

/* Follow the link at way->real; 'parent' is where its name begins. */
static int follow (struct way *w, size_t parent, uid_t owner)
{
    char target[2 * PATH_MAX];
    ssize_t n = readlink (w->real, target, PATH_MAX - 1);
    size_t left = strlen (w->rest);

    if (n < 0)
        return -errno;
    if (w->links++ == LINKS_MAX || (w->owner != NOBODY && owner != NOBODY &&
                                    w->owner != owner))
        return -ELOOP;
    if (owner != NOBODY)
        w->owner = owner;
    if ((size_t)n + 1 + left >= sizeof (w->rest))
        return -ENAMETOOLONG;
    w->real[target[0] == '/' ? 0 : parent] = '\0';
    target[n] = '/';
    memcpy (target + n + 1, w->rest, left + 1);
    memcpy (w->rest, target, (size_t)n + 1 + left + 1);
    return 0;
}

/* Resolve the next component. */
static int walk_name (struct way *w)
{
    const char *name = w->rest + strspn (w->rest, "/");
    size_t n = strcspn (name, "/"), at = strlen (w->real);
    struct stat st;
    bool up = n == 2 && memcmp (name, "..", 2) == 0;
    char *slash;

    if (at + 1 + n >= sizeof (w->real))
        return -ENAMETOOLONG;
    if (up && (slash = strrchr (w->real, '/')))
        *slash = '\0';
    else if (!up && n > 0 && !(n == 1 && *name == '.'))
        (void)sprintf (w->real + at, "/%.*s", (int)n, name);
    memmove (w->rest, name + n, strlen (name + n) + 1);
    if (strlen (w->real) <= at)
        return 0;
    if (lstat (w->real, &st) < 0)
        return -errno;
    return !S_ISLNK (st.st_mode) ? 0
           : follow (w, at, st.st_uid == 0 || st.st_uid == geteuid ()
                                ? NOBODY : st.st_uid);
}

int tree_resolve (const char *path, char real[PATH_MAX])
{
    struct way w = { .owner = NOBODY };
    struct stat st;
    int rc = 0;

    if (*path != '/' && !getcwd (w.real, sizeof (w.real)))
        return -errno;
    if (strcmp (w.real, "/") == 0)
        w.real[0] = '\0';
    if (snprintf (w.rest, sizeof (w.rest), "%s", path) >= PATH_MAX)
        return -ENAMETOOLONG;
    while (rc == 0 && w.rest[strspn (w.rest, "/")])
        rc = walk_name (&w);
    if (rc < 0)
        return rc;
    (void)snprintf (real, PATH_MAX, "%s", w.real[0] ? w.real : "/");
    if (lstat (real, &st) < 0)
        return -errno;
    return w.owner == NOBODY || w.owner == st.st_uid ? 0 : -ELOOP;
}

/* ---- trees ---- */

static int tree_keep (struct tree *t, int fd)
{
    t->fd = fd < 0 ? -1 : fd;
    if (fd < 0)
        t->path[0] = '\0';
    return fd < 0 ? fd : 0;
}

int tree_open (struct tree *t, const char *path, struct err *err)
{
    int fd = open (path, DIR_FLAGS);

    if (fd < 0) {
        fd = err_sys (err, errno, "cannot open directory %s", path);
    } else if (snprintf (t->path, sizeof (t->path), "%s", path) >= PATH_MAX) {
        (void)close (fd);
        fd = err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    }
    return tree_keep (t, fd);
}

/* Open a directory, and create it if it is absent.  *made: it was created, or
 * could not be.
 */
static int open_or_make (int dirfd, const char *name, mode_t mode,
                         bool one_mount, bool *made)
{
    int fd = tree_openat (dirfd, name, DIR_FLAGS, 0, one_mount), rc;

    *made = fd == -ENOENT && mode != 0;
    if (!*made)
        return fd;
    if (mkdirat (dirfd, name, mode) < 0 && errno != EEXIST)
        return -errno;
    if (fsync (dirfd) < 0) {            // the error is reported once, so the
                                        // directory must be created again
        rc = -errno;                    // again
        (void)unlinkat (dirfd, name, AT_REMOVEDIR);
        return rc;
    }
    return tree_openat (dirfd, name, DIR_FLAGS, 0, one_mount);
}

static int tell_open (int rc, bool making, const char *dir, const char *name,
                      struct err *err)
{
    const char *slash = *dir && *name ? "/" : "";

    if (rc == -ELOOP)
        return err_set (err, ELOOP, "%s%s%s is a symbolic link, which is not "
                        "followed: remove it, or name a directory to write "
                        "into", dir, slash, name);
    if (rc == -EXDEV)
        return err_set (err, EXDEV, "%s%s%s is on another file system, or "
                        "leads out of its directory", dir, slash, name);
    return err_sys (err, -rc, "cannot %s directory %s%s%s",
                    making ? "make" : "open", dir, slash, name);
}

int tree_open_in (struct tree *t, const struct tree *above, const char *name,
                  mode_t mode, bool *made, struct err *err)
{
    bool was_made = false;
    int fd;

    if ((size_t)snprintf (t->path, sizeof (t->path), "%s/%s", above->path,
                          name) >= sizeof (t->path))
        fd = err_set (err, ENAMETOOLONG, "path is too long: %s", above->path);
    else if ((fd = open_or_make (above->fd, name, mode, false,
                                 &was_made)) < 0)
        fd = tell_open (fd, was_made, above->path, name, err);
    else if (made)
        *made = was_made;
    return tree_keep (t, fd);
}

/* Cut 'path' to the part that exists, and resolve that to 'real'.  Returns its
 * length, or errors as tree_resolve.
 */
static int resolve_there (char *path, char real[PATH_MAX])
{
    char *slash;
    int rc;

    while ((rc = tree_resolve (*path ? path : "/", real)) == -ENOENT &&
           (slash = strrchr (path, '/')))
        *slash = '\0';
    return rc < 0 ? rc : (int)strlen (path);
}

int tree_open_later (struct tree *t, const char *path, mode_t mode,
                     struct err *err)
{
    struct tree there = { .fd = -1 };
    char part[PATH_MAX], real[PATH_MAX];
    int n, fd;

    t->fd = -1;
    if (snprintf (part, sizeof (part), "%s", path) >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    n = resolve_there (part, real);
    fd = n < 0 ? n : tree_open_real (real, DIR_FLAGS);
    if (fd < 0) {
        fd = tell_open (fd, false, path, "", err);
    } else {
        there.fd = fd;
        (void)strcpy (there.path, real);
        fd = tree_make_dirs (&there, path + n, mode, err);
        tree_close (&there);
        (void)strcpy (t->path, path);
    }
    return tree_keep (t, fd);
}

void tree_close (struct tree *t)
{
    if (t->path[0] && t->fd >= 0)
        (void)close (t->fd);
    t->path[0] = '\0';
    t->fd = -1;
}

int tree_make_dirs (const struct tree *t, const char *path, mode_t mode,
                    struct err *err)
{
    const char *whole = path;
    char name[NAME_MAX + 1];
    bool made = false;
    int at = fcntl (t->fd, F_DUPFD_CLOEXEC, 0), fd = 0;

    if (at < 0)
        return err_sys (err, errno, "cannot open directory %s", t->path);
    for (path += strspn (path, "/"); *path; path += strspn (path, "/")) {
        size_t n = strcspn (path, "/");

        PRINT (name, "%.*s", (int)n, path);
        if (n > NAME_MAX)
            fd = -ENAMETOOLONG;
        else
            fd = open_or_make (at, name, mode, true, &made);
        (void)close (at);
        if (fd < 0)
            return tell_open (fd, made, t->path, whole, err);
        at = fd;
        path += n;
    }
    return at;
}

int tree_make_parent (const struct tree *t, const char *path, mode_t mode,
                      const char **name, struct err *err)
{
    const char *slash = strrchr (path, '/');
    char dir[PATH_MAX] = "";

    *name = slash ? slash + 1 : path;
    if (slash && snprintf (dir, sizeof (dir), "%.*s", (int)(slash - path),
                           path) >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    return tree_make_dirs (t, dir, mode, err);
}

/* ---- held paths ---- */

int tree_hold (const struct tree *t, const char *name,
               char held[TREE_HELD_MAX], struct err *err)
{
    int n = snprintf (held, TREE_HELD_MAX, HELD "%d%s%s", t->fd,
                      *name ? "/" : "", name);

    return n >= TREE_HELD_MAX
               ? err_set (err, ENAMETOOLONG, "path is too long: %s/%s",
                          t->path, name)
               : 0;
}

bool tree_is_held (const char *path)
{
    return strncmp (path, HELD, sizeof (HELD) - 1) == 0;
}

int tree_can_hold (const struct tree *t, struct err *err)
{
    char held[TREE_HELD_MAX];
    struct stat here, st;

    PRINT (held, HELD "%d", t->fd);
    if (fstat (t->fd, &here) == 0 && stat (held, &st) == 0 &&
        st.st_dev == here.st_dev && st.st_ino == here.st_ino)
        return 0;
    return err_set (err, ENOSYS, "cannot use %s safely, whose path somebody may "
                    "change: that needs /proc, which is not mounted here",
                    t->path);
}

void tree_tell (const struct tree *t, struct err *err)
{
    char held[sizeof (HELD) + 16], text[ERR_TEXT_MAX], *at;
    size_t n;

    if (!err || !t->path[0])
        return;
    n = (size_t)snprintf (held, sizeof (held), HELD "%d", t->fd);
    for (char *from = err->text; (at = strstr (from, held)); from = at + 1) {
        if (isdigit ((unsigned char)at[n]))
            continue;           // another one's
        (void)memcpy (text, err->text, sizeof (text));
        (void)snprintf (at, (size_t)(err->text + sizeof (err->text) - at),
                        "%s%s", t->path, text + (at - err->text) + n);
    }
}
