/* aggregator/query/grid.h - rows and columns: for people, as CSV, as JSON
 *
 *     struct grid *g = grid_create (stdout, GRID_TABLE, 80);
 *     grid_head (g, names, n);
 *     grid_int (g, 3);            // n cells for each row
 *     ...
 *     rc = grid_finish (g);
 *     grid_destroy (g);
 *
 * Rows go out as they come; memory does not grow with them.  After a failure
 * all calls do nothing, and grid_finish tells.
 */
#ifndef ROLLCALL_QUERY_GRID_H
#define ROLLCALL_QUERY_GRID_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A table buffers this many rows or bytes before it fixes its column widths. */
#define GRID_LOOK_AHEAD_ROWS 1000
#define GRID_LOOK_AHEAD_BYTES (1u << 20)

/* GRID_CSV is for spreadsheets (quote_csv); GRID_RAW_CSV leaves texts as they
 * are.  On a terminal, both escape control characters as tables do.
 */
enum grid_format { GRID_TABLE, GRID_CSV, GRID_RAW_CSV, GRID_JSON };

struct grid;

/* 'f' is borrowed.  'width' is the number of screen columns that a table may
 * use; texts are wrapped to fit, numbers are not.  0: as many as needed.
 * Returns NULL without memory.
 */
struct grid *grid_create (FILE *f, enum grid_format format, size_t width);
void grid_destroy (struct grid *g);     // g may be NULL

/* Set the column names, once, before any cell.  JSON needs unique keys: the
 * second "rank" becomes "rank_2".  A table whose names are all "" has no head.
 */
void grid_head (struct grid *g, const char *const *names, unsigned n);

/* Append the next cell.  Numbers are exact in CSV and JSON, and have 15 digits
 * in a table.  NULL is "-" in a table, empty in CSV, and null in JSON.
 */
void grid_null (struct grid *g);
void grid_int (struct grid *g, int64_t v);
void grid_real (struct grid *g, double v);
void grid_fixed (struct grid *g, double v, int decimals);       // in a table
void grid_text (struct grid *g, const char *s, size_t n);
void grid_word (struct grid *g, const char *s);         // NULL is NULL
void grid_blob (struct grid *g, const void *data, size_t n);

/* Print a line below the last row, in tables only. */
void grid_line (struct grid *g, const char *text);

/* After the head: do not divide the texts of column 'i' of a table, even if
 * lines get longer than its width.
 */
void grid_keep_whole (struct grid *g, unsigned i);

/* Finish the output.  0, -ENOMEM or -EIO.  A table without rows says why, if
 * 'why' is not NULL.
 */
int grid_finish_why (struct grid *g, const char *why);
int grid_finish (struct grid *g);

#endif
