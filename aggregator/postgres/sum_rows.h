/* aggregator/postgres/sum_rows.h - rows of a table, summed by their keys
 *
 * As GROUP BY does, in a tenth of its time: rows are read from the pages of the
 * table, found by a hash, and not sorted.
 */
#ifndef ROLLCALL_POSTGRES_SUM_ROWS_H
#define ROLLCALL_POSTGRES_SUM_ROWS_H

#include "base/texts.h"
#include "postgres/copy_rows.h"

#define SUM_KEYS_MAX 4u         // columns

/* Which columns of the table are keys, and behind them which are sums, and the type
 * of each, as in struct facts_table.
 */
struct sum_columns {
    const unsigned char *at;
    const char *key_types, *sum_types;
    size_t keys, sums;
};

/* A zeroed struct is empty. */
struct sum_rows {
    struct sum_columns of;
    struct map map;             // records: a struct sum_key without the words that
                                // it has not, then sums; NaN: all are NULL
    struct texts texts;         // of keys
    uint32_t last[SUM_KEYS_MAX];        // the last text of each column
};

/* Sum the rows of the table with this root.  The columns are borrowed.  -ENOMEM, or
 * as in sqlite_pages/page_scan.h.
 */
int sum_rows_read (struct sum_rows *s, const struct page_source *pages,
                   uint32_t root, struct sum_columns of, struct err *err);
void sum_rows_fini (struct sum_rows *s);

/* How many rows there are now, in the order of their first ones; append the fields
 * of one; and append the sums of a key that is one number, or NULLs.
 */
size_t sum_rows_count (const struct sum_rows *s);
void sum_rows_put (const struct sum_rows *s, size_t row, struct copy_rows *to);
void sum_rows_put_of (const struct sum_rows *s, int64_t key,
                      struct copy_rows *to);

#endif
