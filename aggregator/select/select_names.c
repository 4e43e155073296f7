/* aggregator/select/select_names.c - ranks of traces that do not record them */
#include "select/select_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 16           // numbers in one name
#define STAMP_DIGITS 13         // of the ms since 1970; of ns there are more

/* A trace without a rank, and the worker that its name gives. */
struct nameless {
    struct select_item *item;
    char worker[CAPTURE_NAME_MAX];      // the name without its date
    bool dated;                 // so that several of one worker are one process
};

struct names {
    struct nameless *v;         // by worker
    size_t n;
    bool *taken;                // ranks that others have
    size_t nranks;              // of all traces, as far as they are known
    size_t known;               // traces that record their rank
};

static size_t without (const char *s, size_t n, const char *end)
{
    size_t m = strlen (end);

    return n >= m && memcmp (s + n - m, end, m) == 0 ? n - m : n;
}

/* Whether it is one file, from torch.profiler or exported alone by torch_npu.
 */
static bool is_trace (const struct capture *c)
{
    size_t n = strlen (c->name);

    return strcmp (c->framework, "kineto") == 0 ||
           without (c->name, n, ".json") < n ||
           without (c->name, n, ".json.gz") < n;
}

/* Get the worker from "<worker>.<ns>.pt.trace.json". */
static void parse (struct nameless *t, struct select_item *item)
{
    const char *name = item->capture.name;
    size_t n = strlen (name), end, digits;

    t->item = item;
    end = without (name, without (name, n, ".gz"), ".pt.trace.json");
    for (digits = 0; digits < end &&
                     (unsigned)(name[end - 1 - digits] - '0') <= 9;)
        digits++;
    t->dated = end < n && digits >= STAMP_DIGITS && digits < end &&
               name[end - 1 - digits] == '.';
    (void)snprintf (t->worker, sizeof (t->worker), "%.*s",
                    (int)(t->dated ? end - 1 - digits : n), name);
}

/* The number at this place of the name, counted from the start; a negative
 * 'place' means the one after "rank" or "worker".  -1: there is none.
 */
static int64_t number_at (const char *name, int place)
{
    const char *p = name;
    int64_t v;

    if (place < 0) {
        const char *rank = strstr (name, "rank");

        p = rank ? rank + 4 : (p = strstr (name, "worker")) ? p + 6 : NULL;
        if (p && (*p == '_' || *p == '-'))
            p++;
        if (!p || (unsigned)(*p - '0') > 9)
            return -1;
        place = 0;
    }
    for (;; place--) {
        while (*p && (unsigned)(*p - '0') > 9)
            p++;
        if (!*p)
            return -1;
        for (v = 0; (unsigned)(*p - '0') <= 9; p++)
            v = v < capture_world_max ? 10 * v + (*p - '0') : v;
        if (place == 0)
            return v;
    }
}

static bool same_worker (const struct nameless *a, const struct nameless *b)
{
    return a->dated && b->dated && strcmp (a->worker, b->worker) == 0;
}

/* Whether the numbers at this place are exactly the missing ranks. */
static bool try_place (struct names *l, bool *seen, int place)
{
    memcpy (seen, l->taken, l->nranks * sizeof (*seen));
    for (size_t i = 0; i < l->n; i++) {
        int64_t rank = number_at (l->v[i].worker, place);

        if (i > 0 && same_worker (&l->v[i - 1], &l->v[i]))
            continue;
        if (rank < 0 || rank >= (int64_t)l->nranks || seen[rank])
            return false;
        seen[rank] = true;
    }
    return true;
}

static int by_worker (const void *pa, const void *pb)
{
    const struct nameless *a = pa, *b = pb;
    int workers = strcmp (a->worker, b->worker);

    if (workers || a->dated != b->dated)
        return workers ? workers : a->dated - b->dated;
    return (a->item->source > b->item->source) -
           (a->item->source < b->item->source);
}

static void select_names_give (struct names *l, bool *seen)
{
    // with one worker any number would fit
    int place = -1, end = l->nranks > 1 ? PLACES_MAX : 0;

    while (place < end && !try_place (l, seen, place))
        place++;
    if (place == end)
        return;                 // select_name_processes may know more
    for (size_t i = 0; i < l->n; i++) {
        l->v[i].item->capture.rank = number_at (l->v[i].worker, place);
        l->v[i].item->rank_by = "the trace does not record its rank: it is "
                                "taken from the file's name";
    }
}

