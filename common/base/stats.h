/* common/base/stats.h - statistics of a list of numbers */
#ifndef ROLLCALL_BASE_STATS_H
#define ROLLCALL_BASE_STATS_H

#include <stddef.h>

/* The median: the middle value, or the mean of the two middle values.  Sorts
 * the values, which must not be NaN.  NaN if there are none.
 */
double stats_median (double *values, size_t n);

#endif
