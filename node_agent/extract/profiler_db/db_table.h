/* node_agent/extract/profiler_db/db_table.h - rows of the profiler's own
 * tables, out of a database that it wrote
 *
 * Private to this folder.  Columns are selected by name; what a table may give
 * is bounded by the file's size.
 */
#ifndef ROLLCALL_EXTRACT_PROFILER_DB_DB_TABLE_H
#define ROLLCALL_EXTRACT_PROFILER_DB_DB_TABLE_H

#include "extract/input/profiler_db.h"

/* Prepare to select all columns of a table; those of the set 'optional' (1 <<
 * column) that it does not have are NULL.  READING_ABSENT without the table,
 * READING_DAMAGED without another column.
 */
enum reading db_table_prepare (struct profiler_db *db, enum table_id table,
                               unsigned optional, sqlite3_stmt **ret,
                               struct err *err);

/* What becomes of a row that is in the batch, behind its last one: it is kept
 * by b->nrows++.  READING_WHOLE to go on.
 */
struct db_table_keep {
    enum reading (*row) (void *arg, struct batch *b, struct err *err);
    void *arg;
};

/* Take all rows, and give those that were kept to the sink. */
enum reading db_table_rows (struct profiler_db *db, struct source *src,
                            sqlite3_stmt *st, struct batch *b,
                            const struct db_table_keep *keep, struct err *err);

#endif
