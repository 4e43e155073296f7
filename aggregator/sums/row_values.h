/* aggregator/sums/row_values.h - one number for each row of a table
 *
 * In a mapped temporary file, which the system writes out if memory is short.
 * So numbers computed op by op can be written row by row.
 */
#ifndef ROLLCALL_SUMS_ROW_VALUES_H
#define ROLLCALL_SUMS_ROW_VALUES_H

#include "base/err.h"

#include <stdint.h>

struct row_values {
    double *by_row;             // NULL: there are none
    int64_t rows;
};

/* For rowids 0 to rows - 1; 'path' must not exist.  -ENOSPC, -ENOMEM, ... */
int row_values_create (struct row_values *w, const char *path, int64_t rows,
                       struct err *err);
void row_values_fini (struct row_values *w);    // fine for all zero

void row_values_set (struct row_values *w, int64_t row, double ms); // 0 or more
double row_values_get (const struct row_values *w,
                       int64_t row); // NaN: none was set

#endif
