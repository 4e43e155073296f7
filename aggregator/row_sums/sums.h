/* aggregator/row_sums/sums.h - sums of doubles as other tools compute them
 *
 * The totals of cluster_analysis.db must equal those of these tools to the last
 * bit.
 */
#ifndef ROLLCALL_ROW_SUMS_SUMS_H
#define ROLLCALL_ROW_SUMS_SUMS_H

#include <stdbool.h>
#include <stddef.h>

/* A running sum with Kahan's compensation; all zero is an empty sum. */
struct sum {
    double value, lost;
    bool known;                 // something was added
};

void sum_add (struct sum *s, double x);

/* Pairwise sum in numpy's order: blocks of up to 128, eight running sums each.
 */
double sums_pairwise (const double *x, size_t n);

double sums_round4 (double x);  // to 4 decimals

/* part / (part + rest), rounded to 4 decimals; 0 if the divisor is 0. */
double sums_ratio (double part, double rest);

/* MB / ms, in GB/s; 0 if the time is 0. */
double sums_rate (double mb, double ms);

#endif
