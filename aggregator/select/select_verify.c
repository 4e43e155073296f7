/* aggregator/select/select_verify.c - verify the ranks of captures */
#include "select/select_verify.h"

#include "base/cmp.h"
#include "select/select_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES_MAX 64       // possible ranks of ops, by lists of one name
#define TOLD_MAX 384            // bytes of a sentence on a capture's rank
#define NAMES 7                 // places that name a rank

#define LEFT_OUT "its rank is in doubt, and its rows are left out of " \
    "waits, means and findings"

/* The groups that the job's captures list, by name. */
struct lists {
    const struct comm_group **v;
    size_t n;
};

/* The findings about a capture. */
struct proof {
    int64_t filed;              // its rank until now; sort key
    struct select_item *item;
    bool checked;               // ops have a position in a group that is listed
    bool wrong;                 // ... which is not that of the filed rank
    bool differ;                // its own metadata disagree on the rank
    bool by_mpi;                // MPI and its launcher differ
    bool stays;                 // it keeps its rank
    int64_t truth;              // the rank of its ops, or CAPTURE_NO_RANK
    int64_t metadata;           // that its program knows, or CAPTURE_NO_RANK
    const char *group;          // the first group that proves it wrong
    int32_t place;              // the position there, or EVIDENCE_UNKNOWN
};

/* ---- lists ---- */

static int compare_lists (const void *pa, const void *pb)
{
    const struct comm_group *a = *(const struct comm_group *const *)pa;
    const struct comm_group *b = *(const struct comm_group *const *)pb;
    int names = strcmp (a->name, b->name);

    return names ? names : (a > b) - (a < b);
}

static bool is_judged (const struct select_item *item)
{
    return item->rank != CAPTURE_NO_RANK && !item->skip &&
           capture_has_rows (&item->capture);
}

static int collect_lists (struct lists *l, const struct select_item *items,
                          size_t n)
{
    size_t all = 0, used = 0;

    for (size_t i = 0; i < n; i++)
        all += items[i].groups.n;
    if (!(l->v = calloc (all + 1, sizeof (*l->v))))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].groups.n && is_judged (&items[i]); k++)
            l->v[l->n++] = items[i].groups.list[k];
    }
    if (l->n > 0)
        qsort (l->v, l->n, sizeof (*l->v), compare_lists);
    for (size_t i = 0; i < l->n; i++) {         // drop duplicates
        if (used == 0 || l->v[used - 1] != l->v[i])
            l->v[used++] = l->v[i];
    }
    l->n = used;
    return 0;
}

static int compare_name (const void *list, const void *name)
{
    return strcmp ((*(const struct comm_group *const *)list)->name, name);
}

static int compare_name_up (const void *list, const void *name)
{
    return compare_name (list, name) <= 0 ? -1 : 1;
}

/* The number of lists with a name, which begin at *first. */
static size_t lists_of (const struct lists *l, const char *name, size_t *first)
{
    *first = cmp_place (name, l->v, l->n, sizeof (*l->v), compare_name);
    return cmp_place (name, l->v, l->n, sizeof (*l->v), compare_name_up) -
           *first;
}

/* ---- one capture ---- */

struct candidates {
    int64_t ranks[CANDIDATES_MAX];
    size_t n;
    bool any;                   // a group was checked
};

static bool select_verify_has (const struct candidates *c, int64_t rank)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->ranks[i] == rank)
            return true;
    }
    return false;
}

/* The ranks at a position of these lists. */
static void ranks_at (const struct lists *l, size_t first, size_t n,
                      int32_t place, struct candidates *ret)
{
    ret->n = 0;
    for (size_t i = first; i < first + n && ret->n < CANDIDATES_MAX; i++) {
        if ((uint32_t)place < l->v[i]->nmembers)
            ret->ranks[ret->n++] = l->v[i]->members[place];
    }
}

static bool is_member (const struct lists *l, size_t first, size_t n,
                       int64_t rank)
{
    for (size_t i = first; i < first + n; i++) {
        for (uint32_t k = 0; k < l->v[i]->nmembers; k++) {
            if (l->v[i]->members[k] == rank)
                return true;
        }
    }
    return false;
}

static void keep_common (struct candidates *all, const struct candidates *one)
{
    size_t used = 0;

    if (!all->any) {
        *all = *one;
        all->any = true;
        return;
    }
    for (size_t i = 0; i < all->n; i++) {
        if (select_verify_has (one, all->ranks[i]))
            all->ranks[used++] = all->ranks[i];
    }
    all->n = used;
}

