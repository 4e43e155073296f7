/* node_agent/extract/profiler_db/db_table.h - read rows of the profiler's own
 * tables
 *
 * Private to this folder.  Columns are selected by name; the size of the file
 * limits the size of a table.
 */
#ifndef ROLLCALL_EXTRACT_PROFILER_DB_DB_TABLE_H
#define ROLLCALL_EXTRACT_PROFILER_DB_DB_TABLE_H

#include "extract/input/profiler_db.h"

/* Prepare to select all columns of a table.  Missing ones of the set 'optional'
 * (1 << column) are NULL.  READING_ABSENT: there is no such table;
 * READING_DAMAGED: another column is missing.
 */
enum reading db_table_prepare (struct profiler_db *db, enum table_id table,
                               unsigned optional, sqlite3_stmt **ret,
                               struct err *err);

/* Decides about a row, which follows the last one in the batch: b->nrows++
 * keeps it.  READING_WHOLE: continue.
 */
struct db_table_keep {
    enum reading (*row) (void *arg, struct batch *b, struct err *err);
    void *arg;
};

/* Read all rows, and send those that were kept to the sink. */
enum reading db_table_rows (struct profiler_db *db, struct source *src,
                            sqlite3_stmt *st, struct batch *b,
                            const struct db_table_keep *keep, struct err *err);

#endif