/* Collect the traces without a rank; false if there is nothing to do. */
static bool select_names_collect (struct names *l, struct select_item *items,
                                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_trace (&items[i].capture))
            return false;       // a guessed rank might be another's
        if (items[i].capture.rank == CAPTURE_NO_RANK)
            parse (&l->v[l->n++], &items[i]);
    }
    if (l->n > 0)
        qsort (l->v, l->n, sizeof (*l->v), by_worker);
    for (size_t i = 0; i < l->n; i++)
        l->nranks += i == 0 || !same_worker (&l->v[i - 1], &l->v[i]);
    for (size_t i = 0; i < n; i++) {
        int64_t rank = items[i].capture.rank;

        if (rank == CAPTURE_NO_RANK)
            continue;
        l->nranks += rank >= (int64_t)n || !l->taken[rank];
        if (rank < (int64_t)n)
            l->taken[rank] = true;
    }
    return l->n > 0 && n > 1;
}

void select_name_ranks (struct select_item *items, size_t n)
{
    struct names l = { .v = calloc (n + 1, sizeof (*l.v)),
                       .taken = calloc (n + 1, sizeof (*l.taken)) };
    bool *seen = calloc (n + 1, sizeof (*seen));

    if (l.v && l.taken && seen && select_names_collect (&l, items, n))
        select_names_give (&l, seen);
    free (seen);
    free (l.taken);
    free (l.v);
}

/* ---- when they have been read ---- */

/* The process must be known; other unknown values do not count. */
static bool same_process (const struct capture *a, const struct capture *b)
{
    const struct evidence *ea = &a->evidence, *eb = &b->evidence;

    return ea->pid > 0 && ea->pid == eb->pid && a->device_id == b->device_id &&
           !evidence_differ (a->host, b->host) &&
           !evidence_differ (ea->host_key, eb->host_key) &&
           !evidence_differ (ea->host_name, eb->host_name);
}

static int by_start (const void *pa, const void *pb)
{
    const struct capture *a = &(*(struct select_item *const *)pa)->capture;
    const struct capture *b = &(*(struct select_item *const *)pb)->capture;

    return (a->started_ns > b->started_ns) - (a->started_ns < b->started_ns);
}

static bool is_copy (const struct capture *a, const struct capture *b)
{
    return a->started_ns == b->started_ns && a->ended_ns == b->ended_ns &&
           strcmp (a->name, b->name) == 0;
}

/* Whether all traces can be of one process.  A process is in one place at a
 * time: overlapping traces are from two hosts with the same process number.
 */
static bool are_one_process (struct select_item **v, size_t n)
{
    qsort (v, n, sizeof (*v), by_start);
    for (size_t i = 1; i < n; i++) {
        const struct capture *a = &v[i - 1]->capture, *b = &v[i]->capture;

        if (!same_process (a, b) || a->ended_ns <= 0 || b->started_ns <= 0 ||
            (b->started_ns < a->ended_ns && !is_copy (a, b)))
            return false;
    }
    return true;
}

static bool has_no_rank (const struct select_item *item)
{
    return item->rank == CAPTURE_NO_RANK && !item->skip &&
           item->capture.state == CAPTURE_UNEXPECTED;
}

int select_name_processes (struct select_item *items, size_t n, bool *again)
{
    struct select_item **v = calloc (n + 1, sizeof (struct select_item *));
    size_t used = 0;

    if (!v)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (has_no_rank (&items[i]))
            v[used++] = &items[i];
        else if (items[i].rank != CAPTURE_NO_RANK)
            n = used = 0;       // one has a rank: another world
    }
    if (used == 0 || used < n || (used > 1 && !are_one_process (v, used)))
        used = 0;
    for (size_t i = 0; i < used; i++) {
        v[i]->rank = v[i]->capture.rank = 0;
        v[i]->capture.world_size = 1;
        if (used > 1)
            v[i]->rank_by = "no trace records a rank: they are of one process, "
                            "so of one rank";
    }
    *again = *again || used > 0;
    free (v);
    return 0;
}
