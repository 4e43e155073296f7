/* node_agent/extract/input/db_pages.h - read rows of integers from a database's
 * pages
 *
 * Large tables of the profiler are integers, and are read once, in their own
 * order: a query takes some ten times as long for that as there is to do.  So
 * the pages of an ordinary table are decoded here, as SQLite's document
 * "Database File Format" has them, sections 1.6 and 2.1.
 *
 * Only what is plain is taken: whatever else comes (a value that is no integer,
 * a record that does not fit its page, anything that is wrong) ends it, and a
 * query has to go on behind the rows that were given.  So nothing is decided
 * here, and no damage is missed that a query would find.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_DB_PAGES_H
#define ROLLCALL_EXTRACT_INPUT_DB_PAGES_H

#include "extract/input/profiler_db.h"

#define DB_ROW_COLUMNS 16u

/* A row: what each value is as an integer, as sqlite3_column_int64 has it. */
struct db_row {
    int64_t value[DB_ROW_COLUMNS];
    uint32_t integers;          // 1 << column: it is one
    uint32_t numbers;           // it is a number, or a text of digits
};

struct db_pages;

/* The columns 'names' of a table; have[i] says whether there is such a one, and
 * its values are NULL without.  'ordered': by the first of them, which must be
 * the table's key.  NULL where it must be left to a query.
 */
struct db_pages *db_pages_open (struct profiler_db *db, const char *table,
                                const char *const *names, const bool *have,
                                unsigned n, bool ordered);
void db_pages_close (struct db_pages *p);       // p may be NULL

/* 1 with the next row, 0 behind the last one, -1 when a query must go on. */
int db_pages_next (struct db_pages *p, struct db_row *row);

#endif
