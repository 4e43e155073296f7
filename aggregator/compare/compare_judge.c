/* aggregator/compare/compare_judge.c - decide whether a difference exceeds
 * noise
 */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>

#define OUTLIER_FACTOR 0.1      // more per e-fold of ranks: among many ranks,
                                // one is far off by chance

/* A rank that is present in both runs. */
struct pair {
    const struct compare_rank *a, *b;
};

/* Collect the ranks that both runs have; both lists are sorted. */
static size_t match (const struct compare_metric *m, struct pair *out)
{
    const struct compare_series *a = &m->runs[0], *b = &m->runs[1];
    size_t n = 0;

    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->ranks[i].rank == b->ranks[k].rank)
            out[n++] = (struct pair){ &a->ranks[i++], &b->ranks[k++] };
        else if (a->ranks[i].rank < b->ranks[k].rank)
            i++;
        else
            k++;
    }
    return n;
}

/* The medians over ranks of the values that 'get' returns. */
static double over_ranks (const struct pair *pairs, size_t n, double *room,
                          double (*get) (const struct pair *p))
{
    for (size_t i = 0; i < n; i++)
        room[i] = get (&pairs[i]);
    return spread_median (room, n);
}

static double median_a (const struct pair *p)
{
    return p->a->s.median;
}

static double median_b (const struct pair *p)
{
    return p->b->s.median;
}

static double error_a (const struct pair *p)
{
    return spread_error (&p->a->s);
}

static double error_b (const struct pair *p)
{
    return spread_error (&p->b->s);
}

static double count (const struct pair *p)
{
    return (double)(p->a->s.n < p->b->s.n ? p->a->s.n : p->b->s.n);
}

static enum compare_verdict direction (const struct compare_metric *m)
{
    if (m->better == 0)
        return COMPARE_CHANGED;
    return (m->difference > 0) == (m->better > 0) ? COMPARE_BETTER
                                                  : COMPARE_WORSE;
}

static double share_error_a (const struct pair *p)
{
    return spread_error (&p->a->share);
}

static double share_error_b (const struct pair *p)
{
    return spread_error (&p->b->share);
}

static double share_change (const struct pair *p)
{
    return p->b->share.median - p->a->share.median;
}

/* Record a rank that is far off; the list is sorted by distance. */
static void add_outlier (struct compare_metric *m, const struct pair *p,
                         double off, double far[COMPARE_RANKS_SHOWN])
{
    size_t k = m->noutliers < COMPARE_RANKS_SHOWN ? m->noutliers
                                                  : COMPARE_RANKS_SHOWN;

    m->noutliers++;
    for (; k > 0 && far[k - 1] < off; k--) {
        if (k == COMPARE_RANKS_SHOWN)
            continue;
        far[k] = far[k - 1];
        m->outliers[k] = m->outliers[k - 1];
    }
    if (k == COMPARE_RANKS_SHOWN)
        return;
    far[k] = off;
    m->outliers[k] = (struct compare_outlier){ p->a->rank, median_a (p),
                                               median_b (p) };
}

/* Find ranks whose share of a step changed.  A long step is long for all ranks,
 * so the share tells a slow rank from a long step.
 */
static void find_outliers (struct compare_metric *m, const struct pair *pairs,
                           size_t n, double *room, double factor, double floor)
{
    double all_a = over_ranks (pairs, n, room, share_error_a);
    double all_b = over_ranks (pairs, n, room, share_error_b);
    double usual = over_ranks (pairs, n, room, share_change);
    double many = 1 + OUTLIER_FACTOR * log ((double)n);
    double far[COMPARE_RANKS_SHOWN];

    for (size_t i = 0; i < n; i++) {
        double ea = fmax (share_error_a (&pairs[i]), all_a);
        double eb = fmax (share_error_b (&pairs[i]), all_b);
        double off = fabs (share_change (&pairs[i]) - usual);

        if (pairs[i].a->share.n >= SPREAD_LEAST &&
            pairs[i].b->share.n >= SPREAD_LEAST &&
            off > fmax (many * factor * hypot (ea, eb), floor))
            add_outlier (m, &pairs[i], off, far);
    }
}

