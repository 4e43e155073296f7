/* common/store/db.h - SQLite with errors as sentences
 *
 * Only this file maps codes of SQLite to errno values.
 */
#ifndef ROLLCALL_STORE_DB_H
#define ROLLCALL_STORE_DB_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* As sqlite3_open_v2, and also for held paths (store/tree.h): such a database
 * with its journal and log stays in the held directory, symbolic links are not
 * followed, and files that others have put beside it are not used.  A path is
 * a URI only with SQLITE_OPEN_URI.  Returns a code of SQLite; the caller closes *ret in any case.
 */
int db_open (const char *path, int flags, sqlite3 **ret);

/* The VFS that opens held paths in a URI ("vfs=NAME").  NULL: it could not be
 * registered.
 */
const char *db_held_vfs (void);

/* The last error of 'db': -ENOSPC (disk full), -ENOMEM, -EROFS, -EBUSY (another
 * process has locked it), -EBADMSG (from a virtual table: what it reads is
 * damaged) or -EIO, with "what: message" in 'err'.
 */
int db_error (sqlite3 *db, const char *what, struct err *err);

/* Protect this process from a file that others may have written or changed:
 * none of its triggers and views runs, and its schema may only call harmless
 * functions.
 */
void db_harden (sqlite3 *db);

/* Whether the header of the open file lets SQLite write to it, as in all of our
 * databases.  With one damaged byte it can be read, but every write fails.
 * True if the file is empty or missing.
 */
bool db_lets_write (sqlite3 *db);

/* Run statements that return no rows. */
int db_exec (sqlite3 *db, const char *sql, struct err *err);

/* As db_exec, with a format of sqlite3_mprintf (%Q, %w, %lld). */
int db_execf (sqlite3 *db, struct err *err, const char *fmt, ...);

int db_prepare (sqlite3 *db, const char *sql, sqlite3_stmt **ret,
                struct err *err);

/* Run a prepared statement to its end, and reset it. */
int db_run (sqlite3_stmt *st, struct err *err);

const char *db_version (void);          // "3.40.1"; a static text

/* Let statements of 'db' fail with -EINTR within a few ms once *cancel is true.
 * NULL: never.
 */
void db_cancel (sqlite3 *db, const atomic_bool *cancel);

/* The integer that a query returns; 'fallback' if there is no row, or it fails.
 */
int64_t db_int (sqlite3 *db, const char *sql, int64_t fallback);

#endif
