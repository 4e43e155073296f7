/* common/store/db_presence.h - does a database in use still have its names?
 *
 * Whoever removes or replaces its files is not noticed by SQLite, which goes on
 * in files without a name.  But the connection can read all of it until it is
 * closed: so it can be put back.
 */
#ifndef ROLLCALL_STORE_DB_PRESENCE_H
#define ROLLCALL_STORE_DB_PRESENCE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum db_file { DB_FILE, DB_WAL, DB_SHM, DB_FILES };

struct sqlite3;

struct db_there {
    char path[PATH_MAX];
    struct {                    // which file had the name
        bool known;
        dev_t dev;
        ino_t ino;
    } names[DB_FILES];
};

/* These are its files: to be called when it has been opened.  What SQLite makes
 * later is noted then.
 */
void db_there_note (struct db_there *t, const char *path);

/* Whether they are still what has these names: false if one was removed, or
 * another one is in its place.
 */
bool db_is_there (struct db_there *t);

/* Not in a transaction: write all that 'db' has to the file of that name, with
 * 'mode'.  What others have put in its place is set aside in the directory
 * 'quarantine', which is made: the path of the database's is in 'aside', or "".
 * 'db' is to be closed and opened again by the caller.  On failure (-ENOSPC,
 * -EIO) it may be tried again.
 */
int db_put_back (const struct db_there *t, struct sqlite3 *db,
                 const char *quarantine, mode_t mode, char aside[PATH_MAX],
                 struct err *err);

/* Close it ('db' may be NULL, *t all zeros).  SQLite removes a journal by its
 * name: that of another database, which has the name by now, stays.
 */
void db_close_there (struct db_there *t, struct sqlite3 *db);

#endif
