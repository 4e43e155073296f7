/* aggregator/jobs/jobs_link.c - captures that are certainly of one job
 *
 * Rules 1 and 2 of doc/jobs.md: a given id, a root info that the members of a
 * group share, a process that continues, a copy of a capture.
 */
#include "jobs/jobs_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_IDS 100000        // "group_name_0" ..., which every job has

struct linker {
    struct facts *f;
    size_t *last;               // last capture of the knot with this index
    struct map plain;           // hashes that are not of one job alone
};

static const char *given (const struct linker *l, size_t knot)
{
    for (size_t i = knot; i != JOBS_NONE; i = l->f->list[i].next) {
        if (l->f->list[i].e->job[0])
            return l->f->list[i].e->job;
    }
    return "";
}

static size_t fixed (const struct linker *l, size_t knot)
{
    for (size_t i = knot; i != JOBS_NONE; i = l->f->list[i].next) {
        if (l->f->list[i].in->fixed != JOBS_NONE)
            return l->f->list[i].in->fixed;
    }
    return JOBS_NONE;
}

/* Captures with different assignments or given ids are never tied. */
static bool may_tie (const struct linker *l, size_t a, size_t b)
{
    size_t fa = fixed (l, a), fb = fixed (l, b);
    const char *ga = given (l, a), *gb = given (l, b);

    if (fa != JOBS_NONE && fb != JOBS_NONE)
        return fa == fb;
    return !*ga || !*gb || strcmp (ga, gb) == 0;
}

/* Merge two knots: the lower index becomes the knot's, and the other list is
 * appended.
 */
static void tie (struct linker *l, size_t a, size_t b)
{
    struct fact *list = l->f->list;
    size_t x = list[a].knot, y = list[b].knot;

    if (x == y || !may_tie (l, x, y))
        return;
    if (y < x) {
        size_t swap = x;

        x = y;
        y = swap;
    }
    for (size_t i = y; i != JOBS_NONE; i = list[i].next)
        list[i].knot = x;
    list[l->last[x]].next = y;
    l->last[x] = l->last[y];
}

/* Tie a capture to the first one with the same key. */
static int tie_by (struct linker *l, struct map *m, uint64_t key, size_t i)
{
    size_t *at = index_at (m, key);

    if (!at)
        return -ENOMEM;
    if (*at == JOBS_NONE)
        *at = i;
    else
        tie (l, *at, i);
    return 0;
}

static int tie_fixed (struct linker *l)
{
    struct map m = INDEXED;
    int rc = 0;

    for (size_t i = 0; i < l->f->n && rc == 0; i++) {
        if (l->f->list[i].in->fixed != JOBS_NONE)
            rc = tie_by (l, &m, l->f->list[i].in->fixed, i);
    }
    map_fini (&m);
    return rc;
}

static int tie_given (struct linker *l)
{
    struct map m = INDEXED;
    int rc = 0;

    for (size_t i = 0; i < l->f->n && rc == 0; i++) {
        const char *job = l->f->list[i].e->job;

        if (*job)
            rc = tie_by (l, &m, evidence_hash (0, job, strlen (job)), i);
    }
    map_fini (&m);
    return rc;
}

/* ---- root infos ---- */

static int fill_plain (struct linker *l)
{
    static const char *const names[] = { "hccl_world_group", "" };
    char hash[CAPTURE_HASH_MAX], id[32];

    for (int i = -2; i < PLAIN_IDS; i++) {
        size_t *at;

        PRINT (id, "group_name_%d", i);
        capture_group_hash (i < 0 ? names[i + 2] : id, hash);
        at = index_at (&l->plain, evidence_hash (0, hash, strlen (hash)));
        if (!at)
            return -ENOMEM;
        *at = 0;
    }
    return 0;
}

/* "<address>%<interface>_<port>_<n>_<us>" */
static bool is_root_info (const char *id)
{
    const char *at = strchr (id, '%');
    int fields = 0;

    for (; at && *at; at++)
        fields += *at == '_';
    return fields >= 3;
}

/* Whether no other capture has a group of that name: 1, 0, or -ENOMEM. */
static int is_own_name (struct linker *l, const struct fact *f,
                        const char *name)
{
    const struct comm_group *g = fact_group (f, name);

    if (g)
        return is_root_info (g->id);
    if (!f->named_groups || !*name)
        return 0;
    if (l->plain.n == 0 && fill_plain (l) < 0)
        return -ENOMEM;
    return index_get (&l->plain, evidence_hash (0, name, strlen (name))) ==
           JOBS_NONE;
}

static int tie_name (struct linker *l, struct map *m, size_t i,
                     const char *name)
{
    int own = is_own_name (l, &l->f->list[i], name);

    return own > 0 ? tie_by (l, m, evidence_hash (0, name, strlen (name)), i)
                   : own;
}

static int tie_root_infos (struct linker *l)
{
    struct map m = INDEXED;
    int rc = 0;

    for (size_t i = 0; i < l->f->n && rc == 0; i++) {
        const struct fact *f = &l->f->list[i];

        for (uint32_t g = 0; g < f->e->ngroups && rc == 0; g++)
            rc = tie_name (l, &m, i, f->e->groups[g].name);
        for (uint32_t g = 0; g < f->in->groups->n && rc == 0; g++)
            rc = tie_name (l, &m, i, f->in->groups->list[g]->name);
    }
    map_fini (&m);
    return rc;
}

/* ---- captures of one rank ---- */

static void tie_pair (struct linker *l, size_t i, size_t k)
{
    const struct fact *a = &l->f->list[i], *b = &l->f->list[k];

    if (fact_same_process (a, b) ||
        (fact_same_window (a, b) == SAME_YES && !fact_other_process (a, b)))
        tie (l, i, k);
}

/* Compare each capture with all others of its rank, which are few. */
static int tie_ranks (struct linker *l)
{
    size_t *before = calloc (l->f->n + 1, sizeof (*before));
    struct map m = INDEXED;
    int rc = before ? 0 : -ENOMEM;

    for (size_t i = 0; i < l->f->n && rc == 0; i++) {
        const struct fact *f = &l->f->list[i];
        size_t *at = index_at (&m, map_key ((uint64_t)f->rank,
                                      f->rank < 0 ? (uint64_t)f->e->pid : 0));

        if (!at) {
            rc = -ENOMEM;
            break;
        }
        before[i] = *at;
        *at = i;
        if (f->rank < 0 && f->e->pid == 0)
            continue;
        for (size_t k = before[i]; k != JOBS_NONE; k = before[k])
            tie_pair (l, k, i);
    }
    map_fini (&m);
    free (before);
    return rc;
}

int jobs_link (struct facts *f)
{
    struct linker l = { .f = f, .plain = INDEXED };
    int rc = 0;

    l.last = calloc (f->n + 1, sizeof (*l.last));
    if (!l.last)
        return -ENOMEM;
    for (size_t i = 0; i < f->n; i++)
        l.last[i] = i;
    if ((rc = tie_fixed (&l)) == 0 && (rc = tie_given (&l)) == 0 &&
        (rc = tie_root_infos (&l)) == 0)
        rc = tie_ranks (&l);
    map_fini (&l.plain);
    free (l.last);
    return rc;
}
