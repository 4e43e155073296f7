/* aggregator/row_sums/rank_rows.h - the range of a rank's rows in a table
 *
 * Captures are loaded by rank, so the rows of a rank are adjacent.  A statement
 * per rank then sorts few rows and needs little memory.
 */
#ifndef ROLLCALL_ROW_SUMS_RANK_ROWS_H
#define ROLLCALL_ROW_SUMS_RANK_ROWS_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

struct rank_rows {
    int64_t rank, first, last;  // rowids; other ranks may have rows between
};

/* Call 'fn' for each rank that has rows in a table ("a.CommAnalyzerTime"), in
 * ascending order, until it does not return 0.  Fast if the table has an index
 * on rank.
 */
int rank_rows_each (sqlite3 *db, const char *table,
                    int (*fn) (void *arg, const struct rank_rows *rows,
                               struct err *err),
                    void *arg, struct err *err);

#endif
