/* aggregator/jobs/jobs_clock.c - compare the clocks of hosts
 *
 * A wrong clock affects everything that its host writes.  If each capture were
 * assigned to the nearest of two jobs by itself, the captures of a host whose
 * clock is an hour off would be exchanged.  So whole clocks are compared: the
 * offset of two is the one at which most of their common steps begin together.
 * The nearest clocks come first, so that the right ones form a set before a
 * wrong one is compared with them.
 */
#include "jobs/jobs_private.h"

#include "base/cmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_SEEN 4            // of a capture: the ones of lowest hashes, so
                                // that all captures use the same ones
#define SIGHTS_MAX 128u         // of a set of clocks: enough to compare
#define OFFSETS_MAX 1024u       // that are tried, the smallest ones
#define FIT_NS 16384            // ranks of one host begin a step no closer
#define BITS_MAX 22             // of FIT_NS; beyond a minute it is another job
#define WINDOW_NS 16777216      // ... but begin to profile this far apart

struct sight {                  // a step on a clock
    size_t clock;
    int64_t rank;
    uint64_t step;
    int64_t at;                 // when it began
};

/* Clocks whose offsets from each other are known.  At first each set has one
 * clock; one of its clocks represents it.
 */
struct set {
    struct sight *list;         // by step and time, minus the clock's offset
    size_t n;
    size_t last;                // last clock in it
    bool again;                 // a rank in it did a step twice
};

struct clock {
    struct set set;             // that it represents
    size_t of;                  // the clock that represents its set
    size_t next;                // clock of the same set, or JOBS_NONE
    int64_t ahead;
};

struct edge {
    size_t a, b;                // clocks
    int64_t apart;              // distance of their nearest equal steps
};

struct aligner {
    struct facts *f;
    struct sight *all;
    size_t n;
    struct edge *edges;
    size_t nedges;
    size_t nclocks;
    struct clock *clocks;
};

/* ---- clocks ---- */

/* Compare the hosts of two captures.  A worker's name is not evidence, and a
 * rank may come back on another host.  But this is only about what to assume,
 * and usually such captures have one clock.
 */
