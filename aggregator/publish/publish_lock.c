/* aggregator/publish/publish_lock.c - one publisher at a time in a directory */
#include "publish/publish_lock.h"

#include "base/clock.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define NAME PUBLISH_LOCK_NAME
#define FLAGS (O_RDWR | O_NONBLOCK)
#define MODE 0644               // others lock it, too
#define WRITERS 0022            // with these bits of the directory's mode
#define TRY_AGAIN_MS 100
#define SAY_AFTER_NS NS_PER_S   // most end before
#define LOST_MAX 100            // files that had lost their names when they were
                                // locked: after so many, numbers of files mean
                                // nothing here
#define WHO_MAX 128             // bytes: "process 4711 on host node7"

/* 1: the file still has its name; 0: it has not; or an error.  It is opened by that
 * again, since NFS may answer anything else from its cache.
 */
static int has_name (int dir, int fd)
{
    int again = tree_openat (dir, NAME, O_RDONLY | O_NONBLOCK, 0, true);
    struct stat held, named;
    bool same = again >= 0 && fstat (fd, &held) == 0 &&
                fstat (again, &named) == 0 && held.st_dev == named.st_dev &&
                held.st_ino == named.st_ino;

    fileio_close (again);
    return again < 0 && again != -ENOENT && again != -ESTALE ? again : same;
}

/* Whoever may rename files there may lock it: on NFS, and whatever the umask. */
static void share (int dir, int fd)
{
    struct stat st;

    if (fstat (dir, &st) == 0)
        (void)fchmod (fd, MODE | (st.st_mode & WRITERS));
}

/* Only into a file that was just created: a link could lead to any other. */
static void write_who (int fd)
{
    char host[HOST_NAME_MAX + 1] = "", who[WHO_MAX];

    (void)gethostname (host, sizeof (host) - 1);
    PRINT (who, "process %ld on host %.80s\n", (long)getpid (), host);
    (void)fileio_write_all (fd, who, strlen (who));
}

static void read_who (int dir, char who[WHO_MAX])
{
    int fd = tree_openat (dir, NAME, O_RDONLY | O_NONBLOCK, 0, true);
    ssize_t n = fd < 0 ? 0 : read (fd, who, WHO_MAX - 1);

    fileio_close (fd);
    who[n > 0 ? n : 0] = '\0';
    who[strcspn (who, "\n")] = '\0';
    if (!*who)
        (void)strcpy (who, "another rollcall");
}

/* That of another one.  Who may not write to it can lock it on a local disk. */
static int open_other (int dir)
{
    int fd = tree_openat (dir, NAME, FLAGS, 0, true);

    if (fd == -EACCES)
        fd = tree_openat (dir, NAME, O_RDONLY | O_NONBLOCK, 0, true);
    return fd == -ENOENT || fd == -ESTALE ? -EAGAIN : fd;
}

/* What came of flock(2): -EAGAIN, another one has it; -ESTALE, what was locked
 * is not, or no longer, the file of that name; -ENOLCK, there are no locks.
 */
static int look_at_lock (int dir, int fd, bool created, int errnum)
{
    int rc;

    if (errnum == EAGAIN || errnum == EINTR)
        return -EAGAIN;
    if (errnum == ESTALE)
        return -ESTALE;
    if (errnum == EBADF)        // it may only be read, on NFS
        return -EACCES;
    if (errnum == 0 && (rc = has_name (dir, fd)) <= 0)
        return rc < 0 ? rc : -ESTALE;
    if (errnum == 0 && created)
        return 0;
    // who created it has died, or there is no use for it
    rc = errnum == 0 || created ? unlinkat (dir, NAME, 0) : 0;
    if (errnum != 0)
        return -ENOLCK;
    return rc < 0 && errno != ENOENT ? 0 : -EAGAIN;     // it will do as it is
}

static int try_once (struct publish_lock *l, int dir)
{
    int fd = tree_openat (dir, NAME, FLAGS | O_CREAT | O_EXCL, MODE, true);
    bool created = fd >= 0;
    int rc;

    if (fd == -EEXIST)
        fd = open_other (dir);
    if (fd < 0)
        return fd;
    if (created)
        share (dir, fd);
    rc = flock (fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
    rc = look_at_lock (dir, fd, created, rc);
    if (rc == 0 && (l->dir = fcntl (dir, F_DUPFD_CLOEXEC, 0)) < 0)
        rc = -errno;
    if (rc < 0) {
        (void)close (fd);
        return rc;
    }
    if (created)
        write_who (fd);
    l->fd = fd;
    l->held = true;
    return 0;
}

static void say_who (const struct tree *dir,
                     const struct publish_caller *caller)
{
    char who[WHO_MAX];
    struct err sentence;

    if (!caller->say)
        return;
    read_who (dir->fd, who);
    (void)err_set (&sentence, EBUSY, "%s is writing its result into %s, and is "
                   "waited for; if it was stopped, let it go on, or end it; if "
                   "its host is gone, remove " NAME " there", who, dir->path);
    caller->say (caller->arg, sentence.text);
}

static int say_why (const struct tree *dir, int rc, struct err *err)
{
    char who[WHO_MAX];

    if (rc != -EACCES)
        return err_sys (err, -rc, "cannot lock " NAME " in %s", dir->path);
    read_who (dir->fd, who);
    return err_set (err, EACCES, "%s/" NAME " is another user's, and cannot be "
                    "locked: %s made it; if that has ended, remove it",
                    dir->path, who);
}

int publish_lock_take (struct publish_lock *l, const struct tree *dir,
                       const struct publish_caller *caller, struct err *err)
{
    int64_t until = clock_mono_ns () + SAY_AFTER_NS;
    bool said = false;
    unsigned lost = 0;
    int rc;

    l->held = l->blind = false;
    while ((rc = try_once (l, dir->fd)) == -EAGAIN ||
           (rc == -ESTALE && lost++ < LOST_MAX)) {
        if (caller->cancel && atomic_load (caller->cancel))
            return err_set (err, EINTR, "interrupted");
        if (!said && clock_mono_ns () >= until) {
            said = true;
            say_who (dir, caller);
        }
        (void)poll (NULL, 0, TRY_AGAIN_MS);
    }
    l->blind = rc == -ESTALE;
    return rc == 0 || rc == -ENOLCK || rc == -ESTALE ? 0 : say_why (dir, rc, err);
}

void publish_lock_drop (struct publish_lock *l)
{
    if (!l->held)
        return;
    if (has_name (l->dir, l->fd) == 1)
        (void)unlinkat (l->dir, NAME, 0);
    (void)close (l->fd);
    (void)close (l->dir);
    l->held = false;
}
