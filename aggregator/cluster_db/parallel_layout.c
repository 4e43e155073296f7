/* aggregator/cluster_db/parallel_layout.c - find a rank's place in the parallel
 * job
 */
#include "cluster_db/parallel_layout.h"

#include "base/cmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PIPELINE "pp"           // prefix of the names of such groups

/* ---- sizes ---- */

static bool multiply (int64_t *product, int64_t size)
{
    return size >= 1 && !__builtin_mul_overflow (*product, size, product);
}

bool parallel_usable (struct parallel_sizes *s, int64_t highest)
{
    int64_t product = 1;

    if (s->context == 0)
        s->context = 1;
    if (!multiply (&product, s->tensor) || !multiply (&product, s->pipeline) ||
        !multiply (&product, s->data) || !multiply (&product, s->context) ||
        highest >= s->world)
        return false;
    if (product != s->world && product / s->context == s->world &&
        s->data % s->context == 0) {
        s->data /= s->context;
        product /= s->context;
    }
    return product == s->world;
}

struct parallel_index parallel_of (const struct parallel_sizes *s,
                                   int64_t rank)
{
    int64_t outer = rank / s->tensor / s->context;

    return (struct parallel_index){ .data = outer % s->data,
                                    .pipeline = outer / s->data,
                                    .tensor = rank % s->tensor };
}

/* ---- disjoint sets of ranks; the lowest rank stands for its set ---- */

struct sets {
    int32_t *up;                // by rank: another one of its set; -1: in none
    uint32_t n;
};

static int sets_init (struct sets *s, uint32_t n)
{
    s->n = n;
    if (!(s->up = malloc ((n + 1) * sizeof (*s->up))))
        return -ENOMEM;
    memset (s->up, 0xff, (n + 1) * sizeof (*s->up));
    return 0;
}

static int32_t top_of (struct sets *s, int32_t rank)
{
    while (s->up[rank] >= 0 && s->up[rank] != rank) {
        s->up[rank] = s->up[s->up[rank]];
        rank = s->up[rank];
    }
    return s->up[rank] < 0 ? -1 : rank;
}

static void unite (struct sets *s, const struct parallel_group *g)
{
    for (uint32_t i = 0; i < g->nranks; i++) {
        int32_t rank = g->ranks[i], a, b;

        if (s->up[rank] < 0)
            s->up[rank] = rank;
        a = top_of (s, g->ranks[0]);
        b = top_of (s, rank);
        s->up[a < b ? b : a] = a < b ? a : b;
    }
}

/* ---- stages ---- */

static bool is_pipeline (const struct parallel_group *g)
{
    return strncasecmp (g->pg_name, PIPELINE, strlen (PIPELINE)) == 0;
}

/* Whether no two of its ranks are in the same pipeline. */
static bool is_within (struct sets *pipelines, const struct parallel_group *g,
                       int32_t *tops)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->nranks; i++) {
        int32_t top = top_of (pipelines, g->ranks[i]);

        if (top >= 0)
            tops[n++] = top;
    }
    qsort (tops, n, sizeof (*tops), cmp_int32);
    for (uint32_t i = 1; i < n; i++) {
        if (tops[i] == tops[i - 1])
            return false;
    }
    return true;
}

static uint32_t count_ranks (const struct parallel_group *groups, size_t n)
{
    int32_t highest = -1;

    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < groups[i].nranks; k++) {
            if (groups[i].ranks[k] > highest)
                highest = groups[i].ranks[k];
        }
    }
    return (uint32_t)(highest + 1);
}

int stages_find (const struct parallel_group *groups, size_t n,
                 struct stages *ret, struct err *err)
{
    uint32_t nranks = count_ranks (groups, n);
    struct sets pipelines = { NULL, 0 }, stages = { NULL, 0 };
    int32_t *tops = calloc (nranks + 1, sizeof (*tops));

    *ret = (struct stages){ .nranks = nranks };
    if (!tops || sets_init (&pipelines, nranks) < 0 ||
        sets_init (&stages, nranks) < 0) {
        free (tops);
        free (pipelines.up);
        free (stages.up);
        return err_set (err, ENOMEM, "no memory for stages");
    }
    for (size_t i = 0; i < n; i++) {
        if (is_pipeline (&groups[i]) && groups[i].nranks > 0) {
            unite (&pipelines, &groups[i]);
            ret->any = true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_pipeline (&groups[i]) && !groups[i].p2p &&
            is_within (&pipelines, &groups[i], tops))
            unite (&stages, &groups[i]);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        if (top_of (&stages, (int32_t)r) < 0 && pipelines.up[r] >= 0)
            stages.up[r] = (int32_t)r;
        stages.up[r] = top_of (&stages, (int32_t)r);
    }
    ret->of = stages.up;
    free (pipelines.up);
    free (tops);
    return 0;
}

void stages_fini (struct stages *s)
{
    free (s->of);
    *s = (struct stages){ .of = NULL };
}
