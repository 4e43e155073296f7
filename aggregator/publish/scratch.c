/* aggregator/publish/scratch.c - a directory for the files of one build
 *
 * The lock file is created first and removed last, so that files without it
 * never belong to a running build.
 */
#include "publish/scratch.h"

#include "base/fault.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#define PREFIX ".rollcall-"
#define LOCK_NAME "lock"
#define NAME_RANDOM 6
#define NAME_SIZE (sizeof (PREFIX) + NAME_RANDOM)
#define TRIES_MAX 100           // a concurrent cleanup can interfere
#define MODE 0700               // only the owner creates files in it
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY)

/* ---- removing ---- */

static void remove_files (int dirfd)
{
    DIR *dir = fileio_list (dirfd, ".");
    struct dirent *e;

    while (dir && (e = readdir (dir))) {
        if (strcmp (e->d_name, LOCK_NAME) != 0)
            (void)unlinkat (dirfd, e->d_name, 0);       // not "." and ".."
    }
    fileio_close_dir (dir);
}

/* Whether it is a scratch directory in 'above', and not another of our
 * directories that the owner of 'above' moved here.
 */
static bool is_ours (int above, int dir)
{
    struct stat st, around;

    return fstat (dir, &st) == 0 && st.st_uid == geteuid () &&
           fstat (above, &around) == 0 &&
           (around.st_uid == st.st_uid || (st.st_mode & 0777) == MODE);
}

static void remove_empty (int above, const char *name, int dir)
{
    struct stat st;

    if (fstat (dir, &st) == 0)
        (void)tree_remove (above, name, &st);
}

/* Remove above/name unless its build is running; it must be ours and no link.
 */
static void remove_dead (int above, const char *name)
{
    int dir = tree_openat (above, name, DIR_FLAGS, 0, true);
    int lock = dir < 0 ? -1 : tree_openat (dir, LOCK_NAME, O_RDWR, 0, true);

    if (dir < 0 || !is_ours (above, dir))
        goto out;
    if (lock >= 0 && flock (lock, LOCK_EX | LOCK_NB) == 0) {
        remove_files (dir);
        (void)unlinkat (dir, LOCK_NAME, 0);
    } else if (lock >= 0) {
        goto out;
    }
    // without a lock only if empty: another process may be creating it
    remove_empty (above, name, dir);
out:
    fileio_close (lock);
    fileio_close (dir);
}

void scratch_clean (const struct tree *above)
{
    DIR *dir = fileio_list (above->fd, ".");
    struct dirent *e;

    while (dir && (e = readdir (dir))) {
        if (strncmp (e->d_name, PREFIX, strlen (PREFIX)) == 0)
            remove_dead (above->fd, e->d_name);
    }
    fileio_close_dir (dir);
}

/* ---- creating and dropping ---- */

static int choose_name (char name[NAME_SIZE])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    unsigned char bytes[NAME_RANDOM];
    size_t n = strlen (PREFIX);

    if (getrandom (bytes, sizeof (bytes), 0) != (ssize_t)sizeof (bytes))
        return -errno;
    memcpy (name, PREFIX, n);
    for (size_t i = 0; i < sizeof (bytes); i++)
        name[n++] = letters[bytes[i] % (sizeof (letters) - 1)];
    name[n] = '\0';
    return 0;
}

static bool is_empty (int dirfd)
{
    DIR *dir = fileio_list (dirfd, ".");
    int rc;
    bool empty = dir && !fileio_next_entry (dir, &rc) && rc == 0;

    fileio_close_dir (dir);
    return empty;
}

/* -EAGAIN: something else was put in its place. */
static int make_dir (struct scratch *s, const struct tree *above)
{
    char name[NAME_SIZE];
    int rc = FAULT ("aggregator.publish.scratch.mkdir");

    if (rc < 0 || (rc = choose_name (name)) < 0)
        return rc;
    if (mkdirat (above->fd, name, MODE) < 0)
        return errno == EEXIST ? -EAGAIN : -errno;
    rc = tree_open_in (&s->tree, above, name, 0, NULL, NULL);
    if (rc < 0)
        return rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP ? -EAGAIN : rc;
    if (is_empty (s->tree.fd))
        return 0;
    tree_close (&s->tree);
    return -EAGAIN;
}

/* Whether the lock is in the directory that was created.  Owners are compared,
 * as a remote file system may map our user to another one, but to the same for
 * both.
 */
static bool is_in_place (const struct scratch *s)
{
    struct stat dir, lock, named;

    return fstat (s->tree.fd, &dir) == 0 && fstat (s->lock, &lock) == 0 &&
           fstatat (s->tree.fd, LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           lock.st_ino == named.st_ino && lock.st_dev == named.st_dev &&
           lock.st_uid == dir.st_uid;
}

/* Create and take the lock.  -EAGAIN: another process took the directory for
 * that of a dead build, or it was replaced.
 */
static int take_lock (struct scratch *s)
{
    s->lock = tree_openat (s->tree.fd, LOCK_NAME, O_RDWR | O_CREAT | O_EXCL,
                           0600, true);
    if (s->lock < 0)
        return s->lock == -ENOENT ? -EAGAIN : s->lock;
    // without working locks nobody else takes it, either
    if (flock (s->lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return -EAGAIN;
    if (is_in_place (s))
        return 0;
    (void)unlinkat (s->tree.fd, LOCK_NAME, 0);
    return -EAGAIN;
}

/* By now its name may belong to another directory. */
static void scratch_drop (struct scratch *s)
{
    remove_empty (s->above, strrchr (s->tree.path, '/') + 1, s->tree.fd);
    tree_close (&s->tree);
    fileio_close (s->lock);
    s->lock = -1;
}

int scratch_create (struct scratch *s, const struct tree *above,
                    struct err *err)
{
    int rc = -EAGAIN;

    *s = (struct scratch){ .lock = -1 };
    if ((s->above = fcntl (above->fd, F_DUPFD_CLOEXEC, 0)) < 0)
        rc = -errno;
    for (int i = 0; i < TRIES_MAX && rc == -EAGAIN; i++) {
        rc = make_dir (s, above);
        if (rc == 0 && (rc = take_lock (s)) < 0)
            scratch_drop (s);   // empty, or already gone
    }
    if (rc == 0)
        return 0;
    fileio_close (s->above);
    return err_sys (err, -rc, "cannot make a temporary directory in %s",
                    above->path);
}

void scratch_destroy (struct scratch *s)
{
    if (!s->tree.path[0])
        return;
    remove_files (s->tree.fd);
    (void)unlinkat (s->tree.fd, LOCK_NAME, 0);
    scratch_drop (s);
    (void)close (s->above);
}
