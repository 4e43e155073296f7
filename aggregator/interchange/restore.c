/* aggregator/interchange/restore.c - make a root of a backup, or of something
 * else
 */
#include "interchange/restore.h"

#include "archive/audit.h"
#include "fsck/check_root.h"
#include "ledger/ledger.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/root.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNFINISHED ".restoring" // follows the name of a root that is not whole,
                                // or is in the directory that becomes one
#define MARK "restoring"        // a locked file in it: nothing there is of
                                // others

#define ROOT_MAX (TREE_HELD_MAX + NAME_MAX + 2)

struct restoring {
    const char *named;          // the root, for messages
    struct tree above;          // it, or the directory in which it is made
    char root[ROOT_MAX];        // a held path, like ...
    char part[ROOT_MAX + sizeof (UNFINISHED)];  // ... the root until it is
                                                // whole
    bool inside;                // the directory 'root' is there
    bool ours;                  // with nothing of others in it, under the locks
    int root_lock, part_lock;   // -1: none
    struct err *err;
};

/* ---- a backup ---- */

struct copying {
    const char *dir, *part;
    const struct backup_how *how;
    struct backup_sums *sums;
    char said[ERR_TEXT_MAX];    // the first thing that a check finds
    struct err *err;
};

static int copy_segment (void *arg, int64_t n, uint64_t end)
{
    struct copying *r = arg;
    char from[PATH_MAX], to[PATH_MAX];

    store_segment_path (r->dir, n, from);
    store_segment_path (r->part, n, to);
    r->sums->segments++;
    r->sums->bytes += end;
    r->sums->copied += end;
    return backup_copy_segment (from, to, 0, end, r->how->cancel, r->err);
}

static int copy_all (struct copying *r)
{
    char path[PATH_MAX], copy[PATH_MAX];
    char id[ROOT_ID_SIZE];
    struct ledger *l = NULL;
    int rc;

    if (!fileio_join (path, sizeof (path), r->dir, "ledger.db") ||
        !fileio_join (copy, sizeof (copy), r->part, "ledger.db"))
        return err_set (r->err, ENAMETOOLONG, "path is too long: %s", r->dir);
    rc = ledger_open_read (path, &l, r->err);
    if (rc == 0)
        rc = ledger_copy (l, copy, r->err);
    if (rc == 0)
        rc = ledger_each_segment (l, copy_segment, r, r->err);
    ledger_close (l);
    if (rc == 0 && fileio_join (copy, sizeof (copy), r->part, AUDIT_LOG) &&
        (rc = backup_copy_audit (r->dir, copy, r->how->cancel, r->err)) > 0)
        rc = 0;
    if (rc == 0 && (rc = root_read_id (r->dir, id, r->err)) == 0)
        rc = root_write_id (r->part, id, r->err);
    return rc == -ENOENT ? 0 : rc;
}

static void keep_first (void *arg, const char *sentence)
{
    struct copying *r = arg;

    if (!r->said[0])
        PRINT (r->said, "%.400s", sentence);
}

static int check (struct copying *r)
{
    struct check_report report = { .say = keep_first, .arg = r };
    int rc = store_check (r->part, false, &report, r->err);

    if (rc == 0 && report.damaged > 0)
        return err_set (r->err, EBADMSG, "the backup is damaged in %zu places "
                        "(%s); the rest can be had: copy it without its file "
                        ROOT_BACKUP ", and rollcall fsck aggregator --repair "
                        "sets aside what is damaged",
                        report.damaged, r->said);
    return rc;
}

/* A copy of a ledger has no log.  A root's has one, or who has it open for
 * reading could not open it for writing.
 */
static int begin_log (const struct copying *c)
{
    char path[PATH_MAX];
    struct ledger *l = NULL;
    int rc = fileio_join (path, sizeof (path), c->part, "ledger.db")
                 ? ledger_open (path, &l, c->err) : -ENAMETOOLONG;

    ledger_close (l);
    return rc;
}

static int fill_from_backup (void *arg, const char *part, struct err *err)
{
    struct copying *c = arg;
    int rc;

    c->part = part;
    c->err = err;
    if ((rc = copy_all (c)) < 0 || (rc = check (c)) < 0)
        return rc;
    return begin_log (c);
}

/* ---- the place ---- */

