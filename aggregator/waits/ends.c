/* aggregator/waits/ends.c - whether ops of several ranks end together */
#include "waits/ends.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMON_MIN 2            // a single op fits any clocks
#define DEVICE_PART 0.01
#define DEVICE_MS 0.1
#define HOST_PART 0.1

static int by_op (const void *pa, const void *pb)
{
    const struct end *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->who > b->who) - (a->who < b->who);
}

/* Keep only ops that each rank has exactly once, and put their rows together.
 */
static size_t keep_common (struct end *v, size_t n, uint32_t nranks)
{
    size_t used = 0;

    qsort (v, n, sizeof (*v), by_op);
    for (size_t i = 0, next; i < n; i = next) {
        bool whole = true;

        for (next = i; next < n && v[next].key == v[i].key; next++)
            whole = whole && v[next].who == next - i;
        if (whole && next - i == nranks) {
            memmove (&v[used], &v[i], nranks * sizeof (*v));
            used += nranks;
        }
    }
    return used / nranks;
}

/* The values of one rank for all ops are adjacent. */
struct work {
    double *values, *scratch;
    size_t nops;
    uint32_t nranks;
};

static void find_offsets (const struct end *v, struct work *w, double *offset)
{
    for (size_t op = 0; op < w->nops; op++) {
        const struct end *e = &v[op * w->nranks];
        double middle;

        for (uint32_t r = 0; r < w->nranks; r++)
            w->scratch[r] = e[r].end_ms;
        middle = stats_median (w->scratch, w->nranks);
        for (uint32_t r = 0; r < w->nranks; r++)
            w->values[r * w->nops + op] = e[r].end_ms - middle;
    }
    for (uint32_t r = 0; r < w->nranks; r++) {
        memcpy (w->scratch, &w->values[r * w->nops],
                w->nops * sizeof (double));
        offset[r] = stats_median (w->scratch, w->nops);
    }
}

static void find_residues (struct work *w, bool device, const double *offset,
                           double *residue, struct ends *ret)
{
    for (uint32_t r = 0; r < w->nranks; r++) {
        double most = 0;

        for (size_t op = 0; op < w->nops; op++) {
            double off = fabs (w->values[r * w->nops + op] - offset[r]);

            w->scratch[op] = off;
            most = off > most ? off : most;
        }
        residue[r] = stats_median (w->scratch, w->nops);
        if (!device)
            most = residue[r];
        ret->off_ms = most > ret->off_ms ? most : ret->off_ms;
    }
}

/* Find how long ops take, and count ops that a rank ended before the last rank
 * had arrived: a real group has none.
 */
static void find_times (const struct end *v, struct work *w, bool device,
                        const double *offset, struct ends *ret)
{
    size_t n = w->nops * w->nranks;
    double allowed;

    for (size_t i = 0; i < n; i++)
        w->scratch[i] = v[i].end_ms - v[i].start_ms;
    ret->median_ms = stats_median (w->scratch, n);
    allowed = ends_tolerance_ms (ret, device);
    for (size_t op = 0; op < w->nops; op++) {
        const struct end *e = &v[op * w->nranks];
        double last = -INFINITY, first = INFINITY;

        for (uint32_t r = 0; r < w->nranks; r++) {
            last = fmax (last, e[r].start_ms - offset[r]);
            first = fmin (first, e[r].end_ms - offset[r]);
        }
        ret->early += first + allowed < last;
    }
}

bool ends_compare (struct end *v, size_t n, uint32_t nranks, bool device,
                   double *offset_ms, double *residue_ms, struct ends *ret)
{
    struct work w = { .nranks = nranks };

    *ret = (struct ends){ .common = keep_common (v, n, nranks) };
    w.nops = ret->common;
    if (w.nops == 0)
        return true;
    w.values = malloc (w.nops * nranks * sizeof (double));
    w.scratch = malloc (w.nops * nranks * sizeof (double));
    if (w.values && w.scratch) {
        find_offsets (v, &w, offset_ms);
        find_residues (&w, device, offset_ms, residue_ms, ret);
        find_times (v, &w, device, offset_ms, ret);
    }
    n = w.values && w.scratch;
    free (w.values);
    free (w.scratch);
    return n;
}

double ends_tolerance_ms (const struct ends *e, bool device)
{
    if (!device)
        return HOST_PART * e->median_ms;
    return fmax (DEVICE_PART * e->median_ms, DEVICE_MS);
}

/* A host sometimes notices late that an op has ended. */
bool ends_agree (const struct ends *e, bool device)
{
    size_t early = device ? 0 : e->common / 10;

    return e->common >= COMMON_MIN && e->early <= early &&
           e->off_ms <= ends_tolerance_ms (e, device);
}
