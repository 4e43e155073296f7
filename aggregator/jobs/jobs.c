/* aggregator/jobs/jobs.c - divide captures into jobs
 *
 * Captures that are certainly of one job form knots.  The newest knot, and each
 * one that contradicts all jobs so far, begins a job.  Each other knot joins
 * the job that is nearest in time and that nothing contradicts.
 */
#include "jobs/jobs_private.h"

#include "base/cmp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 8            // of placing: each but the last adds a job

struct knot {
    size_t first;               // capture
    int64_t start_ns, end_ns;   // 0: unknown
    int64_t newest_ns;          // its end, by compared clocks
    size_t era;                 // between two silences of all knots
    size_t ncaptures;
    bool fixed;
    bool given;
    bool late;                  // it began a draft after others were placed
    bool seed;                  // it begins one
    int64_t offset;             // from the nearest draft
};

/* The state of a draft while captures join it. */
struct growth {
    int64_t first_ns, last_ns;  // of its captures; 0: unknown
    size_t era;                 // of the last one that has times
    size_t nknots;
    const struct knot *seed;    // its first knot
    bool given;                 // it has an id
    char why[JOBS_WHY_MAX];     // why it is not of the draft before
};

struct divider {
    struct facts facts;
    struct drafts drafts;
    struct knot *knots;         // assigned ones first, then those with an
                                // id, then the others, the newest first
    size_t nknots;
    int64_t gap_ns;
    bool placing;               // all drafts have begun
    bool compared;              // clocks are compared: several drafts exist
    struct growth *of;          // of each draft
};

/* ---- knots ---- */

static int compare_knots (const void *pa, const void *pb)
{
    const struct knot *a = pa, *b = pb;

    if (a->fixed != b->fixed)
        return a->fixed ? -1 : 1;
    if (a->given != b->given)
        return a->given ? -1 : 1;
    if (a->newest_ns != b->newest_ns)
        return a->newest_ns > b->newest_ns ? -1 : 1;
    return a->first < b->first ? -1 : 1;
}

static struct knot measure (const struct divider *d, size_t first)
{
    const struct facts *f = &d->facts;
    struct knot k = { .first = first, .offset = INT64_MAX };

    for (size_t i = first; i != JOBS_NONE; i = f->list[i].next) {
        const struct fact *x = &f->list[i];
        int64_t newest = fact_minus (x->end_ns, x->ahead_ns);

        k.newest_ns = newest > k.newest_ns ? newest : k.newest_ns;
        k.ncaptures++;
        k.fixed = k.fixed || x->in->fixed != JOBS_NONE;
        k.given = k.given || x->e->job[0];
        if (!x->dated && d->gap_ns >= JOBS_GAP_NS)
            continue;           // when were its files copied?
        if (x->start_ns > 0 && (k.start_ns == 0 || x->start_ns < k.start_ns))
            k.start_ns = x->start_ns;
        if (x->end_ns > k.end_ns)
            k.end_ns = x->end_ns;
    }
    return k;
}

static int compare_starts (const void *pa, const void *pb)
{
    const struct knot *const *a = pa, *const *b = pb;

    return cmp_int64 (&(*a)->start_ns, &(*b)->start_ns);
}

static int find_eras (struct divider *d)
{
    struct knot **list = calloc (d->nknots + 1, sizeof (*list));
    int64_t last_ns = 0;
    size_t era = 0;

    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < d->nknots; i++)
        list[i] = &d->knots[i];
    qsort (list, d->nknots, sizeof (*list), compare_starts);
    for (size_t i = 0; i < d->nknots; i++) {
        struct knot *k = list[i];

        if (k->start_ns == 0)
            continue;
        era += last_ns > 0 && k->start_ns - last_ns > d->gap_ns;
        k->era = era;
        last_ns = k->end_ns > last_ns ? k->end_ns : last_ns;
    }
    free (list);
    return 0;
}

static int find_knots (struct divider *d)
{
    d->knots = calloc (d->facts.n + 1, sizeof (*d->knots));
    if (!d->knots)
        return -ENOMEM;
    for (size_t i = 0; i < d->facts.n; i++) {
        if (d->facts.list[i].knot == i)
            d->knots[d->nknots++] = measure (d, i);
    }
    qsort (d->knots, d->nknots, sizeof (*d->knots), compare_knots);
    d->of = calloc (d->nknots + 1, sizeof (*d->of));
    return d->of ? find_eras (d) : -ENOMEM;
}

/* ---- drafts ---- */

