/* common/base/stats.c - statistics of a list of numbers */
#include "base/stats.h"

#include "base/cmp.h"

#include <math.h>
#include <stdlib.h>

double stats_median (double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort (values, n, sizeof (*values), cmp_double);
    // halve first, since the sum of two large values overflows
    return n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2;
}
