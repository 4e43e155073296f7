/* common/base/stats.c - what a list of numbers comes to */
#include "base/stats.h"

#include "base/cmp.h"

#include <math.h>
#include <stdlib.h>

double stats_median (double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort (values, n, sizeof (*values), cmp_double);
    // halves first: the sum of two large ones is no number
    return n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2;
}