/* Whether 'name' may be in a directory that becomes a root, or in the part. */
static bool is_ours (const struct restoring *r, const char *name, bool marked)
{
    if (strcmp (name, "lock") == 0 || strcmp (name, UNFINISHED) == 0 ||
        (r->inside && strcmp (name, "lost+found") == 0))
        return true;
    return marked && (strcmp (name, "segments") == 0 ||
                      strcmp (name, AUDIT_LOG) == 0 ||
                      strcmp (name, OBJECT_MARK_DIR) == 0 ||
                      strncmp (name, ROOT_ID, strlen (ROOT_ID)) == 0);
}

/* An empty directory is a place for it, also one where a disk is mounted. */
static int check_root (struct restoring *r)
{
    bool marked = fileio_has (r->part, MARK);
    struct dirent *e;
    int listed = 0, rc = 0;
    DIR *dir = opendir (r->root);

    if (!dir)
        return err_sys (r->err, errno, "cannot restore to %s", r->root);
    while (rc == 0 && (e = fileio_next_entry (dir, &listed))) {
        if (!is_ours (r, e->d_name, marked))
            rc = err_set (r->err, EEXIST, "%s is not empty: name a new "
                          "directory", r->root);
    }
    (void)closedir (dir);
    return rc < 0 ? rc : listed;
}

/* The directory of a path, and the name in it: false: it is too long. */
static bool split (const char *path, char dir[PATH_MAX],
                   char name[NAME_MAX + 1])
{
    size_t n = strlen (path), at;

    while (n > 1 && path[n - 1] == '/')
        n--;
    for (at = n; at > 0 && path[at - 1] != '/';)
        at--;
    if (at >= PATH_MAX || n - at > NAME_MAX)
        return false;
    (void)snprintf (name, NAME_MAX + 1, "%.*s", (int)(n - at), path + at);
    (void)snprintf (dir, PATH_MAX, "%.*s", at > 1 ? (int)at - 1 : 1,
                    at > 0 ? path : ".");
    return true;
}

/* Where the parts are until all of them are whole: beside a root that is to be
 * made, or in the directory that is there.
 */
static int choose_part (struct restoring *r)
{
    char above[PATH_MAX], held[TREE_HELD_MAX], name[NAME_MAX + 1];
    struct stat st;
    int rc;

    if (!split (r->named, above, name))
        return err_set (r->err, ENAMETOOLONG, "path is too long: %s", r->named);
    r->inside = lstat (r->named, &st) == 0;
    rc = backup_hold (r->inside ? r->named : above, &r->above, held, r->err);
    if (rc < 0)
        return rc;
    if (r->inside)
        PRINT (r->root, "%s", held);
    else
        PRINT (r->root, "%s/%s", held, name);
    PRINT (r->part, "%s%s" UNFINISHED, r->root, r->inside ? "/" : "");
    return r->inside ? check_root (r) : 0;
}

/* What is there must have been left by a restore. */
static int check_part (struct restoring *r)
{
    DIR *dir = fileio_has (r->part, MARK) ? NULL : opendir (r->part);
    int rc = 0;

    if (dir && fileio_next_entry (dir, &rc))
        rc = err_set (r->err, EEXIST, "%s is in the way, and no restore has "
                      "left it: move it elsewhere", r->part);
    fileio_close_dir (dir);
    return rc;
}

static int remove_below (const char *dir, const char *name, struct err *err)
{
    char path[PATH_MAX];

    if (!fileio_join (path, sizeof (path), dir, name))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
    return unlink (path) == 0 || errno == ENOENT
               ? 0 : fileio_remove_tree (path, err);
}

/* Remove what a restore that was killed has left: only under the locks. */
static int clear (struct restoring *r)
{
    static const char *const names[] = { "segments", ROOT_ID, AUDIT_LOG,
                                         OBJECT_MARK_DIR, "ledger.db",
                                         "ledger.db-wal", "ledger.db-shm" };
    int rc = 0;

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]) && rc == 0; i++) {
        rc = remove_below (r->part, names[i], r->err);
        if (rc == 0 && r->inside && i < 4)
            rc = remove_below (r->root, names[i], r->err);
    }
    return rc;
}