static void compare_judge_judge (struct compare_metric *m,
                                 const struct pair *pairs,
                                 size_t n, double *room, double floor_percent)
{
    double ea = over_ranks (pairs, n, room, error_a);
    double eb = over_ranks (pairs, n, room, error_b);
    double steps = over_ranks (pairs, n, room, count);
    double factor;
    struct spread d;

    m->ranks = n;
    m->a = over_ranks (pairs, n, room, median_a);
    m->b = over_ranks (pairs, n, room, median_b);
    for (size_t i = 0; i < n; i++)
        room[i] = median_b (&pairs[i]) - median_a (&pairs[i]);
    d = spread_of (room, n);
    m->difference = d.median;
    m->floor = fabs (m->a) * floor_percent / 100;
    m->verdict = COMPARE_UNKNOWN;
    if (m->stepless && fabs (m->difference) <= m->floor)
        m->verdict = COMPARE_SAME;      // for any number of ranks
    if (m->stepless ? n < SPREAD_LEAST : steps < SPREAD_LEAST)
        return;
    factor = m->stepless ? spread_factor (n, 1)
                         : spread_factor (2 * (size_t)steps, 2);
    m->noise = fmax (m->floor, factor * hypot (hypot (ea, eb),
                                               spread_error (&d)));
    m->verdict = fabs (m->difference) > m->noise ? direction (m)
                                                 : COMPARE_SAME;
    if (!m->stepless && n >= SPREAD_LEAST)
        find_outliers (m, pairs, n, room, factor, floor_percent / 100);
}

void compare_judge (struct compare_metric *m, double floor_percent)
{
    size_t most = m->runs[0].n < m->runs[1].n ? m->runs[0].n : m->runs[1].n;
    struct pair *pairs = calloc (most + 1, sizeof (*pairs));
    double *room = calloc (most + 1, sizeof (*room));
    size_t n = pairs && room ? match (m, pairs) : 0;

    m->ranks = m->noutliers = 0;
    m->verdict = m->runs[1].n == 0 ? COMPARE_ONLY_A
                 : m->runs[0].n == 0 ? COMPARE_ONLY_B
                                     : COMPARE_UNKNOWN;
    if (n > 0)
        compare_judge_judge (m, pairs, n, room, floor_percent);
    free (pairs);
    free (room);
}

bool compare_ranks_agree (const struct compare_metric *m)
{
    return fabs (m->b - m->a - m->difference) <= fmax (m->noise, m->floor);
}

const char *compare_verdict_text (const struct compare_metric *m)
{
    static const char *const texts[] = {
        [COMPARE_SAME] = "same",
        [COMPARE_WORSE] = "WORSE",
        [COMPARE_BETTER] = "better",
        [COMPARE_ONLY_A] = "only in A",
        [COMPARE_ONLY_B] = "only in B",
    };

    if (m->verdict == COMPARE_CHANGED)
        return m->difference > 0 ? "more" : "less";
    // unknown, not "same": that would be wrong beside +27.5 %
    if (m->verdict == COMPARE_SAME && !compare_ranks_agree (m))
        return "ranks disagree";
    if (m->verdict == COMPARE_SAME && fabs (m->difference) > m->floor)
        return "within noise";
    if (m->verdict == COMPARE_UNKNOWN)
        return m->ranks == 0 ? m->links ? "no link in both" : "no rank in both"
               : m->stepless ? "too few ranks" : "too few steps";
    return texts[m->verdict];
}

/* If one run did not record a peak, the peaks cannot be compared. */
bool compare_counts (const struct compare_metric *m)
{
    if (m->stepless &&
        (m->verdict == COMPARE_ONLY_A || m->verdict == COMPARE_ONLY_B))
        return false;
    return m->verdict != COMPARE_SAME && m->verdict != COMPARE_UNKNOWN;
}

bool compare_differs (const struct compare *c)
{
    return c->different > 0 || c->nonly[0] > 0 || c->nonly[1] > 0 ||
           c->runs[0].world != c->runs[1].world;
}
