/* aggregator/postgres/copy_rows.h - rows of SQLite into COPY, in binary form
 *
 *   rc = copy_rows_begin (&c, q, "COPY t (job, a) FROM STDIN (FORMAT binary)");
 *   while (rc == 0 && db_step (&r)) {
 *       copy_rows_new (&c, 2);
 *       copy_rows_int (&c, job);
 *       copy_rows_columns (&c, r.st, "t", 1);
 *       rc = copy_rows_flush (&c);
 *   }
 *   rc = copy_rows_end (&c, rc);
 */
#ifndef ROLLCALL_POSTGRES_COPY_ROWS_H
#define ROLLCALL_POSTGRES_COPY_ROWS_H

#include "postgres/copy_queue.h"

#include <sqlite3.h>

struct copy_rows {
    struct copy_queue *q;
    struct buf buf;             // what was not sent yet
    int64_t rows;
};

/* As copy_queue_add, as the others. */
int copy_rows_begin (struct copy_rows *c, struct copy_queue *q,
                     const char *sql);

/* Another writer of the same COPY, in a thread of its own, between its beginning
 * and its end: join, and leave when its rows are there ('rc' as for the end).
 */
void copy_rows_join (struct copy_rows *c, struct copy_queue *q);
int copy_rows_leave (struct copy_rows *c, int rc);

/* Begin a row of so many fields, and add them. */
void copy_rows_new (struct copy_rows *c, size_t fields);
void copy_rows_int (struct copy_rows *c, int64_t v);
void copy_rows_text (struct copy_rows *c, const char *text, size_t size);
void copy_rows_time (struct copy_rows *c, int64_t ns);  // since 1970
void copy_rows_real (struct copy_rows *c, double v);
void copy_rows_null (struct copy_rows *c);

/* The first 'n' columns of the row at which a statement is, each of a type of
 * struct facts_table.  Texts are repaired: PostgreSQL takes only UTF-8 without NULs.
 */
void copy_rows_columns (struct copy_rows *c, sqlite3_stmt *st,
                        const char *types, size_t n);

/* Send the rows if they are many. */
int copy_rows_flush (struct copy_rows *c);

/* Send the rest and end, unless 'rc' is negative, which is returned then: the
 * transaction has to be rolled back.
 */
int copy_rows_end (struct copy_rows *c, int rc);

#endif
