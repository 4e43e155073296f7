/* aggregator/query/finished.h - open finished results for reading
 *
 * Statements cannot write.  A file that somebody else made or changed can do no
 * harm: triggers and extensions are disabled.
 */
#ifndef ROLLCALL_QUERY_FINISHED_H
#define ROLLCALL_QUERY_FINISHED_H

#include "base/err.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* The limit of SQLite's memory in a process that runs a user's statements.
 * Larger sorts use temporary files; anything else that exceeds it fails with
 * -ENOMEM.
 */
#define FINISHED_MEMORY_MAX (INT64_C (256) << 20)

/* Find the analysis.db that a path means: the file itself, or in a directory
 * cluster_analysis_output/analysis.db or analysis.db.  -ENOENT, -EACCES ...
 */
int finished_find (const char *path, char ret[PATH_MAX], struct err *err);

/* Open any SQLite database for reading. *ret is NULL on failure: -ENOENT,
 * -EACCES, -EBADMSG (not a database), -EIO.
 */
int finished_open (const char *path, sqlite3 **ret, struct err *err);

/* Open an analysis.db.  -EBADMSG: the file is not one, or its tables are of
 * another version than this program's.
 */
int finished_open_analysis (const char *path, sqlite3 **ret, struct err *err);

/* The same for who needs no rows of ops: of a result in parts no part is opened,
 * which may be many files, and statements do not find their tables.
 */
int finished_open_sums (const char *path, sqlite3 **ret, struct err *err);

/* What a failure to read an open result means: -EBADMSG, with a sentence, if it
 * was -EIO and the file is damaged, which is checked; else 'rc' and 'err' stay.
 * 'db' may be NULL.
 */
int finished_judge (sqlite3 *db, int rc, struct err *err);

/* Restrict the statements of a user: they may select and read the schema, but
 * not attach databases.  They fail with -EINTR after this much CPU time (0: no
 * limit).  The limit of memory applies to the whole process.
 */
struct finished_limit {
    int64_t until_ns;           // of this thread's CPU time
};
void finished_limit (sqlite3 *db, int64_t cpu_ns, struct finished_limit *l);

#endif
