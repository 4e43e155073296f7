/* aggregator/columns/row_values.h - one number for each row of a table
 *
 * In a temporary file that is mapped: the system writes it out if memory is
 * short.  With it numbers that were found op by op are written row by row.
 */
#ifndef ROLLCALL_COLUMNS_ROW_VALUES_H
#define ROLLCALL_COLUMNS_ROW_VALUES_H

#include "base/err.h"

#include <stdint.h>

struct waits {
    double *by_row;             // NULL: there are none
    int64_t rows;
};

/* For rowids 0 to rows - 1; 'path' must not exist.  -ENOSPC, -ENOMEM, ... */
int waits_create (struct waits *w, const char *path, int64_t rows,
                  struct err *err);
void waits_fini (struct waits *w);              // fine for all zero

void waits_set (struct waits *w, int64_t row, double ms);       // 0 or more
double waits_get (const struct waits *w, int64_t row);  // NaN: none was set

#endif
