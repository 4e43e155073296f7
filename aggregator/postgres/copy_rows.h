/* aggregator/postgres/copy_rows.h - rows of SQLite into COPY, in binary form:
 * of its statements, or of its pages
 *
 *   rc = pg_copy_begin (pg, "COPY t FROM STDIN (FORMAT binary)", err);
 *   copy_rows_begin (&c, pg);
 *   while (rc == 0 && db_step (&r)) {
 *       copy_rows_new (&c, 2);
 *       copy_rows_int (&c, job);
 *       copy_rows_columns (&c, r.st, "t", 1);
 *       rc = copy_rows_flush (&c, err);
 *   }
 *   rc = copy_rows_end (&c, rc, err);
 */
#ifndef ROLLCALL_POSTGRES_COPY_ROWS_H
#define ROLLCALL_POSTGRES_COPY_ROWS_H

#include "postgres/postgres.h"
#include "sqlite_pages/page_scan.h"

#include <sqlite3.h>

struct copy_rows {
    struct pg *to;
    struct buf buf;             // what was not sent yet
    int64_t rows;
};

/* Begin the rows of a table, whose COPY has begun. */
void copy_rows_begin (struct copy_rows *c, struct pg *p);

/* Begin a row of so many fields, and add them. */
void copy_rows_new (struct copy_rows *c, size_t fields);
void copy_rows_int (struct copy_rows *c, int64_t v);
void copy_rows_text (struct copy_rows *c, const char *text, size_t size);
void copy_rows_time (struct copy_rows *c, int64_t ns);  // since 1970
void copy_rows_real (struct copy_rows *c, double v);    // NaN: NULL
void copy_rows_null (struct copy_rows *c);

/* The first 'n' columns of the row at which a statement is, each of a type of
 * struct facts_table.  Texts are repaired: PostgreSQL takes only UTF-8 without NULs.
 */
void copy_rows_columns (struct copy_rows *c, sqlite3_stmt *st,
                        const char *types, size_t n);

/* The same of a row of a table's pages: the columns 'at', of which COPY_ROWID is
 * the rowid.  What is not of its column's type is NULL, but an integer is also a
 * number.
 */
#define COPY_ROWID 0xff
void copy_rows_page (struct copy_rows *c, const struct page_scan *row,
                     const unsigned char *at, const char *types, size_t n);

/* Begin a row with what another buffer has: the number of its fields, as 'new'
 * says it, and the first ones of them.
 */
void copy_rows_again (struct copy_rows *c, const struct buf *begins);

/* Send the rows, if they are many.  As pg_copy_put; -ENOMEM. */
int copy_rows_flush (struct copy_rows *c, struct err *err);

/* Send the rest, and end it; if 'rc' is negative, it is returned, and the
 * transaction has to be rolled back.  As pg_copy_end; -ENOMEM.
 */
int copy_rows_end (struct copy_rows *c, int rc, struct err *err);

#endif
