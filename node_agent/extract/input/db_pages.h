/* node_agent/extract/input/db_pages.h - read rows of integers from the pages of
 * a database
 *
 * The large tables of the profiler are integers and are read once, in their own
 * order.  A query takes about ten times as long for that as the rest of the
 * work.  So the pages of an ordinary table are decoded here, according to
 * SQLite's document "Database File Format", sections 1.6 and 2.1.
 *
 * Only simple content is decoded.  Anything else (a value that is no integer, a
 * record that does not fit its page, any error) ends it, and the caller
 * continues with a query after the last row.  So nothing is decided here, and
 * damage that a query would find is not missed.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_DB_PAGES_H
#define ROLLCALL_EXTRACT_INPUT_DB_PAGES_H

#include "extract/input/profiler_db.h"

#define DB_ROW_COLUMNS 16u

/* A row. value[] is as from sqlite3_column_int64. */
struct db_row {
    int64_t value[DB_ROW_COLUMNS];
    uint32_t integers;          // set of 1 << column: the value is an integer
    uint32_t numbers;           // likewise: a number, or a text of digits
};

struct db_pages;

/* Read the columns 'names' of a table.  have[i] tells whether it has that
 * column; otherwise its values are NULL.  'ordered': in the order of the first
 * column, which must be the key of the table.  NULL: use a query instead.
 */
struct db_pages *db_pages_open (struct profiler_db *db, const char *table,
                                const char *const *names, const bool *have,
                                unsigned n, bool ordered);
void db_pages_close (struct db_pages *p);       // p may be NULL

/* Read the next row: 1; 0 after the last one; -1: continue with a query. */
int db_pages_next (struct db_pages *p, struct db_row *row);

#endif
