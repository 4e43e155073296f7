/* aggregator/postgres/copy_rows.h - rows of SQLite into COPY, in binary form
 *
 *   rc = copy_begin (&copy, pg, "COPY t (job, a) FROM STDIN (FORMAT binary)", err);
 *   copy_rows_init (&c, &copy);        // in each thread that reads rows
 *   while (rc == 0 && db_step (&r)) {
 *       copy_rows_new (&c, 2);
 *       copy_rows_int (&c, job);
 *       copy_rows_columns (&c, r.st, "t", 1);
 *       rc = copy_rows_flush (&c, err);
 *   }
 *   rc = copy_rows_fini (&c, rc, err);
 *   rc = copy_end (&copy, rc, err);
 */
#ifndef ROLLCALL_POSTGRES_COPY_ROWS_H
#define ROLLCALL_POSTGRES_COPY_ROWS_H

#include "postgres/postgres.h"

#include <pthread.h>
#include <sqlite3.h>

/* A COPY, into which several threads put rows: one sends, while others read. */
struct copy {
    struct pg *p;
    pthread_mutex_t lock;       // of the connection
};

/* Begin it, and end it unless 'rc' is negative, which is returned then: the
 * transaction has to be rolled back.  As pg_copy_begin.
 */
int copy_begin (struct copy *c, struct pg *p, const char *sql, struct err *err);
int copy_end (struct copy *c, int rc, struct err *err);

/* Rows of one thread. */
struct copy_rows {
    struct copy *to;
    struct buf buf;             // what was not sent yet
    int64_t rows;
};

void copy_rows_init (struct copy_rows *c, struct copy *to);

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

/* Send the rows if they are many; or the rest of them, unless 'rc' is negative,
 * which is returned then.  As pg_copy_put; -ENOMEM.
 */
int copy_rows_flush (struct copy_rows *c, struct err *err);
int copy_rows_fini (struct copy_rows *c, int rc, struct err *err);

#endif
