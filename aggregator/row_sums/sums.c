/* aggregator/row_sums/sums.c - add many doubles in the order of users' tools */
#include "row_sums/sums.h"

#include "base/units.h"

#include <math.h>

#define BLOCK 128               // values that are added without halving
#define LANES 8

void sum_add (struct sum *s, double x)
{
    double y = x - s->lost, t = s->value + y;

    s->lost = t - s->value - y;
    s->value = t;
    s->known = true;
}

static double add_block (const double *x, size_t n)
{
    double r[LANES], all = 0;
    size_t i;

    if (n < LANES) {
        for (i = 0; i < n; i++)
            all += x[i];
        return all;
    }
    for (i = 0; i < LANES; i++)
        r[i] = x[i];
    for (; i < n - n % LANES; i++)
        r[i % LANES] += x[i];
    all = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++)
        all += x[i];
    return all;
}

double sums_pairwise (const double *x, size_t n)
{
    size_t half = n / 2;

    if (n <= BLOCK)
        return add_block (x, n);
    half -= half % LANES;
    return sums_pairwise (x, half) + sums_pairwise (x + half, n - half);
}

/* As units_round4, which takes ten times as long to get ties right. */
double sums_round4 (double x)
{
    double scaled = x * 1e4, whole = nearbyint (scaled);

    return fabs (scaled) < 1e9 && fabs (scaled - whole) < 0.4999
               ? whole / 1e4 : units_round4 (x);
}

double sums_ratio (double part, double rest)
{
    double all = part + rest;

    return all != 0 && isfinite (part / all) ? sums_round4 (part / all) : 0;
}

double sums_rate (double mb, double ms)
{
    return ms != 0 && isfinite (mb / ms) ? mb / ms : 0;
}
