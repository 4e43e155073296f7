/* aggregator/interchange/restore.c - make a root of a backup */
#include "interchange/backup.h"

#include "fsck/check_root.h"
#include "ledger/ledger.h"
#include "store/fileio.h"
#include "store/root.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNFINISHED ".restoring" // follows the name of a root that is not whole

struct restoring {
    const char *dir, *root;
    char part[PATH_MAX];        // the root until it is whole
    const atomic_bool *cancel;
    struct backup_sums *sums;
    char said[ERR_TEXT_MAX];    // the first thing that a check finds
    struct err *err;
};

static int copy_segment (void *arg, int64_t n, uint64_t end)
{
    struct restoring *r = arg;
    char from[PATH_MAX], to[PATH_MAX];

    store_segment_path (r->dir, n, from);
    store_segment_path (r->part, n, to);
    r->sums->segments++;
    r->sums->bytes += end;
    r->sums->copied += end;
    return backup_copy_segment (from, to, 0, end, r->cancel, r->err);
}

static int copy_all (struct restoring *r)
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
    if (rc == 0 && (rc = root_read_id (r->dir, id, r->err)) == 0)
        rc = root_write_id (r->part, id, r->err);
    return rc == -ENOENT ? 0 : rc;
}

static void keep_first (void *arg, const char *sentence)
{
    struct restoring *r = arg;

    if (!r->said[0])
        PRINT (r->said, "%.400s", sentence);
}

static int check (struct restoring *r)
{
    struct check_report report = { .say = keep_first, .arg = r };
    int rc = store_check (r->part, false, &report, r->err);

    if (rc == 0 && report.damaged > 0)
        return err_set (r->err, EBADMSG, "the backup is damaged in %zu places "
                        "(%s); the rest can be had: copy it, and rollcall fsck "
                        "aggregator --repair sets aside what is damaged",
                        report.damaged, r->said);
    return rc;
}

/* An empty directory is a place for it. */
static int check_target (const char *root, struct err *err)
{
    if (rmdir (root) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return err_set (err, EEXIST, "%s is not empty: name a new directory",
                        root);
    return err_sys (err, errno, "cannot restore to %s", root);
}

static int begin (struct restoring *r)
{
    char path[PATH_MAX];
    int rc = fileio_remove_tree (r->part, r->err);

    PRINT (path, "%.4000s/segments", r->part);
    if (rc == 0)
        rc = fileio_mkdirs (path, FILEIO_DIR_MODE, r->err);
    return rc;
}

int backup_restore (const char *dir, const char *root,
                    const atomic_bool *cancel, struct backup_sums *ret,
                    struct err *err)
{
    struct restoring r = { .dir = dir, .root = root, .cancel = cancel,
                           .sums = ret, .err = err };
    size_t n = strlen (root);
    int lock, rc;

    memset (ret, 0, sizeof (*ret));
    while (n > 1 && root[n - 1] == '/')
        n--;
    if (n + sizeof (UNFINISHED) + 32 > sizeof (r.part))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    PRINT (r.part, "%.*s" UNFINISHED, (int)n, root);
    if (!fileio_has (dir, "ledger.db"))
        return err_set (err, ENOENT, "%s has no backup", dir);
    if ((rc = check_target (root, err)) < 0)
        return rc;
    lock = root_lock (dir, false, err);
    if (lock < 0 && lock != -EROFS && lock != -EACCES)
        return lock;            // nobody writes to a disk that cannot be written
    if ((rc = begin (&r)) == 0 && (rc = copy_all (&r)) == 0 &&
        (rc = check (&r)) == 0)
        rc = fileio_rename (r.part, root, err);
    if (rc < 0)
        (void)fileio_remove_tree (r.part, NULL);
    fileio_close (lock);
    return rc;
}