static void blame_group (struct proof *p, const struct comm_group *g,
                         int32_t place)
{
    p->wrong = true;
    if (p->group)
        return;
    p->group = g->pg_name && *g->pg_name ? g->pg_name : g->id;
    p->place = place;
}

/* A trace's positions are computed from the rank that it states, so they prove
 * nothing.
 */
static bool is_trace (const struct capture *c)
{
    return strcmp (c->framework, "kineto") == 0;
}

static void check_group (const struct lists *l, struct proof *p,
                         const struct evidence_group *g,
                         struct candidates *all)
{
    struct candidates one = { .n = 0 };
    size_t first, n = lists_of (l, g->name, &first);

    if (n == 0 || g->own == EVIDENCE_SEVERAL)
        return;
    if (g->own < 0 || is_trace (&p->item->capture)) {
        if (!is_member (l, first, n, p->filed))
            blame_group (p, l->v[first], EVIDENCE_UNKNOWN);
        return;
    }
    ranks_at (l, first, n, g->own, &one);
    p->checked = true;
    if (!select_verify_has (&one, p->filed))
        blame_group (p, l->v[first], g->own);
    if (n <= CANDIDATES_MAX)
        keep_common (all, &one);
}

static const struct {
    const char *what;
    size_t offset;
} names[NAMES] = {
#define NAME(m, what) { what, offsetof (struct evidence_ranks, m) }
    NAME (info_name, "the name of profiler_info"),
    NAME (info, "rank_id in it"),
    NAME (db_name, "the name of the event database"),
    NAME (db_map, "RANK_DEVICE_MAP"),
    NAME (args, "distributed_args"),
    NAME (group, "the world's group"),
    NAME (trace, "distributedInfo"),
#undef NAME
};

static int64_t named (const struct capture *c, size_t i)
{
    int64_t v;

    memcpy (&v, (const char *)&c->evidence.ranks + names[i].offset,
            sizeof (v));
    return v;
}

static void check_names (struct proof *p)
{
    const struct capture *c = &p->item->capture;
    const struct evidence_ranks *r = &c->evidence.ranks;

    for (size_t i = 0; i < NAMES; i++) {
        int64_t v = named (c, i);

        if (v >= 0 && v != p->filed)
            p->differ = true;
    }
    if (r->args < 0 || r->group < 0 || r->args == r->group)
        p->metadata = r->group >= 0 ? r->group : r->args;
}

static void check (const struct lists *l, struct select_item *item,
                   struct proof *p)
{
    const struct evidence *e = &item->capture.evidence;
    struct candidates all = { .n = 0 };

    *p = (struct proof){ .item = item, .filed = item->rank,
                         .truth = CAPTURE_NO_RANK,
                         .metadata = CAPTURE_NO_RANK, .stays = true,
                         .place = EVIDENCE_UNKNOWN };
    for (uint32_t i = 0; i < e->ngroups; i++)
        check_group (l, p, &e->groups[i], &all);
    check_names (p);
    if (all.n == 1)
        p->truth = all.ranks[0];
    else if (p->checked && !p->wrong)
        p->truth = item->rank;  // one of several candidates
    p->by_mpi = item->mpi && item->mpi->mpi_rank != p->filed;
    item->verified = !p->wrong && (p->checked || (item->mpi && !p->differ &&
                                                  !p->by_mpi));
}

/* ---- all of them ---- */

/* Detect captures that were given the rank on their host: their programs know
 * the same number, modulo the number of ranks of a host.
 */
static int64_t ranks_of_host (const struct proof *p, size_t n)
{
    int64_t highest = -1, world = 0;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        int64_t rank = p[i].filed;

        if (p[i].metadata == CAPTURE_NO_RANK ||
            (p[i].checked && p[i].truth != p[i].metadata))
            return 0;
        highest = rank > highest ? rank : highest;
        any = any || rank != p[i].metadata;
        if (p[i].item->capture.world_size > world)
            world = p[i].item->capture.world_size;
    }
    if (!any || world < 2 * (highest + 1) || world % (highest + 1) != 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i].filed != p[i].metadata % (highest + 1))
            return 0;
    }
    return highest + 1;
}

static void select_verify_tell (struct select_item *item, const char *text)
{
    free (item->told);
    item->told = strdup (text);
}

