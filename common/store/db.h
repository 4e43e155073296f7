/* common/store/db.h - SQLite, with its errors in words
 *
 * The only place that maps SQLite's codes to errno values.
 */
#ifndef ROLLCALL_STORE_DB_H
#define ROLLCALL_STORE_DB_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* sqlite3_open_v2, for held paths (store/tree.h), too: such a database, with
 * its journal and log, stays in the directory that is held, no symbolic link is
 * followed, and what others have left beside it names no file elsewhere.  A
 * code of SQLite's; *ret is to be closed in any case.
 */
int db_open (const char *path, int flags, sqlite3 **ret);

/* What opens held paths in an URI ("vfs=NAME"); NULL: it could not be made. */
const char *db_held_vfs (void);

/* What SQLite said last about 'db', as -ENOSPC (disk full), -ENOMEM, -EROFS,
 * -EBUSY (another process holds it) or -EIO, with "what: message" in 'err'.
 */
int db_error (sqlite3 *db, const char *what, struct err *err);

/* The file may be another one's work, or have been changed: no triggers and no
 * views of it are run, and its schema may call nothing but harmless functions.
 */
void db_harden (sqlite3 *db);

/* Whether the file's header lets SQLite write to it, as each of ours does: with
 * one damaged byte it can be read, and every write fails.  A file that is not
 * there or empty is fine.
 */
bool db_lets_write (const char *path);

/* Run statements that give no rows. */
int db_exec (sqlite3 *db, const char *sql, struct err *err);

/* As db_exec, from a printf format of SQLite's (%Q, %w, %lld). */
int db_execf (sqlite3 *db, struct err *err, const char *fmt, ...);

int db_prepare (sqlite3 *db, const char *sql, sqlite3_stmt **ret,
                struct err *err);

/* Run a prepared statement to its end and reset it. */
int db_run (sqlite3_stmt *st, struct err *err);

const char *db_version (void);          // "3.40.1"; borrowed for ever

/* Once *cancel is true let statements of 'db' fail with -EINTR, within some ms;
 * NULL: never.
 */
void db_cancel (sqlite3 *db, const atomic_bool *cancel);

/* One integer from a query; 'fallback' when there is no row or it fails. */
int64_t db_int (sqlite3 *db, const char *sql, int64_t fallback);

#endif