static int join (struct divider *d, size_t draft, const struct knot *k)
{
    struct growth *g = &d->of[draft];

    if (k->start_ns > 0 && (g->first_ns == 0 || k->start_ns < g->first_ns))
        g->first_ns = k->start_ns;
    if (k->end_ns > g->last_ns)
        g->last_ns = k->end_ns;
    if (k->start_ns > 0)
        g->era = k->era;
    if (g->nknots++ == 0)
        g->seed = k;
    g->given = g->given || k->given;
    return drafts_join (&d->drafts, draft, k->first);
}

static bool is_joined (const struct divider *d, const struct knot *k)
{
    return d->facts.list[k->first].draft != JOBS_NONE;
}

/* A silence longer than the gap is between them.  While drafts begin, there may
 * be captures within it that will join them: only a silence of all counts.
 */
static bool is_far (const struct divider *d, const struct growth *g,
                    const struct knot *k, char why[JOBS_WHY_MAX])
{
    int64_t after = k->start_ns > 0 && g->last_ns > 0
                        ? k->start_ns - g->last_ns : 0;
    int64_t before = k->end_ns > 0 && g->first_ns > 0
                         ? g->first_ns - k->end_ns : 0;

    if (d->gap_ns == 0 || (after <= d->gap_ns && before <= d->gap_ns))
        return false;
    if (!d->placing && !k->late && k->era == g->era)
        return false;
    (void)snprintf (why, JOBS_WHY_MAX, after > 0
                    ? "it began %" PRId64 " s after the last capture of the "
                      "other"
                    : "it ended %" PRId64 " s before the first capture of the "
                      "other", (after > 0 ? after : before) / 1000000000);
    return true;
}

/* Whether a knot must stay out of a draft: because of different given ids or
 * assignments, a silence longer than the gap, or evidence that contradicts.
 */
static bool is_apart (const struct divider *d, size_t draft,
                      const struct knot *k, char why[JOBS_WHY_MAX])
{
    const struct growth *g = &d->of[draft];

    if (k->fixed && g->seed->fixed) {
        (void)snprintf (why, JOBS_WHY_MAX, "it was assigned to another job "
                                           "before");
        return true;
    }
    if (k->given && g->given) {
        (void)snprintf (why, JOBS_WHY_MAX, "it was given another id");
        return true;
    }
    return drafts_contradict (&d->drafts, draft, k->first, why) ||
           is_far (d, g, k, why);
}

static bool is_bound (const struct knot *k)
{
    return k->fixed || k->given;
}

static bool is_late (const struct knot *k)
{
    return k->late;
}

static bool is_seed (const struct knot *k)
{
    return k->seed;
}

/* Begin drafts: with the newest knot, and with each one that contradicts every
 * existing draft.  Of all knots ('may' is NULL) or some.
 */
static int seed_drafts (struct divider *d, bool (*may) (const struct knot *))
{
    int rc = 0;

    for (size_t i = 0; i < d->nknots && rc == 0; i++) {
        struct knot *k = &d->knots[i];
        char why[JOBS_WHY_MAX] = "";
        size_t draft = 0;

        if ((may && !may (k)) || is_joined (d, k))
            continue;
        while (draft < d->drafts.n && is_apart (d, draft, k, why))
            draft++;
        if (draft < d->drafts.n)
            continue;
        memcpy (d->of[draft].why, why, sizeof (why));
        k->seed = true;
        rc = join (d, draft, k);
    }
    return rc;
}

static int compare_offsets (const void *pa, const void *pb)
{
    const struct knot *a = *(struct knot *const *)pa;
    const struct knot *b = *(struct knot *const *)pb;

    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return compare_knots (a, b);
}

/* Put a knot into the nearest draft that nothing contradicts, or into a new
 * one.
 */
static int jobs_place (struct divider *d, struct knot *k)
{
    char why[JOBS_WHY_MAX] = "";
    size_t best = JOBS_NONE;
    int64_t least = INT64_MAX;

    for (size_t draft = 0; draft < d->drafts.n; draft++) {
        int64_t o = d->drafts.n > 1
                        ? drafts_offset (&d->drafts, draft, k->first) : 0;

        if ((best == JOBS_NONE || o < least) && !is_apart (d, draft, k, why)) {
            best = draft;
            least = o;
        }
    }
    if (best == JOBS_NONE) {
        best = d->drafts.n;
        memcpy (d->of[best].why, why, sizeof (why));
        k->late = true;
    }
    return join (d, best, k);
}

