/* aggregator/jobs/jobs_facts.c - facts about one capture, and comparisons of
 * two
 */
#include "jobs/jobs_private.h"

#include "base/cmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_FEW 1024          // pairs: comparing them is faster than sorting

size_t *index_at (struct map *m, uint64_t key)
{
    bool is_new;
    struct indexed *x = map_put (m, &key, &is_new);

    if (x && is_new)
        x->at = JOBS_NONE;
    return x ? &x->at : NULL;
}

size_t index_get (const struct map *m, uint64_t key)
{
    const struct indexed *x = map_get (m, &key);

    return x ? x->at : JOBS_NONE;
}

int64_t fact_distance (int64_t a, int64_t b)
{
    uint64_t d = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;

    return d > INT64_MAX ? INT64_MAX : (int64_t)d;
}

int64_t fact_minus (int64_t a, int64_t b)
{
    int64_t d;

    if (__builtin_sub_overflow (a, b, &d))
        return a < b ? INT64_MIN : INT64_MAX;
    return d;
}

static bool has_span (const struct evidence_span *s)
{
    return s->start_ns <= s->end_ns;
}

/* Find when a capture was made: by its window, or else by its steps. */
static void find_times (struct fact *f)
{
    const struct evidence *e = f->e;

    f->window = e->boot_ns > 0 && e->mono_start_ns > 0 &&
                e->mono_end_ns >= e->mono_start_ns &&
                e->mono_end_ns <= INT64_MAX - e->boot_ns;
    if (f->window) {
        f->start_ns = e->boot_ns + e->mono_start_ns;
        f->end_ns = e->boot_ns + e->mono_end_ns;
        f->dated = true;
        return;
    }
    for (uint32_t i = 0; i < e->nspans; i++) {
        const struct evidence_span *s = &e->spans[i];

        if (!has_span (s) || s->start_ns <= 0)
            continue;
        if (f->start_ns == 0 || s->start_ns < f->start_ns)
            f->start_ns = s->start_ns;
        if (s->end_ns > f->end_ns)
            f->end_ns = s->end_ns;
    }
    f->dated = f->start_ns > 0 || f->c->started_ns > 0;
    if (f->start_ns == 0) {
        f->start_ns = f->c->started_ns ? f->c->started_ns : f->c->order_ns;
        f->end_ns = f->c->ended_ns ? f->c->ended_ns : f->c->order_ns;
    }
}

/* The rank that positions in groups imply; CAPTURE_NO_RANK: none, or several.
 */
static int64_t rank_of_ops (const struct fact *f)
{
    int64_t rank = CAPTURE_NO_RANK;

    for (uint32_t i = 0; i < f->e->ngroups; i++) {
        const struct evidence_group *x = &f->e->groups[i];
        const struct comm_group *g = fact_group (f, x->name);

        if (!g || x->own < 0 || (uint32_t)x->own >= g->nmembers)
            continue;
        if (rank != CAPTURE_NO_RANK && rank != g->members[x->own])
            return CAPTURE_NO_RANK;
        rank = g->members[x->own];
    }
    return rank;
}

/* A capture that was filed under a wrong rank must not look like another job.
 */
static int64_t rank_shown (const struct fact *f)
{
    int64_t rank = rank_of_ops (f);

    if (rank == CAPTURE_NO_RANK)
        rank = f->e->ranks.group;
    return rank >= 0 ? rank : f->in->rank;
}

/* A capture of doubtful rank is not used to check others. */
static bool is_sure (const struct fact *f)
{
    for (uint32_t i = 0; i < f->in->groups->n; i++) {
        if (!fact_is_member (f->in->groups->list[i], f->rank))
            return false;
    }
    return f->rank != CAPTURE_NO_RANK;
}

int facts_create (struct facts *f, const struct jobs_capture *captures,
                  size_t n)
{
    f->n = n;
    f->list = calloc (n + 1, sizeof (*f->list));
    if (!f->list)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct fact *x = &f->list[i];

        x->in = &captures[i];
        x->c = captures[i].capture;
        x->e = &x->c->evidence;
        x->rank = rank_shown (x);
        x->named_groups = strcmp (x->c->framework, "kineto") != 0 &&
                          strcmp (x->c->framework, "ascend_ms") != 0;
        x->knot = i;
        x->next = x->next_of_rank = x->draft = x->clock = JOBS_NONE;
        x->highest = -1;
        for (uint32_t g = 0; g < x->e->ngroups; g++) {
            if (x->e->groups[g].highest > x->highest)
                x->highest = x->e->groups[g].highest;
        }
        find_times (x);
        x->sure = is_sure (x);
    }
    return 0;
}

