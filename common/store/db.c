/* common/store/db.c - SQLite with errors as sentences */
#include "store/db.h"

#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define WRITE_VERSION_AT 18     // in the header of SQLite; 2 means a WAL
                                // journal
#define WRITE_VERSION_MAX 2
#define CANCEL_OPS 100000       // instructions of SQLite's virtual machine:
                                // about 5 ms

/* ---- opening ----
 *
 * The VFS "unix" of SQLite, with two differences.  SQLite resolves a path, with
 * all links, before it opens it; here the path is used as it is, and a link at
 * its end is refused.  And a journal that somebody has left may name another
 * file, which SQLite reads and removes when it rolls back; our journals never
 * do.
 */

static sqlite3_vfs *unix_vfs, held_vfs;

static int held_path (sqlite3_vfs *vfs, const char *path, int max, char *out)
{
    size_t n = strlen (path) + 1;

    (void)vfs;
    if (n > (size_t)max)
        return SQLITE_CANTOPEN;
    (void)memcpy (out, path, n);
    return SQLITE_OK;
}

static int held_open (sqlite3_vfs *vfs, const char *name,
                      sqlite3_file *file, int flags, int *ret_flags)
{
    (void)vfs;
    file->pMethods = NULL;
    if (flags & SQLITE_OPEN_SUPER_JOURNAL)
        return SQLITE_CANTOPEN;
    return unix_vfs->xOpen (unix_vfs, name, file,
                            flags | SQLITE_OPEN_NOFOLLOW, ret_flags);
}

static void make_vfs (void)
{
    sqlite3_vfs *found = sqlite3_vfs_find ("unix");

    if (!found)
        return;
    held_vfs = *found;
    held_vfs.zName = "rollcall-held";
    held_vfs.pNext = NULL;
    held_vfs.xFullPathname = held_path;
    held_vfs.xOpen = held_open;
    unix_vfs = sqlite3_vfs_register (&held_vfs, 0) == SQLITE_OK ? found : NULL;
}

const char *db_held_vfs (void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once (&once, make_vfs);
    return unix_vfs ? held_vfs.zName : NULL;
}

int db_open (const char *path, int flags, sqlite3 **ret)
{
    const char *vfs = tree_is_held (path) ? db_held_vfs () : NULL;
    char plain[PATH_MAX];

    *ret = NULL;
    // "file:a?mode=memory" is a name like any other: SQLite may have been
    // compiled to take it for a URI
    if (!(flags & SQLITE_OPEN_URI) && strncmp (path, "file:", 5) == 0) {
        if (!fileio_join (plain, sizeof (plain), ".", path))
            return SQLITE_CANTOPEN;
        path = plain;
    }
    if (tree_is_held (path) && !vfs)
        return SQLITE_NOMEM;
    return sqlite3_open_v2 (path, ret, flags, vfs);
}

/* ---- errors ---- */

static int errno_of (int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return ENOSPC;
    case SQLITE_NOMEM:
        return ENOMEM;
    case SQLITE_READONLY:
        return EROFS;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return EBUSY;
    case SQLITE_INTERRUPT:
    case SQLITE_ABORT:
        return EINTR;
    default:
        return code == SQLITE_CORRUPT_VTAB ? EBADMSG : EIO;
    }
}

int db_error (sqlite3 *db, const char *what, struct err *err)
{
    if (!db)
        return err_set (err, ENOMEM, "%s: no memory", what);
    return err_set (err, errno_of (sqlite3_extended_errcode (db)), "%s: %s",
                    what, sqlite3_errmsg (db));
}

void db_harden (sqlite3 *db)
{
    (void)sqlite3_db_config (db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config (db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config (db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config (db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

bool db_lets_write (sqlite3 *db)
{
    sqlite3_file *file = NULL;
    uint8_t version = 0;

    // not with an open of its own: closing that would drop all locks that this
    // process has of the file
    if (sqlite3_file_control (db, "main", SQLITE_FCNTL_FILE_POINTER, &file) !=
            SQLITE_OK || !file || !file->pMethods)
        return true;
    return file->pMethods->xRead (file, &version, sizeof (version),
                                  WRITE_VERSION_AT) != SQLITE_OK ||
           version <= WRITE_VERSION_MAX;
}

int db_exec (sqlite3 *db, const char *sql, struct err *err)
{
    if (sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_error (db, sqlite3_db_filename (db, "main"), err);
    return 0;
}

int db_execf (sqlite3 *db, struct err *err, const char *fmt, ...)
{
    va_list ap;
    char *sql;
    int rc;

    va_start (ap, fmt);
    sql = sqlite3_vmprintf (fmt, ap);
    va_end (ap);
    if (!sql)
        return err_set (err, ENOMEM, "no memory for a statement");
    rc = db_exec (db, sql, err);
    sqlite3_free (sql);
    return rc;
}

int db_prepare (sqlite3 *db, const char *sql, sqlite3_stmt **ret,
                struct err *err)
{
    if (sqlite3_prepare_v2 (db, sql, -1, ret, NULL) != SQLITE_OK)
        return db_error (db, sqlite3_db_filename (db, "main"), err);
    return 0;
}

int db_run (sqlite3_stmt *st, struct err *err)
{
    sqlite3 *db = sqlite3_db_handle (st);
    int rc = 0;
    int code;

    while ((code = sqlite3_step (st)) == SQLITE_ROW)
        ;
    if (code != SQLITE_DONE)
        rc = db_error (db, sqlite3_db_filename (db, "main"), err);
    (void)sqlite3_reset (st);
    return rc;
}

static int is_cancelled (void *arg)
{
    return atomic_load ((const atomic_bool *)arg);
}

void db_cancel (sqlite3 *db, const atomic_bool *cancel)
{
    sqlite3_progress_handler (db, CANCEL_OPS, cancel ? is_cancelled : NULL,
                              (void *)cancel);
}

int64_t db_int (sqlite3 *db, const char *sql, int64_t fallback)
{
    sqlite3_stmt *st = NULL;
    int64_t v = fallback;

    if (sqlite3_prepare_v2 (db, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step (st) == SQLITE_ROW)
        v = sqlite3_column_int64 (st, 0);
    (void)sqlite3_finalize (st);
    return v;
}

const char *db_version (void)
{
    return sqlite3_libversion ();
}