static int place_rest (struct divider *d)
{
    struct knot **rest = calloc (d->nknots + 1, sizeof (*rest));
    size_t n = 0;
    int rc = rest ? 0 : -ENOMEM;

    for (size_t i = 0; i < d->nknots && rc == 0; i++) {
        struct knot *k = &d->knots[i];

        if (is_joined (d, k))
            continue;
        for (size_t draft = 0; draft < d->drafts.n; draft++) {
            int64_t o = drafts_offset (&d->drafts, draft, k->first);

            k->offset = o < k->offset ? o : k->offset;
        }
        rest[n++] = k;
    }
    if (n > 0)
        qsort (rest, n, sizeof (*rest), compare_offsets);
    d->placing = true;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = jobs_place (d, rest[i]);
    d->placing = false;
    free (rest);
    return rc;
}

/* Compare the clocks and sort the knots again, the newest first. */
static int compare_clocks (struct divider *d)
{
    int rc = jobs_compare_clocks (&d->facts);

    d->compared = true;
    for (size_t i = 0; i < d->nknots && rc == 0; i++) {
        const struct knot was = d->knots[i];

        d->knots[i] = measure (d, was.first);
        d->knots[i].late = was.late;
        d->knots[i].era = was.era;
    }
    qsort (d->knots, d->nknots, sizeof (*d->knots), compare_knots);
    return rc;
}

static void empty_drafts (struct divider *d)
{
    size_t n = d->drafts.n;

    drafts_fini (&d->drafts);
    drafts_init (&d->drafts, &d->facts);
    for (size_t i = 0; i < d->facts.n; i++)
        d->facts.list[i].draft = d->facts.list[i].next_of_rank = JOBS_NONE;
    for (size_t i = 0; i < d->nknots; i++)
        d->knots[i].offset = INT64_MAX;
    for (size_t i = 0; i < n; i++) {    // 'why' stays until the next one
        d->of[i].first_ns = d->of[i].last_ns = 0;
        d->of[i].nknots = 0;
        d->of[i].given = false;
    }
}

/* Start again, with compared clocks and with the knots that began a draft late.
 * These contradict captures that were placed earlier, but maybe not the first
 * one of that draft, which may be of their job.
 */
static int seed_again (struct divider *d)
{
    int rc = d->compared ? 0 : compare_clocks (d);

    for (size_t i = 0; i < d->nknots; i++)
        d->knots[i].seed = false;
    empty_drafts (d);
    if (rc == 0 && (rc = seed_drafts (d, is_bound)) == 0 &&
        (rc = seed_drafts (d, is_late)) == 0)
        rc = seed_drafts (d, NULL);
    empty_drafts (d);
    return rc < 0 ? rc : seed_drafts (d, is_seed);      // the newest first
}

/* Some contradictions show only after knots were placed.  The knots placed
 * before that could not choose the new job, so everything is placed again.
 */
static int place_all (struct divider *d)
{
    size_t n = 1;
    int rc = d->drafts.n > 1 ? 0 : place_rest (d);

    for (int i = 0; i < ROUNDS_MAX && rc == 0 && d->drafts.n > n; i++) {
        rc = seed_again (d);
        n = d->drafts.n;
        if (rc == 0)
            rc = place_rest (d);
    }
    return rc;
}

/* ---- jobs ---- */

static int tell (const struct divider *d, struct jobs *ret)
{
    struct draft_told *told = calloc (d->drafts.n + 1, sizeof (*told));
    int rc = -ENOMEM;

    for (size_t i = 0; told && i < d->drafts.n; i++)
        told[i] = (struct draft_told){ d->of[i].seed->first, d->of[i].nknots,
                                       d->of[i].why };
    if (told)
        rc = jobs_tell (&d->facts, told, d->drafts.n, ret);
    free (told);
    return rc;
}

int jobs_divide (const struct jobs_capture *captures, size_t n,
                 int64_t gap_ns, struct jobs *ret, struct err *err)
{
    struct divider d = { .gap_ns = gap_ns };
    int rc = facts_create (&d.facts, captures, n);

    memset (ret, 0, sizeof (*ret));
    drafts_init (&d.drafts, &d.facts);
    if (rc == 0 && (rc = jobs_link (&d.facts)) == 0 &&
        (rc = find_knots (&d)) == 0 && (rc = seed_drafts (&d, NULL)) == 0 &&
        (rc = place_all (&d)) == 0)
        rc = tell (&d, ret);
    drafts_fini (&d.drafts);
    facts_fini (&d.facts);
    free (d.knots);
    free (d.of);
    return rc < 0 ? err_set (err, ENOMEM, "no memory to tell jobs apart") : 0;
}
