/* common/store/db_presence.h - restore files of a database that is in use
 *
 * If somebody removes or replaces them, SQLite does not notice, and continues
 * with files without a name.  But the connection can read all of the content
 * until it is closed, so it can be written back.
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
    struct {                    // identity of the file with that name
        bool known;
        dev_t dev;
        ino_t ino;
    } names[DB_FILES];
};

/* Record the files of a database that was just opened.  Files that SQLite
 * creates later are recorded when they appear.
 */
void db_there_note (struct db_there *t, const char *path);

/* Whether the names still belong to these files.  False: a file was removed or
 * replaced.
 */
bool db_is_there (struct db_there *t);

/* Write all content of 'db' to a file of its name, with 'mode'.  Do not call it
 * in a transaction.  Files that others have put there are moved to the
 * directory 'quarantine', which is created; 'aside' is the new path of the
 * database's, or "".  The caller closes 'db' and opens it again.  -ENOSPC,
 * -EIO: try again later.
 */
int db_put_back (const struct db_there *t, struct sqlite3 *db,
                 const char *quarantine, mode_t mode, char aside[PATH_MAX],
                 struct err *err);

/* Close 'db', which may be NULL; *t may be zeroed.  SQLite removes a journal by
 * its name; if that belongs to another database now, it stays.
 */
void db_close_there (struct db_there *t, struct sqlite3 *db);

#endif
