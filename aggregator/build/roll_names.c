/* aggregator/build/roll_names.c - ranks from the names of traces */
#include "build/roll_names.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 16           // numbers in one name

struct nameless {
    struct roll_item **v;       // traces without a rank, by name
    size_t n;
    bool *taken;                // ranks that others have, or were just given
    size_t nranks;              // of all traces
    size_t known;               // traces that say their rank
};

static bool ends_with (const char *s, const char *end)
{
    size_t n = strlen (s), m = strlen (end);

    return n >= m && strcmp (s + n - m, end) == 0;
}

/* One file: of torch.profiler, or exported alone by torch_npu. */
static bool is_trace (const struct capture *c)
{
    return strcmp (c->framework, "kineto") == 0 ||
           ends_with (c->name, ".json") || ends_with (c->name, ".json.gz");
}

/* A number of the name, counted from its start or, if 'place' is negative, the
 * one behind "rank" or "worker"; -1 if there is none.
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
            v = v < CAPTURE_WORLD_MAX ? 10 * v + (*p - '0') : v;
        if (place == 0)
            return v;
    }
}

/* Whether the numbers of that place are the ranks that are missing. */
static bool try_place (struct nameless *l, bool *seen, int place)
{
    memcpy (seen, l->taken, l->nranks * sizeof (*seen));
    for (size_t i = 0; i < l->n; i++) {
        int64_t rank = number_at (l->v[i]->capture.name, place);

        if (rank < 0 || rank >= (int64_t)l->nranks || seen[rank])
            return false;
        seen[rank] = true;
    }
    return true;
}

static int by_name (const void *pa, const void *pb)
{
    const struct roll_item *a = *(struct roll_item *const *)pa;
    const struct roll_item *b = *(struct roll_item *const *)pb;
    int names = strcmp (a->capture.name, b->capture.name);

    return names ? names : (a->source > b->source) - (a->source < b->source);
}

static void give (struct nameless *l, bool *seen)
{
    int place = -1;

    while (place < PLACES_MAX && !try_place (l, seen, place))
        place++;
    if (place == PLACES_MAX && l->known > 0)
        return;                 // nobody can tell: they are unexpected
    for (size_t i = 0; i < l->n; i++) {
        struct roll_item *item = l->v[i];

        item->capture.rank = place == PLACES_MAX
                                 ? (int64_t)i
                                 : number_at (item->capture.name, place);
        item->rank_by = place == PLACES_MAX
            ? "the trace does not say its rank: it is by the order of the "
              "files' names"
            : "the trace does not say its rank: it is the number in the "
              "file's name";
    }
}

/* Sort out who has a rank; false if there is nothing to do. */
static bool collect (struct nameless *l, struct roll_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_trace (&items[i].capture))
            return false;       // a rank of a guess might be another's
        l->nranks++;
        if (items[i].capture.rank == CAPTURE_NO_RANK)
            l->v[l->n++] = &items[i];
    }
    for (size_t i = 0; i < n; i++) {
        int64_t rank = items[i].capture.rank;

        l->known += rank != CAPTURE_NO_RANK;
        if (rank >= 0 && rank < (int64_t)l->nranks)
            l->taken[rank] = true;
    }
    return l->n > 0 && n > 1;
}

void roll_name_ranks (struct roll_item *items, size_t n)
{
    struct nameless l = { .v = calloc (n + 1, sizeof (*l.v)),
                          .taken = calloc (n + 1, sizeof (*l.taken)) };
    bool *seen = calloc (n + 1, sizeof (*seen));

    if (l.v && l.taken && seen && collect (&l, items, n)) {
        qsort (l.v, l.n, sizeof (*l.v), by_name);
        give (&l, seen);
    }
    free (seen);
    free (l.taken);
    free (l.v);
}
