/* tests/bench/bench_rows.h - rows in memory, and the fastest way into SQLite
 *
 * What bench_floors measures inserting with: a slice of one table's rows,
 * column by column, behind a virtual table that does nothing but hand them
 * out.  It shares no code with what it is the yardstick of.
 */
#ifndef ROLLCALL_BENCH_ROWS_H
#define ROLLCALL_BENCH_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define ROWS_COLUMNS_MAX 16
#define ROWS_SLICE 4096         // rows: what stays in a core's cache

struct rows {
    char ddl[1024];             // CREATE TABLE of the table
    int ncolumns, nrows;
    bool ended;                 // the SELECT has no more rows
    unsigned char *type[ROWS_COLUMNS_MAX];      // SQLITE_TEXT and so on
    sqlite3_int64 *number[ROWS_COLUMNS_MAX];    // or the text's place
    double *real[ROWS_COLUMNS_MAX];
    int *size[ROWS_COLUMNS_MAX];
    char *text;
    size_t text_used, text_max;
};

/* False without memory. */
bool rows_init (struct rows *r, const char *ddl, int ncolumns);
void rows_fini (struct rows *r);

/* Step the SELECT until the slice is full; false if there was no row. */
bool rows_take (struct rows *r, sqlite3_stmt *select);

/* Register the virtual table "slice"; 'r' must outlive the connection. */
int rows_register (sqlite3 *db, struct rows *r);

#endif
