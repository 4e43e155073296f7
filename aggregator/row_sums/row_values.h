/* aggregator/row_sums/row_values.h - one number for each row of a table
 *
 * The numbers are in a mapped temporary file, which the system writes out if
 * memory is short.  So they can be computed op by op and written row by row.
 */
#ifndef ROLLCALL_ROW_SUMS_ROW_VALUES_H
#define ROLLCALL_ROW_SUMS_ROW_VALUES_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* A run of consecutive rowids. */
struct row_run {
    int64_t rowid, row;         // index of its first row; rows count from 0
};

struct row_values {
    double *by_row;             // NULL: there are none
    int64_t rows, used;
    struct row_run *runs;
    size_t nruns;
};

/* For this many rows; 'path' must not exist.  -ENOSPC, -ENOMEM, ... */
int row_values_create (struct row_values *w, const char *path, int64_t rows,
                       struct err *err);
void row_values_fini (struct row_values *w);    // fine for all zero

/* First add all rowids of the table, each once, in order; -ENOMEM. */
int row_values_add (struct row_values *w, int64_t rowid, struct err *err);

void row_values_set (struct row_values *w, int64_t rowid,
                     double ms);        // 0 or more
double row_values_get (const struct row_values *w,
                       int64_t rowid);  // NaN: not set

#endif
