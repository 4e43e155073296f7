/* common/base/stats.h - what a list of numbers comes to */
#ifndef ROLLCALL_BASE_STATS_H
#define ROLLCALL_BASE_STATS_H

#include <stddef.h>

/* The median, which of two in the middle is their mean.  Sorts the values, none
 * of which may be NaN.  Of none: NaN.
 */
double stats_median (double *values, size_t n);

#endif