void facts_fini (struct facts *f)
{
    free (f->list);
    f->list = NULL;
    f->n = 0;
}

const struct comm_group *fact_group (const struct fact *f, const char *name)
{
    for (uint32_t i = 0; i < f->in->groups->n; i++) {
        if (strcmp (f->in->groups->list[i]->name, name) == 0)
            return f->in->groups->list[i];
    }
    return NULL;
}

bool fact_is_member (const struct comm_group *g, int64_t rank)
{
    for (uint32_t i = 0; i < g->nmembers; i++) {
        if (g->members[i] == rank)
            return true;
    }
    return false;
}

bool fact_equal_members (const struct comm_group *a, const struct comm_group *b)
{
    if (a == b)                 // mostly: one entry of all captures
        return true;
    return a->nmembers == b->nmembers &&
           memcmp (a->members, b->members,
                   a->nmembers * sizeof (*a->members)) == 0;
}

/* ---- two of them ---- */

static bool both_boot (const struct fact *a, const struct fact *b)
{
    return a->e->boot_ns > 0 && b->e->boot_ns > 0;
}

/* Boot times are equal up to the drift of clocks between two captures. */
static bool one_boot (const struct fact *a, const struct fact *b)
{
    int64_t may = JOBS_BOOT_NS;

    if (a->start_ns > 0 && b->start_ns > 0)
        may += fact_distance (a->start_ns, b->start_ns) / JOBS_DRIFT;
    return both_boot (a, b) &&
           fact_distance (a->e->boot_ns, b->e->boot_ns) <= may;
}

static bool other_name (const struct fact *a, const struct fact *b)
{
    return evidence_differ (a->e->host_key, b->e->host_key) ||
           evidence_differ (a->c->host_uid, b->c->host_uid) ||
           evidence_differ (a->e->host_name, b->e->host_name);
}

static bool equal (const char *a, const char *b)
{
    return *a && strcmp (a, b) == 0;
}

static bool one_name (const struct fact *a, const struct fact *b)
{
    return !other_name (a, b) &&
           (equal (a->e->host_key, b->e->host_key) ||
            equal (a->c->host_uid, b->c->host_uid) ||
            equal (a->e->host_name, b->e->host_name));
}

const char *fact_host (const struct fact *f)
{
    return f->c->host_uid[0] ? f->c->host_uid : f->e->host_name;
}

bool fact_is_step (const struct evidence_span *s)
{
    return s->start_ns <= s->end_ns && *s->step;
}

bool fact_other_host (const struct fact *a, const struct fact *b)
{
    return other_name (a, b) || (both_boot (a, b) && !one_boot (a, b));
}

static bool fact_one_host (const struct fact *a, const struct fact *b)
{
    return one_boot (a, b) && !fact_other_host (a, b);
}

int64_t fact_apart (const struct fact *a, const struct fact *b)
{
    if (fact_other_host (a, b))
        return INT64_MAX;
    if (one_boot (a, b) || equal (a->c->host_uid, b->c->host_uid))
        return JOBS_APART_NS;
    return equal (a->e->host_name, b->e->host_name) ? JOBS_ZONES_NS : INT64_MAX;
}

static char **sorted_steps (const struct capture *c)
{
    char **list = malloc ((c->nsteps + 1) * sizeof (*list));

    if (list && c->nsteps > 0) {
        memcpy (list, c->steps, c->nsteps * sizeof (*list));
        qsort (list, c->nsteps, sizeof (*list), cmp_text);
    }
    return list;
}

/* Compare each with each: for two short lists, or if there is no memory. */
static const char *compare_all (const struct capture *x,
                                const struct capture *y, bool nameless)
{
    for (uint32_t i = 0; i < x->nsteps; i++) {
        for (uint32_t k = 0; k < y->nsteps; k++) {
            if (strcmp (x->steps[i], y->steps[k]) == 0 &&
                (nameless || *x->steps[i]))
                return x->steps[i];
        }
    }
    return NULL;
}

const char *fact_common_step (const struct fact *a, const struct fact *b,
                              bool nameless)
{
    const struct capture *x = a->c, *y = b->c;
    char **s = NULL, **t = NULL;
    const char *found = NULL;
    uint32_t i = 0, k = 0;

    if ((uint64_t)x->nsteps * y->nsteps <= STEPS_FEW ||
        !(s = sorted_steps (x)) || !(t = sorted_steps (y))) {
        found = compare_all (x, y, nameless);
        i = x->nsteps;
    }
    while (!found && i < x->nsteps && k < y->nsteps) {
        int order = strcmp (s[i], t[k]);

        if (order == 0 && (nameless || *s[i]))
            found = s[i];
        i += order <= 0;
        k += order >= 0;
    }
    free (s);
    free (t);
    return found;
}

