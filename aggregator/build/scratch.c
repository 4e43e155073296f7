/* aggregator/build/scratch.c - a directory for the files of one build
 *
 * The lock's file is the first that is made and the last that is removed, so
 * that files without it are never those of a living build.
 */
#include "build/scratch.h"

#include "base/fault.h"
#include "base/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PREFIX ".rollcall-"
#define LOCK_NAME "lock"
#define TRIES_MAX 100           // somebody who cleans can be in the way

/* ---- removing ---- */

static void remove_files (int dirfd)
{
    int fd = fileio_open_dir_at (dirfd, ".", NULL);
    DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
    struct dirent *e;

    if (!dir && fd >= 0)
        (void)close (fd);
    while (dir && (e = readdir (dir))) {
        if (strcmp (e->d_name, LOCK_NAME) != 0)
            (void)unlinkat (dirfd, e->d_name, 0);       // not "." and ".."
    }
    if (dir)
        (void)closedir (dir);
}

/* Remove parent/name unless its build lives; it is ours and no link. */
static void remove_dead (int parent, const char *name)
{
    int dir = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
                                        O_CLOEXEC);
    int lock = dir < 0 ? -1 : openat (dir, LOCK_NAME, O_RDWR | O_NOFOLLOW |
                                                          O_CLOEXEC);
    struct stat st;

    if (dir < 0 || fstat (dir, &st) < 0 || st.st_uid != geteuid ())
        goto out;
    if (lock >= 0 && flock (lock, LOCK_EX | LOCK_NB) == 0) {
        remove_files (dir);
        (void)unlinkat (dir, LOCK_NAME, 0);
    } else if (lock >= 0) {
        goto out;
    }
    // without a lock only if it is empty: else somebody is just making it
    (void)unlinkat (parent, name, AT_REMOVEDIR);
out:
    if (lock >= 0)
        (void)close (lock);
    if (dir >= 0)
        (void)close (dir);
}

void scratch_clean (const char *dirname)
{
    DIR *dir = opendir (dirname);
    struct dirent *e;

    while (dir && (e = readdir (dir))) {
        if (strncmp (e->d_name, PREFIX, strlen (PREFIX)) == 0)
            remove_dead (dirfd (dir), e->d_name);
    }
    if (dir)
        (void)closedir (dir);
}

/* ---- life ---- */

/* Make and take the lock.  -EAGAIN: somebody took the directory for a dead
 * one's in the meantime.
 */
static int take_lock (struct scratch *s)
{
    char path[PATH_MAX];
    struct stat here, st;
    int rc;

    if (!fileio_join (path, sizeof (path), s->path, LOCK_NAME))
        return -ENAMETOOLONG;
    s->lock = open (path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (s->lock < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    if (flock (s->lock, LOCK_EX | LOCK_NB) < 0) {
        rc = errno == EWOULDBLOCK ? -EAGAIN : -errno;
        // where nothing can be locked nobody takes it away, either
        return rc == -EAGAIN ? rc : 0;
    }
    if (fstat (s->lock, &st) < 0 || lstat (path, &here) < 0 ||
        st.st_ino != here.st_ino || st.st_dev != here.st_dev)
        return -EAGAIN;
    return 0;
}

int scratch_create (struct scratch *s, const char *dir, struct err *err)
{
    int rc = -EAGAIN;

    for (int i = 0; i < TRIES_MAX && rc == -EAGAIN; i++) {
        int n = snprintf (s->path, sizeof (s->path), "%s/" PREFIX "XXXXXX",
                          dir);

        s->lock = -1;
        if (n < 0 || (size_t)n >= sizeof (s->path))
            rc = -ENAMETOOLONG;
        else if ((rc = FAULT ("aggregator.publish.scratch.mkdir")) == 0)
            rc = mkdtemp (s->path) ? 0 : -errno;
        if (rc == 0 && (rc = take_lock (s)) < 0) {
            if (s->lock >= 0)
                (void)close (s->lock);
            (void)rmdir (s->path);      // empty, or already gone
        }
    }
    if (rc == 0)
        return 0;
    s->path[0] = '\0';
    return err_sys (err, -rc, "cannot make a temporary directory in %s", dir);
}

void scratch_destroy (struct scratch *s)
{
    int dir;

    if (!s->path[0])
        return;
    dir = open (s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir >= 0) {
        remove_files (dir);
        (void)unlinkat (dir, LOCK_NAME, 0);
        (void)close (dir);
    }
    (void)rmdir (s->path);
    if (s->lock >= 0)
        (void)close (s->lock);
    s->path[0] = '\0';
}