static int compare_hosts (const struct fact *a, const struct fact *b)
{
    const char *x = fact_host (a), *y = fact_host (b);
    bool told = *x || a->e->boot_ns > 0, also = *y || b->e->boot_ns > 0;

    if (told != also)
        return told ? -1 : 1;
    if (told)
        return strcmp (x, y);
    if (*a->c->host || *b->c->host)
        return strcmp (a->c->host, b->c->host);
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int compare_boots (const void *pa, const void *pb)
{
    const struct fact *a = *(struct fact *const *)pa;
    const struct fact *b = *(struct fact *const *)pb;
    int order = compare_hosts (a, b);

    if (order != 0)
        return order;
    if (a->e->boot_ns != b->e->boot_ns)
        return a->e->boot_ns < b->e->boot_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* A clock that was set counts as another one, since its boot time differs. */
static bool one_clock (const struct fact *a, const struct fact *b)
{
    return compare_hosts (a, b) == 0 &&
           (a->e->boot_ns == 0 ||
            fact_distance (a->e->boot_ns, b->e->boot_ns) <= JOBS_BOOT_NS);
}

static int find_clocks (struct aligner *al)
{
    size_t n = al->f->n;
    struct fact **order = calloc (n + 1, sizeof (struct fact *));

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = &al->f->list[i];
    qsort (order, n, sizeof (struct fact *), compare_boots);
    for (size_t i = 0; i < n; i++) {
        al->nclocks += i == 0 || !one_clock (order[i - 1], order[i]);
        order[i]->clock = al->nclocks - 1;
    }
    free (order);
    return 0;
}

/* ---- sights ---- */

static void add_sight (struct aligner *al, const struct fact *f, uint64_t step,
                       int64_t at)
{
    if (at > 0)
        al->all[al->n++] = (struct sight){ f->clock, f->rank, step, at };
}

/* Insert a step into the list of those with the lowest hashes. */
static size_t insert (struct sight *lowest, size_t n, uint64_t step,
                      int64_t at)
{
    size_t k = n;

    for (; k > 0 && lowest[k - 1].step > step; k--) {
        if (k < STEPS_SEEN)
            lowest[k] = lowest[k - 1];
    }
    if (k < STEPS_SEEN)
        lowest[k] = (struct sight){ .step = step, .at = at };
    return n < STEPS_SEEN ? n + 1 : n;
}

/* A capture without named steps contributes its start. */
static void see (struct aligner *al, const struct fact *f)
{
    struct sight lowest[STEPS_SEEN];
    size_t n = 0;

    for (uint32_t i = 0; i < f->e->nspans; i++) {
        const struct evidence_span *s = &f->e->spans[i];

        if (fact_is_step (s))
            n = insert (lowest, n, evidence_hash (0, s->step, strlen (s->step)),
                        s->start_ns);
    }
    for (size_t i = 0; i < n; i++)
        add_sight (al, f, lowest[i].step, lowest[i].at);
    if (n == 0)
        add_sight (al, f, 0, f->start_ns);      // no step: its window
}

static int compare_ranks (const void *pa, const void *pb)
{
    const struct sight *a = pa, *b = pb;

    if (a->clock != b->clock)
        return a->clock < b->clock ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int compare_times (const void *pa, const void *pb)
{
    const struct sight *a = pa, *b = pb;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (a->clock > b->clock) - (a->clock < b->clock);
}

/* Remove duplicates and keep at most SIGHTS_MAX, of the same steps in every
 * set.
 */
static size_t thin (struct sight *list, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n && kept < SIGHTS_MAX; i++) {
        if (kept == 0 || list[kept - 1].step != list[i].step ||
            fact_minus (list[i].at, list[kept - 1].at) > JOBS_SAME_NS)
            list[kept++] = list[i];
    }
    return kept;
}

static int make_set (struct aligner *al, size_t first, size_t n)
{
    size_t clock = al->all[first].clock;
    struct set *s = &al->clocks[clock].set;

    for (size_t i = first + 1; i < first + n; i++) {
        const struct sight *a = &al->all[i - 1], *b = &al->all[i];

        s->again = s->again || (a->step == b->step && a->rank == b->rank &&
                                a->rank != CAPTURE_NO_RANK &&
                                fact_minus (b->at, a->at) > JOBS_SAME_NS);
    }
    s->list = malloc (n * sizeof (*s->list));
    if (!s->list)
        return -ENOMEM;
    memcpy (s->list, &al->all[first], n * sizeof (*s->list));
    qsort (s->list, n, sizeof (*s->list), compare_times);
    s->n = thin (s->list, n);
    return 0;
}

static int make_sets (struct aligner *al)
{
    int rc = 0;

    al->clocks = calloc (al->nclocks + 1, sizeof (*al->clocks));
    al->all = calloc (STEPS_SEEN * al->f->n + 1, sizeof (*al->all));
    if (!al->clocks || !al->all)
        return -ENOMEM;
    for (size_t i = 0; i < al->nclocks; i++) {
        al->clocks[i].set.last = al->clocks[i].of = i;
        al->clocks[i].next = JOBS_NONE;
    }
    for (size_t i = 0; i < al->f->n; i++)
        see (al, &al->f->list[i]);
    qsort (al->all, al->n, sizeof (*al->all), compare_ranks);
    for (size_t i = 0, n = 0; i + n < al->n && rc == 0;) {
        n++;
        if (i + n == al->n || al->all[i + n].clock != al->all[i].clock) {
            rc = make_set (al, i, n);
            i += n;
            n = 0;
        }
    }
    return rc;
}

/* ---- two sets ---- */

/* The sight of this step that is nearest to a time; NULL: there is none. */
static const struct sight *find_nearest (const struct set *s, uint64_t step,
                                         int64_t at)
{
    const struct sight key = { 0, 0, step, at };
    const struct sight *best = NULL;
    size_t low = cmp_place (&key, s->list, s->n, sizeof (key), compare_times);

    if (low < s->n && s->list[low].step == step)
        best = &s->list[low];
    if (low > 0 && s->list[low - 1].step == step &&
        (!best || fact_distance (s->list[low - 1].at, at) <
                      fact_distance (best->at, at)))
        best = &s->list[low - 1];
    return best;
}

/* How badly the small set fits the large one at this offset: the sum over its
 * steps of the bits of the distance (in FIT_NS) to the nearest one.  So what
 * fits at all counts more than how far off the rest is, which may belong to
 * other jobs.  '*more': by how much a fit may be worse and still be about as
 * good, in half bits.
 */
static int64_t jobs_clock_misfit (const struct set *small,
                                  const struct set *large,
                                  int64_t ahead, int64_t *more)
{
    int64_t sum = 0;

    *more = 0;
    for (size_t i = 0; i < small->n; i++) {
        const struct sight *s = &small->list[i], *o;
        int64_t at = fact_minus (s->at, ahead), off;
        int bits = 0;

        if (!(o = find_nearest (large, s->step, at)))
            continue;
        off = fact_distance (o->at, at) / (s->step == 0 ? WINDOW_NS : FIT_NS);
        for (; off > 0 && bits < BITS_MAX; off /= 2)
            bits++;
        sum += bits;
        *more += s->step == 0 ? 1 : 2;
    }
    return sum;
}

static int compare_sizes (const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    int64_t x = fact_distance (a, 0), y = fact_distance (b, 0);

    return x != y ? (x < y ? -1 : 1) : (a > b) - (a < b);
}

/* List the offsets at which some step begins together in both, and 0. */
static size_t list_offsets (const struct set *small, const struct set *large,
                            int64_t *list)
{
    size_t n = 0, kept = 0;

    list[n++] = 0;
    for (size_t i = 0; i < small->n; i++) {
        for (size_t k = 0; k < large->n; k++) {
            if (small->list[i].step == large->list[k].step)
                list[n++] = fact_minus (small->list[i].at, large->list[k].at);
        }
    }
    qsort (list, n, sizeof (*list), compare_sizes);
    for (size_t i = 0; i < n && kept < OFFSETS_MAX; i++) {
        if (kept == 0 || list[i] != list[kept - 1])
            list[kept++] = list[i];
    }
    return kept;
}

/* Find the smallest of the offsets that fit about as well as the best one. */
static int find_offset (const struct set *small, const struct set *large,
                        int64_t *ret)
{
    int64_t *list = malloc ((small->n * large->n + 1) * sizeof (*list));
    int64_t fit[OFFSETS_MAX], more = 0, best = INT64_MAX;
    size_t n, i = 0;

    if (!list)
        return -ENOMEM;
    n = list_offsets (small, large, list);
    for (size_t k = 0; k < n; k++) {
        fit[k] = jobs_clock_misfit (small, large, list[k], &more);
        best = fit[k] < best ? fit[k] : best;
    }
    while (2 * (fit[i] - best) > more)  // a factor of 2 for each step
        i++;
    *ret = list[i];
    free (list);
    return 0;
}

/* Clocks within a minute may both be right, unless each saw several jobs: a
 * clock that saw one job may have seen another one than the nearest.
 */
static int compare_sets (const struct set *small, const struct set *large,
                         int64_t apart, int64_t *ahead)
{
    int64_t more;

    *ahead = 0;
    if (jobs_clock_misfit (small, large, 0, &more) == 0 ||
        ((!small->again || !large->again) && apart <= JOBS_APART_NS))
        return 0;
    return find_offset (small, large, ahead);
}

static int unite (struct aligner *al, size_t a, size_t b, int64_t apart)
{
    struct set *large = &al->clocks[a].set, *small = &al->clocks[b].set;
    struct sight *p;
    int64_t ahead;

    if (large->n < small->n || (large->n == small->n && b < a))
        return unite (al, b, a, apart);
    if (compare_sets (small, large, apart, &ahead) < 0 ||
        !(p = realloc (large->list,
                       (large->n + small->n) * sizeof (*large->list))))
        return -ENOMEM;
    large->list = p;
    for (size_t i = 0; i < small->n; i++) {
        p[large->n] = small->list[i];
        p[large->n].at = fact_minus (p[large->n].at, ahead);
        large->n++;
    }
    qsort (p, large->n, sizeof (*p), compare_times);
    large->n = thin (p, large->n);
    large->again = large->again || small->again;
    for (size_t i = b; i != JOBS_NONE; i = al->clocks[i].next) {
        struct clock *c = &al->clocks[i];

        c->of = a;
        c->ahead = fact_minus (c->ahead, fact_minus (0, ahead));
    }
    al->clocks[large->last].next = b;
    large->last = small->last;
    free (small->list);
    small->list = NULL;
    return 0;
}

/* ---- all ---- */

static int compare_edges (const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;

    if (a->apart != b->apart)
        return a->apart < b->apart ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* Comparing neighbours in time is enough, since they connect all sets. */
static int list_edges (struct aligner *al)
{
    al->edges = calloc (al->n + 1, sizeof (*al->edges));
    if (!al->edges)
        return -ENOMEM;
    qsort (al->all, al->n, sizeof (*al->all), compare_times);
    for (size_t i = 1; i < al->n; i++) {
        const struct sight *x = &al->all[i - 1], *y = &al->all[i];

        if (x->step == y->step && x->clock != y->clock)
            al->edges[al->nedges++] = (struct edge){
                x->clock < y->clock ? x->clock : y->clock,
                x->clock < y->clock ? y->clock : x->clock,
                fact_minus (y->at, x->at) };
    }
    qsort (al->edges, al->nedges, sizeof (*al->edges), compare_edges);
    return 0;
}

static int align (struct aligner *al)
{
    int rc = list_edges (al);

    for (size_t i = 0; i < al->nedges && rc == 0; i++) {
        const struct edge *e = &al->edges[i];
        size_t a = al->clocks[e->a].of, b = al->clocks[e->b].of;

        if (a != b)
            rc = unite (al, a, b, e->apart);
    }
    for (size_t i = 0; i < al->f->n && rc == 0; i++)
        al->f->list[i].ahead_ns = al->clocks[al->f->list[i].clock].ahead;
    return rc;
}

int jobs_compare_clocks (struct facts *f)
{
    struct aligner al = { .f = f };
    int rc;

    if ((rc = find_clocks (&al)) == 0 && (rc = make_sets (&al)) == 0)
        rc = align (&al);
    for (size_t i = 0; al.clocks && i < al.nclocks; i++)
        free (al.clocks[i].set.list);
    free (al.clocks);
    free (al.all);
    free (al.edges);
    return rc;
}
