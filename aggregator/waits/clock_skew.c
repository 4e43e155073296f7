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
};

/* ---- the ends of some ops ---- */

/* The end relative to the first row's start: absolute times would lose
 * precision.
 */
static double end_ms (const struct op_row *a, const struct op_row *first)
{
    return (a->start_us - first->start_us) / US_PER_MS + a->elapse_ms;
}

static int ends_room (struct clock_ends *c, size_t n)
{
    size_t room = c->offsets_room ? 2 * c->offsets_room : 256;
    void *p;

    if (n > c->room) {
        if (!(p = realloc (c->sorted, n * sizeof (*c->sorted))))
            return -ENOMEM;
        c->sorted = p;
        c->room = n;
    }
    if (c->noffsets + n <= c->offsets_room)
        return 0;
    while (room < c->noffsets + n)
        room *= 2;
    if (!(p = realloc (c->offsets, room * sizeof (*c->offsets))))
        return -ENOMEM;
    c->offsets = p;
    c->offsets_room = room;
    return 0;
}

/* Of a rank no more than SAMPLES_MAX offsets count, of one in each op. */
static int note_op (struct clock_ends *c, const struct op_row *a, size_t n)
{
    double middle, *ends = c->ends;

    if (c->nops == ENDS_MAX)
        return 0;
    if (ends_room (c, n) < 0 ||
        !(ends = vec_one_more (ends, c->nops, sizeof (*ends))))
        return -ENOMEM;
    c->ends = ends;
    c->group = a->group;
    for (size_t i = 0; i < n; i++)
        c->sorted[i] = end_ms (&a[i], a);
    middle = stats_median (c->sorted, n);
    for (size_t i = 0; i < n && c->nops < SAMPLES_MAX; i++)
        c->offsets[c->noffsets++] = (struct clock_offset){
            a[i].rank, (uint32_t)n, end_ms (&a[i], a) - middle };
    ends[c->nops++] = c->sorted[n - 1] - c->sorted[0];
    return 0;
}

int clock_ends_add (struct clock_ends *c, const struct op_row *a, size_t n,
                    struct err *err)
{
    if (n < 2)
        return 0;
    return note_op (c, a, n) < 0
               ? err_set (err, ENOMEM, "no memory for clocks") : 0;
}

void clock_ends_clear (struct clock_ends *c)
{
    free (c->ends);             // it grows from nothing
    c->ends = NULL;
    c->nops = c->noffsets = 0;
}

void clock_ends_fini (struct clock_ends *c)
{
    free (c->offsets);
    free (c->ends);
    free (c->sorted);
}

/* ---- the clocks ---- */

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

int clock_skew_add (struct clock_skew *s, const struct clock_ends *c,
                    struct err *err)
{
    int rc = c->nops > 0 ? reach_group (s, c->group) : 0;

    if (rc == 0 && c->nops > 0)
        s->groups[c->group] = true;
    for (size_t i = 0; i < c->nops && rc == 0; i++)
        rc = note (&s->ends, c->ends[i], ENDS_MAX);
    for (size_t i = 0; i < c->noffsets && rc == 0; i++) {
        const struct clock_offset *o = &c->offsets[i];

        rc = reach_rank (s, o->rank);
        if (rc == 0)
            rc = note_rank (&s->ranks[o->rank], o->size, o->ms);
    }
    return rc < 0 ? err_set (err, ENOMEM, "no memory for clocks") : 0;
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
