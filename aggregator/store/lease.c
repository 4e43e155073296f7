/* aggregator/store/lease.c - who reads a root, so that nothing is collected */
#include "store/lease.h"

#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory, locked: 'how' is LOCK_SH while a lease is taken, LOCK_EX while
 * they are counted, so that none is seen before it is locked.
 */
static int open_dir (const char *root, int how, char path[PATH_MAX],
                     struct err *err)
{
    int fd;

    if (!fileio_join (path, PATH_MAX, root, LEASE_DIR) ||
        strlen (path) + 16 > PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    if (flock (fd, how) < 0) {
        int rc = err_sys (err, errno, "cannot lock %s", path);

        (void)close (fd);
        return rc;
    }
    return fd;
}

static int create (const char *dir, struct lease *ret, struct err *err)
{
    PRINT (ret->path, "%.*s/XXXXXX", (int)strlen (dir), dir);
    if ((ret->fd = mkostemp (ret->path, O_CLOEXEC)) < 0)
        return err_sys (err, errno, "cannot create %s", ret->path);
    // the root's owner counts those of the user root, too
    if (fchmod (ret->fd, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) == 0 &&
        flock (ret->fd, LOCK_SH) == 0)
        return 0;
    lease_end (ret);
    return err_sys (err, errno, "cannot lock %s", ret->path);
}

int lease_take (const char *root, const char *what, struct lease *ret,
                struct err *err)
{
    char dir[PATH_MAX], text[LEASE_TEXT_MAX];
    int fd = open_dir (root, LOCK_SH, dir, err), rc;

    *ret = (struct lease)LEASE_NONE;
    if (fd < 0)
        return fd;
    rc = create (dir, ret, err);
    (void)close (fd);
    if (rc < 0)
        return rc;
    PRINT (text, "%.90s, process %ld", what, (long)getpid ());
    // for people only: the lock counts
    (void)!write (ret->fd, text, strlen (text));
    return 0;
}

void lease_end (struct lease *l)
{
    if (l->fd < 0)
        return;
    (void)unlink (l->path);
    (void)close (l->fd);
    l->fd = -1;
}

/* 1: somebody holds it; 0: nobody, and it was removed. */
static int look_at (int dir, const char *name, char text[LEASE_TEXT_MAX])
{
    int fd = openat (dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n;
    int held = 0;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (flock (fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlinkat (dir, name, 0);
    } else {
        held = 1;
        n = pread (fd, text, LEASE_TEXT_MAX - 1, 0);
        text[n > 0 ? n : 0] = '\0';
    }
    (void)close (fd);
    return held;
}

static int count (int fd, char text[LEASE_TEXT_MAX])
{
    int copy = openat (fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir (copy);
    struct dirent *e;
    int n = 0, rc = dir ? 0 : -errno;

    while (rc >= 0 && (e = readdir (dir))) {
        if (e->d_name[0] != '.' && (rc = look_at (fd, e->d_name, text)) > 0)
            n++;
    }
    if (dir)
        (void)closedir (dir);
    return rc < 0 ? rc : n;
}

int lease_block (const char *root, int *fd, char text[LEASE_TEXT_MAX],
                 struct err *err)
{
    char path[PATH_MAX];
    int n;

    text[0] = '\0';
    // nobody waits for a process that is stopped
    *fd = open_dir (root, LOCK_EX | LOCK_NB, path, err);
    if (*fd == -EWOULDBLOCK) {
        (void)snprintf (text, LEASE_TEXT_MAX, "a process that begins to read");
        return 1;
    }
    if (*fd < 0)
        return *fd;
    if ((n = count (*fd, text)) >= 0)
        return n;
    (void)close (*fd);
    return err_sys (err, -n, "cannot read %s", path);
}

void lease_unblock (int fd)
{
    fileio_close (fd);
}

int lease_count (const char *root, char text[LEASE_TEXT_MAX], struct err *err)
{
    int fd, n = lease_block (root, &fd, text, err);

    if (n >= 0)
        lease_unblock (fd);
    return n;
}
