/* aggregator/ledger/ledger_copy.c - a ledger as it is at one moment, elsewhere
 */
#include "ledger/ledger_private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int sync_file (const char *path, struct err *err)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fsync (fd) < 0 ? err_sys (err, errno, "cannot fsync %s",
                                                 path) : 0;

    if (fd >= 0)
        (void)close (fd);
    return rc;
}

/* In one step, so that no commit of an aggregator makes it begin again. */
static int copy_pages (struct ledger *l, sqlite3 *to, struct err *err)
{
    sqlite3_backup *b = sqlite3_backup_init (to, "main", l->db, "main");
    int rc;

    if (!b)
        return db_error (to, "cannot copy the ledger", err);
    (void)sqlite3_backup_step (b, -1);
    rc = sqlite3_backup_finish (b);
    return rc == SQLITE_OK ? 0 : db_error (to, "cannot copy the ledger", err);
}

int ledger_copy (struct ledger *l, const char *path, struct err *err)
{
    sqlite3 *to = NULL;
    int rc;

    if (unlink (path) < 0 && errno != ENOENT)
        return err_sys (err, errno, "cannot replace %s", path);
    if (db_open (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                 SQLITE_OPEN_NOFOLLOW, &to) != SQLITE_OK)
        rc = db_error (to, path, err);
    else
        rc = copy_pages (l, to, err);
    // one file, without a journal beside it
    if (rc == 0)
        rc = db_exec (to, "PRAGMA journal_mode=DELETE", err);
    if (sqlite3_close (to) != SQLITE_OK && rc == 0)
        rc = err_set (err, EIO, "cannot close %s", path);
    return rc < 0 ? rc : sync_file (path, err);
}
