/* node_agent/extract/profiler_db/db_table.h - read rows of the profiler's own
 * tables
 *
 * Private to this folder.  Columns are selected by name; the size of the file
 * limits the size of a table.  Rows are read from pages, as far as these are
 * plain, then by a query.
 */
#ifndef ROLLCALL_EXTRACT_PROFILER_DB_DB_TABLE_H
#define ROLLCALL_EXTRACT_PROFILER_DB_DB_TABLE_H

#include "extract/input/profiler_db.h"

/* Decides about a row, which follows the last one in the batch: b->nrows++
 * keeps it.  READING_WHOLE: continue.
 */
struct db_table_keep {
    enum reading (*row) (void *arg, struct batch *b, struct err *err);
    void *arg;
};

struct db_table;

/* Begin to read all columns of a table.  Missing ones of the set 'optional'
 * (1 << column) are NULL.  READING_ABSENT: there is no such table;
 * READING_DAMAGED: another column is missing.  'db' is borrowed, and need not
 * be connected.
 */
enum reading db_table_open (struct profiler_db *db, struct source *src,
                            enum table_id table, unsigned optional,
                            struct db_table **ret, struct err *err);
void db_table_close (struct db_table *x);       // x may be NULL

/* Read all rows, and send those that were kept to the sink. */
enum reading db_table_rows (struct db_table *x, struct source *src,
                            struct batch *b, const struct db_table_keep *keep,
                            struct err *err);

#endif