/* Compare a common step, for profilers that report no windows. */
static enum same same_spans (const struct fact *a, const struct fact *b)
{
    for (uint32_t i = 0; i < a->e->nspans; i++) {
        const struct evidence_span *x = &a->e->spans[i];
        const struct evidence_span *y = evidence_find_span (b->e, x->step);

        if (!y || !has_span (x) || !has_span (y) || x->host != y->host)
            continue;
        return fact_distance (x->start_ns, y->start_ns) <= JOBS_SAME_NS
                   ? SAME_YES : SAME_NO;
    }
    return SAME_UNKNOWN;
}

enum same fact_same_window (const struct fact *a, const struct fact *b)
{
    if (!a->window || !b->window)
        return same_spans (a, b);
    return one_boot (a, b) &&
                   fact_distance (a->e->mono_start_ns, b->e->mono_start_ns) <=
                       JOBS_SAME_NS &&
                   fact_distance (a->e->mono_end_ns, b->e->mono_end_ns) <=
                       JOBS_SAME_NS
               ? SAME_YES : SAME_NO;
}

bool fact_equal_pids (const struct fact *a, const struct fact *b)
{
    return a->e->pid > 0 && a->e->pid == b->e->pid &&
           (one_name (a, b) || !fact_other_host (a, b));
}

bool fact_other_process (const struct fact *a, const struct fact *b)
{
    return (a->e->pid > 0 && b->e->pid > 0 && a->e->pid != b->e->pid) ||
           (fact_other_host (a, b) && !fact_equal_pids (a, b));
}

/* The number of a step, or -1. */
static int64_t step_number (const char *step)
{
    int64_t v = 0;

    if (!*step)
        return -1;
    for (; *step; step++) {
        if (*step < '0' || *step > '9' || v > INT64_MAX / 10 - 9)
            return -1;
        v = 10 * v + (*step - '0');
    }
    return v;
}

/* Whether all steps of 'b' come after those of 'a'. */
static bool goes_on (const struct fact *a, const struct fact *b)
{
    int64_t last = -1, first = INT64_MAX;

    for (uint32_t i = 0; i < a->c->nsteps; i++) {
        int64_t v = step_number (a->c->steps[i]);

        last = v > last ? v : last;
    }
    for (uint32_t i = 0; i < b->c->nsteps; i++) {
        int64_t v = step_number (b->c->steps[i]);

        first = v < first ? v : first;
    }
    return last >= 0 && first != INT64_MAX && first > last;
}

/* How long both ran at the same time, by clocks since boot; 0: not, or unknown.
 */
static int64_t shared_time (const struct evidence *a, const struct evidence *b)
{
    int64_t start = a->mono_start_ns > b->mono_start_ns ? a->mono_start_ns
                                                        : b->mono_start_ns;
    int64_t end = a->mono_end_ns < b->mono_end_ns ? a->mono_end_ns
                                                  : b->mono_end_ns;

    return start < end ? end - start : 0;
}

/* Whether two windows overlap.  A process has one window at a time, except for
 * the time it takes to end one and begin the next.
 */
static bool at_once (const struct fact *a, const struct fact *b)
{
    int64_t first = a->e->mono_end_ns - a->e->mono_start_ns;
    int64_t second = b->e->mono_end_ns - b->e->mono_start_ns;

    return a->window && b->window &&
           shared_time (a->e, b->e) >
               (first < second ? first : second) / JOBS_TOUCH;
}

bool fact_same_process (const struct fact *a, const struct fact *b)
{
    const struct fact *first = a->start_ns <= b->start_ns ? a : b;
    bool host = fact_one_host (a, b) ||
                (!both_boot (a, b) && a->e->host_name[0] &&
                 strcmp (a->e->host_name, b->e->host_name) == 0);

    return a->e->pid > 0 && a->e->pid == b->e->pid && host &&
           !fact_other_host (a, b) && !at_once (a, b) &&
           goes_on (first, first == a ? b : a);
}

bool fact_overlap (const struct fact *a, const struct fact *b)
{
    if (!a->window || !b->window)
        return false;
    if (fact_one_host (a, b))   // boot times are exact to some ms only
        return a->e->mono_start_ns < b->e->mono_end_ns &&
               b->e->mono_start_ns < a->e->mono_end_ns;
    return a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}
