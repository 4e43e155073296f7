/* aggregator/sums/sums.h - sums of doubles as other tools compute them
 *
 * The totals of cluster_analysis.db equal those of these tools to the last bit.
 *
 * This folder: rows of a result summed in memory, members of groups, traffic.
 */
#ifndef ROLLCALL_SUMS_SUMS_H
#define ROLLCALL_SUMS_SUMS_H

#include <stdbool.h>
#include <stddef.h>

/* A running sum with Kahan's compensation; all zero is empty. */
struct sum {
    double value, lost;
    bool known;                 // something was added
};

void sum_add (struct sum *s, double x);

/* Pairwise, by eight in turn in blocks of up to 128: numpy's order. */
double sums_pairwise (const double *x, size_t n);

double sums_round4 (double x);  // to 4 decimals

/* part / (part + rest) to 4 decimals; 0 for a divisor of 0. */
double sums_ratio (double part, double rest);

/* MB / ms, in GB/s; 0 if nothing took time. */
double sums_rate (double mb, double ms);

#endif