/* store_check has the other lock. */
static int lock_part (struct restoring *r)
{
    char path[PATH_MAX];
    struct stat held, named;
    int fd, rc;

    if (r->inside && (r->root_lock = root_lock (r->root, false, r->err)) < 0)
        return r->root_lock;
    if ((rc = fileio_mkdirs (r->part, FILEIO_DIR_MODE, r->err)) < 0)
        return rc;
    PRINT (path, "%.4000s/" MARK, r->part);
    fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
               FILEIO_FILE_MODE);
    if (fd < 0)
        return err_sys (r->err, errno, "cannot create %s", path);
    if (flock (fd, LOCK_EX | LOCK_NB) < 0 || fstat (fd, &held) < 0 ||
        lstat (path, &named) < 0 || held.st_ino != named.st_ino) {
        (void)close (fd);
        return err_set (r->err, EBUSY, "another restore to %s is under way",
                        r->named);
    }
    r->part_lock = fd;
    return 0;
}

static int begin (struct restoring *r)
{
    char path[PATH_MAX];
    int rc = check_part (r);

    if (rc == 0)
        rc = lock_part (r);
    if (rc == 0 && r->inside)
        rc = check_root (r);    // others may have been there meanwhile
    r->ours = rc == 0;
    if (rc == 0)
        rc = clear (r);
    PRINT (path, "%.4000s/segments", r->part);
    return rc < 0 ? rc : fileio_mkdirs (path, FILEIO_DIR_MODE, r->err);
}

/* ---- the end ---- */

static int move_in (struct restoring *r, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX];

    if (!fileio_join (from, sizeof (from), r->part, name) ||
        !fileio_join (to, sizeof (to), r->root, name))
        return err_set (r->err, ENAMETOOLONG, "path is too long: %s", r->root);
    if (access (from, F_OK) < 0 && errno == ENOENT)
        return 0;               // a backup without it
    return fileio_rename (from, to, r->err);
}

/* The root appears: what makes it one, the ledger, comes last.  Until then the
 * mark says whose it is.
 */
static int publish (struct restoring *r)
{
    char path[PATH_MAX];
    int rc;

    PRINT (path, "%.4000s/segments", r->part);
    rc = fileio_sync_dir (path, r->err);
    if (rc == 0)
        rc = fileio_sync_dir (r->part, r->err);
    if (rc == 0 && !r->inside &&
        (rc = fileio_rename (r->part, r->root, r->err)) == 0)
        (void)remove_below (r->root, MARK, NULL);
    if (rc < 0 || !r->inside)
        return rc;
    if ((rc = move_in (r, "segments")) == 0 &&
        (rc = move_in (r, ROOT_ID)) == 0 &&
        (rc = move_in (r, AUDIT_LOG)) == 0 &&
        (rc = move_in (r, OBJECT_MARK_DIR)) == 0 &&
        (rc = move_in (r, "ledger.db")) == 0)
        (void)fileio_remove_tree (r->part, NULL);
    return rc;
}

static void end (struct restoring *r, int rc)
{
    if (rc < 0 && r->part_lock >= 0) {
        if (r->inside && r->ours)
            (void)clear (r);
        (void)fileio_remove_tree (r->part, NULL);
        if (r->inside && r->ours)
            (void)remove_below (r->root, "lock", NULL);
    }
    fileio_close (r->part_lock);
    fileio_close (r->root_lock);
}

static int restore_held (struct restoring *r, restore_fill_fn *fill, void *arg)
{
    int rc = begin (r);

    if (rc == 0 && (rc = fill (arg, r->part, r->err)) == 0)
        rc = publish (r);
    end (r, rc);
    return rc;
}

int restore_root (const char *root, restore_fill_fn *fill, void *arg,
                  struct err *err)
{
    struct restoring r = { .named = root, .err = err, .root_lock = -1,
                           .part_lock = -1, .above = { .fd = -1 } };
    int rc = choose_part (&r);

    if (rc == 0)
        rc = restore_held (&r, fill, arg);
    tree_tell (&r.above, err);
    tree_close (&r.above);
    return rc;
}

int backup_restore (const char *dir, const char *root,
                    const struct backup_how *how, struct backup_sums *ret,
                    struct err *err)
{
    struct copying c = { .dir = dir, .how = how, .sums = ret };
    int lock, rc;

    memset (ret, 0, sizeof (*ret));
    errno = 0;
    if (!fileio_has (dir, "ledger.db"))
        return errno == EACCES ? err_sys (err, errno, "cannot open %s", dir)
                               : err_set (err, ENOENT, "there is no backup in "
                                          "%s", dir);
    lock = root_lock (dir, false, err);
    if (lock < 0 && lock != -EROFS && lock != -EACCES)
        return lock;            // nobody writes to a read-only disk
    rc = restore_root (root, fill_from_backup, &c, err);
    fileio_close (lock);
    return rc;
}
