/* aggregator/compare/spread.c - medians and their uncertainty */
#include "compare/spread.h"

#include "base/cmp.h"

#include <math.h>
#include <stdlib.h>

#define SIGMA_OF_MAD 1.4826     // of a normal distribution: sigma / MAD
#define TRIM_LEAST 5             // with fewer values none is left out
#define MEDIAN_ERROR 1.2533     // its median's standard error: sigma / sqrt (n)
#define EFFICIENCY 0.5          // a MAD of n values is only as good as n / 2;
                                // of simulated runs of 3 to 50 steps, 0 to 2
                                // in 1000 are wrongly called different

double spread_median (double *values, size_t n)
{
    if (n == 0)
        return 0;
    qsort (values, n, sizeof (*values), cmp_double);
    // not stats_median: output with all digits must not change
    return n % 2 ? values[n / 2]
                 : values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2;
}

/* A MAD of few values is too small on average.  This is the correction (Croux
 * and Rousseeuw, 1992).
 */
static double correction (size_t n)
{
    static const double of[] = { 0, 0, 1.196, 1.495, 1.363,
                                 1.206, 1.200, 1.140, 1.129, 1.107 };

    return n < sizeof (of) / sizeof (of[0]) ? of[n]
                                            : (double)n / ((double)n - 0.8);
}

/* Leave out the farthest of the sorted distances: a tenth of them, but at least
 * one of five.
 */
static double deviation (const double *distances, size_t n)
{
    size_t m = n < TRIM_LEAST ? n : n - n / 10 - 1;
    double sum = 0;

    for (size_t i = 0; i < m; i++)
        sum += distances[i] * distances[i];
    return m > 1 ? sqrt (sum / (double)(m - 1)) : 0;
}

/* If the values form two clusters, a MAD may see only one of them: use the
 * larger of MAD and deviation.
 */
struct spread spread_of (double *values, size_t n)
{
    struct spread s = { .n = n, .median = spread_median (values, n) };
    double mad;

    for (size_t i = 0; i < n; i++)
        values[i] = fabs (values[i] - s.median);
    mad = spread_median (values, n);
    s.sigma = fmax (SIGMA_OF_MAD * correction (n) * mad,
                    deviation (values, n));
    return s;
}

double spread_error (const struct spread *s)
{
    if (s->n < SPREAD_LEAST)
        return 0;
    return MEDIAN_ERROR * s->sigma / sqrt ((double)s->n);
}

/* Student's t for 0.1 % on both sides; the error is below 7 % from 4 degrees of
 * freedom on.
 */
double spread_factor (size_t n, size_t groups)
{
    double degrees = n > groups ? EFFICIENCY * (double)(n - groups) : 0;

    if (degrees < 1)
        degrees = 1;
    return 3.29 + 8.7 / degrees + 50 / (degrees * degrees);
}