static void renumber (struct proof *p, size_t n, int64_t of_host)
{
    char text[TOLD_MAX];

    (void)snprintf (text, sizeof (text), "RANK gave the profiler ranks within "
                    "hosts of %lld: filed under the program's own "
                    "ranks", (long long)of_host);
    for (size_t i = 0; i < n; i++) {
        if (p[i].filed != p[i].metadata)
            select_verify_tell (p[i].item, text);
        p[i].item->rank = p[i].metadata;
        p[i].item->verified = p[i].checked;
    }
}

static bool contradicts (const struct proof *p)
{
    return p->wrong || p->differ || p->by_mpi;
}

/* The first entry of a rank; the list is sorted. */
static const struct proof *at_rank (const struct proof *p, size_t n,
                                    int64_t rank)
{
    size_t low = cmp_place (&rank, p, n, sizeof (*p), cmp_int64);

    return low < n && p[low].filed == rank ? &p[low] : NULL;
}

/* Whether the rank of its ops is free: all captures filed there move away. */
static bool is_free (const struct proof *p, size_t n, int64_t rank)
{
    const struct proof *q = at_rank (p, n, rank);

    for (; q && q < p + n && q->filed == rank; q++) {
        if (q->stays)
            return false;
    }
    return true;
}

static int compare_truths (const void *pa, const void *pb)
{
    const struct proof *a = *(const struct proof *const *)pa;
    const struct proof *b = *(const struct proof *const *)pb;

    if (a->truth != b->truth)
        return a->truth < b->truth ? -1 : 1;
    return (a->filed > b->filed) - (a->filed < b->filed);
}

/* The captures that are to move, by where to. */
struct moves {
    struct proof **v;
    size_t n;
};

static int list_moves (struct moves *m, struct proof *p, size_t n)
{
    if (!(m->v = calloc (n + 1, sizeof (*m->v))))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!p[i].stays)
            m->v[m->n++] = &p[i];
    }
    if (m->n > 0)
        qsort (m->v, m->n, sizeof (*m->v), compare_truths);
    return 0;
}

/* Refuse moves to a rank that captures of two other ranks claim. */
static void refuse_claims (struct moves *m)
{
    for (size_t i = 0, end; i < m->n; i = end) {
        for (end = i + 1; end < m->n && m->v[end]->truth == m->v[i]->truth;)
            end++;
        for (size_t k = i; k < end; k++)
            m->v[k]->stays = m->v[i]->filed != m->v[end - 1]->filed;
    }
}

static int compare_truth (const void *proof, const void *rank)
{
    int64_t a = (*(const struct proof *const *)proof)->truth;
    int64_t b = *(const int64_t *)rank;

    return (a > b) - (a < b);
}

/* 'todo' has room for all: each is added once. */
static void keep_rank (struct proof **todo, size_t *n, struct proof *p)
{
    p->stays = true;
    todo[(*n)++] = p;
}

/* Decide which captures move to which rank: those whose ops are of one rank, if
 * no other capture stays there.
 */
static int plan_moves (struct proof *p, size_t n)
{
    struct proof **todo = calloc (n + 1, sizeof (*todo));
    struct moves m = { NULL, 0 };
    size_t ntodo = 0;
    int rc;

    for (size_t i = 0; i < n; i++)
        p[i].stays = !p[i].wrong || p[i].truth == CAPTURE_NO_RANK ||
                     p[i].truth == p[i].filed;
    if ((rc = todo ? list_moves (&m, p, n) : -ENOMEM) == 0)
        refuse_claims (&m);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!p[i].stays && !is_free (p, n, p[i].truth))
            keep_rank (todo, &ntodo, &p[i]);
    }
    // who stays keeps others from moving there
    while (ntodo > 0) {
        int64_t rank = todo[--ntodo]->filed;
        size_t k = cmp_place (&rank, m.v, m.n, sizeof (*m.v), compare_truth);

        for (; k < m.n && m.v[k]->truth == rank; k++) {
            if (!m.v[k]->stays)
                keep_rank (todo, &ntodo, m.v[k]);
        }
    }
    free (todo);
    free (m.v);
    return rc;
}

/* ---- what is said ---- */

/* "the name of profiler_info says rank 0, distributed_args 1": for each named
 * rank the first source.
 */
static void list_names (const struct capture *c, char *out, size_t max)
{
    size_t used = 0;
    bool said;

    out[0] = '\0';
    for (size_t i = 0; i < NAMES && used < max; i++) {
        said = named (c, i) < 0;
        for (size_t k = 0; k < i && !said; k++)
            said = named (c, k) == named (c, i);
        if (!said)
            used += (size_t)snprintf (out + used, max - used, "%s%s %s %lld",
                                      used ? ", " : "", names[i].what,
                                      used ? "says" : "says rank",
                                      (long long)named (c, i));
    }
}

