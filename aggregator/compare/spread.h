/* aggregator/compare/spread.h - medians, and how far they can be trusted
 *
 * Robust: a step that took ten times as long changes nothing of this.  How the
 * formulas come about is told in rollcall-compare(1).
 */
#ifndef ROLLCALL_COMPARE_SPREAD_H
#define ROLLCALL_COMPARE_SPREAD_H

#include <stddef.h>

/* Fewer values do not say how far they spread. */
#define SPREAD_LEAST 3

struct spread {
    size_t n;
    double median;
    double sigma;               // how far values are from it
};

/* Sorts the values.  Of none: zeros. */
double spread_median (double *values, size_t n);

/* Of finite values, whose order is lost, and whose content becomes that of the
 * distances from the median.
 */
struct spread spread_of (double *values, size_t n);

/* The standard error of the median; 0 with fewer than SPREAD_LEAST values. */
double spread_error (const struct spread *s);

/* How many standard errors a difference of medians of n values in all, in
 * 'groups' groups, must have so that chance alone makes one in a thousand.
 */
double spread_factor (size_t n, size_t groups);

#endif
