/* aggregator/compare/spread.h - medians and their standard errors
 *
 * They are robust: one step that takes ten times as long has no effect.
 * rollcall-compare(1) explains the formulas.
 */
#ifndef ROLLCALL_COMPARE_SPREAD_H
#define ROLLCALL_COMPARE_SPREAD_H

#include <stddef.h>

/* Fewer values have no spread. */
#define SPREAD_LEAST 3

struct spread {
    size_t n;
    double median;
    double sigma;               // the spread around it
};

/* Sorts the values.  Returns zeros if n is 0. */
double spread_median (double *values, size_t n);

/* For finite values; overwrites them with their distances from the median. */
struct spread spread_of (double *values, size_t n);

/* The standard error of the median; 0 with fewer than SPREAD_LEAST values. */
double spread_error (const struct spread *s);

/* How many standard errors a difference between two medians of n values, in
 * 'groups' groups, must have so that chance causes it once in a thousand.
 */
double spread_factor (size_t n, size_t groups);

#endif