static void list_place (const struct proof *p, char *out, size_t max)
{
    if (p->place >= 0)
        (void)snprintf (out, max, "its ops are at position %d of group %.40s",
                        (int)p->place, p->group);
    else
        (void)snprintf (out, max, "its ops use group %.40s, of which rank "
                        "%lld is not a member", p->group,
                        (long long)p->filed);
}

/* MPI and the launcher's variables name different ranks, and nothing else
 * contradicts the rank.  Ops that confirm it count more than either.
 */
static void tell_mpi (struct proof *p)
{
    struct select_item *item = p->item;
    char text[TOLD_MAX];

    (void)snprintf (text, sizeof (text), "the launcher's rank %lld is rank "
                    "%lld of %lld in MPI: %s",
                    (long long)p->filed, (long long)item->mpi->mpi_rank,
                    (long long)item->mpi->mpi_size,
                    p->checked ? "filed as its ops say" : LEFT_OUT);
    item->rank_contradicted = p->checked;
    item->doubt = !p->checked;
    select_verify_tell (item, text);
}

static void tell_found (struct proof *p)
{
    struct select_item *item = p->item;
    char text[TOLD_MAX], why[TOLD_MAX / 2];

    if (!p->wrong && !p->differ) {
        tell_mpi (p);
        return;
    }
    if (p->wrong)
        list_place (p, why, sizeof (why));
    else
        list_names (&item->capture, why, sizeof (why));
    if (!p->stays) {
        (void)snprintf (text, sizeof (text), "it says that it is rank %lld, "
                        "but %s, which is rank %lld: filed under rank %lld; "
                        "were files of two ranks exchanged?",
                        (long long)p->filed, why, (long long)p->truth,
                        (long long)p->truth);
        item->rank = p->truth;
        item->rank_contradicted = item->verified = true;
    } else if (!p->wrong && p->checked) {
        (void)snprintf (text, sizeof (text), "%s: filed under rank %lld, as "
                        "its ops say; were files of two ranks exchanged?", why,
                        (long long)p->filed);
        item->rank_contradicted = true;
    } else if (p->wrong && p->truth >= 0) {
        (void)snprintf (text, sizeof (text), "it says that it is rank %lld, "
                        "but %s, which is rank %lld, and so is another "
                        "capture: " LEFT_OUT, (long long)p->filed, why,
                        (long long)p->truth);
        item->doubt = true;
    } else {
        (void)snprintf (text, sizeof (text), "%s%s: " LEFT_OUT,
                        p->wrong ? "it says that it is another rank, but "
                                 : "", why);
        item->doubt = true;
    }
    select_verify_tell (item, text);
}

void select_tell (struct select_item *item)
{
    struct capture *c = &item->capture;

    if (item->judged)
        c->rank = item->rank;
    if (item->told)
        capture_reason (c, "%s", item->told);
    if (item->doubt && c->state == CAPTURE_COMPLETE)
        c->state = CAPTURE_PARTIAL;
}

static int select_verify_judge (struct proof *p, size_t n)
{
    int64_t of_host = ranks_of_host (p, n);
    bool any = false;
    int rc;

    for (size_t i = 0; i < n; i++)
        any = any || contradicts (&p[i]);
    if (!any)
        return 0;
    if (of_host > 0) {
        renumber (p, n, of_host);
        return 0;
    }
    if ((rc = plan_moves (p, n)) < 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        if (contradicts (&p[i]))
            tell_found (&p[i]);
    }
    return 0;
}

int select_verify (struct select_item *items, size_t n, bool *again)
{
    struct proof *p = calloc (n + 1, sizeof (*p));
    struct lists l = { NULL, 0 };
    size_t used = 0;
    int rc = p ? collect_lists (&l, items, n) : -ENOMEM;

    *again = false;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (is_judged (&items[i]) && !items[i].judged)
            check (&l, &items[i], &p[used++]);
    }
    if (used > 0 && rc == 0) {
        qsort (p, used, sizeof (*p), cmp_int64);
        rc = select_verify_judge (p, used);
    }
    for (size_t i = 0; i < used && rc == 0; i++) {
        struct select_item *item = p[i].item;

        item->judged = true;
        *again = *again || item->rank != p[i].filed;
        select_tell (item);
    }
    if (rc == 0)
        rc = select_name_processes (items, n, again);
    free (l.v);
    free (p);
    return rc;
}
