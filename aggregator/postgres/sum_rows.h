/* aggregator/postgres/sum_rows.h - rows of a table, summed by their keys
 *
 * As GROUP BY does, in a fifth of its time: rows are read from the pages of the
 * table, found by a hash, and not sorted.
 */
#ifndef ROLLCALL_POSTGRES_SUM_ROWS_H
#define ROLLCALL_POSTGRES_SUM_ROWS_H

#include "base/texts.h"
#include "postgres/copy_rows.h"
#include "postgres/facts.h"

/* A zeroed struct is empty. */
struct sum_rows {
    struct texts keys;          // each as fields of COPY
    double *sums;               // of each key; NaN: all are NULL
};

/* Sum the rows of 't->summed', a table in the file of this connection, which has no
 * transaction.  -ENOMEM, or as in sqlite_pages/page_scan.h.
 */
int sum_rows_read (struct sum_rows *s, sqlite3 *db, const struct facts_table *t,
                   struct err *err);
void sum_rows_fini (struct sum_rows *s);

/* How many rows there are now, in the order of their first ones; append the fields
 * of one; and append the sums of a key that is a number, or NULLs.
 */
size_t sum_rows_count (const struct sum_rows *s);
void sum_rows_put (const struct sum_rows *s, const struct facts_table *t,
                   size_t row, struct copy_rows *to);
void sum_rows_put_of (const struct sum_rows *s, const struct facts_table *t,
                      int64_t key, struct copy_rows *to);

#endif
