/* node_agent/extract/input/db_pages.h - read rows from the pages of a database
 *
 * The large tables of the profiler are read once, in their own order.  A query
 * takes about ten times as long for that as the rest of the work.  So the pages
 * of an ordinary table are decoded here, according to SQLite's document
 * "Database File Format", sections 1.6 and 2.1.
 *
 * Only simple content is decoded.  Anything else (a value of an unexpected
 * type, a record that does not fit its page, any error) ends it, and the caller
 * continues with a query after the last row.  So nothing is decided here, and
 * damage that a query would find is not missed: unlike common/sqlite_pages, which
 * trusts more, this refuses all that SQLite refuses.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_DB_PAGES_H
#define ROLLCALL_EXTRACT_INPUT_DB_PAGES_H

#include "extract/input/profiler_db.h"

#define DB_ROW_COLUMNS 16u

/* A row.  Sets are of 1 << column; a value of no set is NULL. */
struct db_row {
    int64_t value[DB_ROW_COLUMNS];      // as from sqlite3_column_int64
    double real[DB_ROW_COLUMNS];        // of any number; NaN: NULL
    const char *text[DB_ROW_COLUMNS];   // of 'texts'; without a NUL
    uint32_t size[DB_ROW_COLUMNS];
    uint32_t integers, reals, texts;
    uint32_t numbers;           // integers, and texts of digits
};

struct db_pages;

/* Read columns of integers.  have[i] tells whether the table has the column
 * names[i]; otherwise its values are NULL.  'ordered': in the order of the
 * first column, which must be the key of the table.  NULL: use a query instead.
 */
struct db_pages *db_pages_open (struct profiler_db *db, const char *table,
                                const char *const *names, const bool *have,
                                unsigned n, bool ordered);

/* Read columns of numbers, and of texts (a set), of a database that SQLite has
 * not opened.  Columns that the table lacks are NULL.  NULL: use a query
 * instead; also if there is no such table.
 */
struct db_pages *db_pages_plain (struct profiler_db *db, const char *table,
                                 const char *const *names, unsigned n,
                                 uint32_t texts);

/* Which of the columns the table has. */
uint32_t db_pages_columns (const struct db_pages *p);

void db_pages_close (struct db_pages *p);       // p may be NULL

/* Read the next row, which is valid until the next call: 1; 0 after the last
 * one; -1: continue with a query.
 */
int db_pages_next (struct db_pages *p, struct db_row *row);

#endif
