/* aggregator/waits/clock_skew.c - estimate the offsets of the ranks' clocks */
#include "waits/clock_skew.h"

#include "base/stats.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US_PER_MS 1000.0
#define SAMPLES_MAX 256         // of one rank: 2 KiB, for a median
#define ENDS_MAX 65536          // ops

struct samples {
    double *values;
    uint32_t n;
    size_t group_size;          // of a rank: all its samples have this size
    double median;
    bool right;                 // of a rank: its offset was given
    double residue;
};

struct clock_skew {
    struct samples *ranks;
    uint32_t nranks;
    struct samples ends;
    bool *groups;               // by id: groups whose clocks were compared
    uint32_t ngroups;
    double *sorted;             // ends of one op
    size_t room;
};

struct clock_skew *clock_skew_create (void)
{
    return calloc (1, sizeof (struct clock_skew));
}

void clock_skew_destroy (struct clock_skew *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->nranks; i++)
        free (s->ranks[i].values);
    free (s->ranks);
    free (s->ends.values);
    free (s->groups);
    free (s->sorted);
    free (s);
}

/* Grow an array of *n elements so that it has element [i]; the new ones are
 * zero.  NULL without memory; then 'old' is still valid.
 */
static void *reach (void *old, uint32_t *n, uint32_t i, size_t size)
{
    uint32_t more = *n ? *n : 64;
    char *p;

    if (i < *n)
        return old;
    while (more <= i)
        more *= 2;
    if (!(p = realloc (old, more * size)))
        return NULL;
    memset (p + *n * size, 0, (more - *n) * size);
    *n = more;
    return p;
}

static int reach_rank (struct clock_skew *s, uint32_t rank)
{
    struct samples *p = reach (s->ranks, &s->nranks, rank, sizeof (*p));

    s->ranks = p ? p : s->ranks;
    return p ? 0 : -ENOMEM;
}

static int reach_group (struct clock_skew *s, uint32_t group)
{
    bool *p = reach (s->groups, &s->ngroups, group, sizeof (*p));

    s->groups = p ? p : s->groups;
    return p ? 0 : -ENOMEM;
}

static int note (struct samples *s, double value, uint32_t most)
{
    double *values;

    if (s->n == most)
        return 0;
    if (!(values = vec_one_more (s->values, s->n, sizeof (*values))))
        return -ENOMEM;
    s->values = values;
    s->values[s->n++] = value;
    return 0;
}

/* The end relative to the first row's start: absolute times would lose
 * precision.
 */
static double end_ms (const struct arrival *a, const struct arrival *first)
{
    return (a->start_us - first->start_us) / US_PER_MS + a->elapse_ms;
}

/* In a group of two, both ranks are equally far from the middle.  A larger
 * group shows better which clock is off, so only the largest groups count.
 */
static int note_rank (struct samples *s, size_t group_size, double offset)
{
    if (group_size < s->group_size)
        return 0;
    if (group_size > s->group_size) {
        s->group_size = group_size;
        s->n = 0;
    }
    return note (s, offset, SAMPLES_MAX);
}

static int note_op (struct clock_skew *s, const struct arrival *a, size_t n)
{
    double middle;

    if (n > s->room) {
        double *sorted = realloc (s->sorted, n * sizeof (*sorted));

        if (!sorted)
            return -ENOMEM;
        s->sorted = sorted;
        s->room = n;
    }
    for (size_t i = 0; i < n; i++)
        s->sorted[i] = end_ms (&a[i], a);
    middle = stats_median (s->sorted, n);
    if (reach_group (s, a->group) < 0 ||
        note (&s->ends, s->sorted[n - 1] - s->sorted[0], ENDS_MAX) < 0)
        return -ENOMEM;
    s->groups[a->group] = true;
    for (size_t i = 0; i < n; i++) {
        if (reach_rank (s, a[i].rank) < 0 ||
            note_rank (&s->ranks[a[i].rank], n, end_ms (&a[i], a) - middle) < 0)
            return -ENOMEM;
    }
    return 0;
}

int clock_skew_add (struct clock_skew *s, const struct arrival *a, size_t n,
                    struct err *err)
{
    if (n < 2)
        return 0;
    return note_op (s, a, n) < 0
               ? err_set (err, ENOMEM, "no memory for clocks") : 0;
}

int clock_skew_put_right (struct clock_skew *s, uint32_t rank, double offset_ms,
                          double residue_ms, struct err *err)
{
    if (reach_rank (s, rank) < 0)
        return err_set (err, ENOMEM, "no memory for clocks");
    s->ranks[rank].right = true;
    s->ranks[rank].median = offset_ms;
    s->ranks[rank].residue = residue_ms;
    return 0;
}

void clock_skew_settle (struct clock_skew *s)
{
    for (uint32_t i = 0; i < s->nranks; i++) {
        if (!s->ranks[i].right)
            s->ranks[i].median = stats_median (s->ranks[i].values,
                                               s->ranks[i].n);
    }
    s->ends.median = stats_median (s->ends.values, s->ends.n);
}

double clock_skew_of (const struct clock_skew *s, uint32_t rank)
{
    return rank < s->nranks ? s->ranks[rank].median : NAN;
}

double clock_skew_residue (const struct clock_skew *s, uint32_t rank)
{
    return rank < s->nranks && s->ranks[rank].right ? s->ranks[rank].residue
                                                    : NAN;
}

double clock_skew_between (const struct clock_skew *s, uint32_t group,
                           uint32_t a,
                           uint32_t b)
{
    if (group >= s->ngroups || !s->groups[group])
        return NAN;
    if (!isnan (clock_skew_residue (s, a)) &&
        !isnan (clock_skew_residue (s, b)))
        return fmax (clock_skew_residue (s, a), clock_skew_residue (s, b));
    return fabs (clock_skew_of (s, a) - clock_skew_of (s, b));
}

double clock_skew_of_ends (const struct clock_skew *s)
{
    return s->ends.median;
}
