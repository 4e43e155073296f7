/* aggregator/postgres/sum_rows.h - rows of a table, summed by their keys
 *
 * As GROUP BY does, in a third of its time: rows are found by a hash, and not
 * sorted.
 */
#ifndef ROLLCALL_POSTGRES_SUM_ROWS_H
#define ROLLCALL_POSTGRES_SUM_ROWS_H

#include "base/texts.h"
#include "postgres/copy_rows.h"

struct sum_rows {
    size_t nkeys, nsums;        // columns: first the keys, then what is summed
    struct texts keys;          // each as fields of COPY
    double *sums;               // nsums for each key
    bool *known;                // the same: not all of them are NULL
    size_t cap;                 // keys that there is room for
    struct copy_rows key;       // of the current row
};

void sum_rows_init (struct sum_rows *s, size_t nkeys, size_t nsums);
void sum_rows_fini (struct sum_rows *s);        // s may be zeroed

/* Add the row at which a statement is, of these types (struct facts_table).
 * -ENOMEM.
 */
int sum_rows_add (struct sum_rows *s, sqlite3_stmt *st, const char *types);

/* How many rows there are now, in the order of their first ones; and append
 * the fields of one.
 */
size_t sum_rows_count (const struct sum_rows *s);
void sum_rows_put (const struct sum_rows *s, size_t row, struct copy_rows *to);

#endif
