/* common/base/stats.h - statistics of a list of numbers */
#ifndef ROLLCALL_BASE_STATS_H
#define ROLLCALL_BASE_STATS_H

#include <stddef.h>

/* The median (the mean of two middle values).  Sorts the values, which must not
 * be NaN.  Without values: NaN.
 */
double stats_median (double *values, size_t n);

#endif
