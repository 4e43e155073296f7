/* aggregator/builder/groups.c - the communicator groups of a whole job */
#include "builder/groups.h"

#include "base/cmp.h"
#include "base/map.h"
#include "base/texts.h"
#include "base/vec.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct comm_group g;        // id NULL: known from ops only
    bool collective, p2p;
    struct entry *next;         // in the chain
};

/* Several groups share a name, and others keep pointers to entries. */
struct chain {
    uint64_t hash;
    struct entry *first;
};

struct groups {
    struct map chains;
    size_t n;
    bool seen;                  // an entry is known from ops only
};

struct groups *groups_create (void)
{
    struct groups *g = calloc (1, sizeof (*g));

    if (g)
        g->chains = (struct map)MAP (struct chain, 1);
    return g;
}

static void entry_free (struct entry *e)
{
    comm_group_fini (&e->g);
    free (e);
}

void groups_destroy (struct groups *g)
{
    for (uint32_t i = 0; g && i < g->chains.n; i++) {
        struct chain *c = map_at (&g->chains, i);

        for (struct entry *e = c->first, *next; e; e = next) {
            next = e->next;
            entry_free (e);
        }
    }
    if (g)
        map_fini (&g->chains);
    free (g);
}

/* Of the members three tell most groups apart; lists of equal hash are compared
 * in full.
 */
static uint64_t hash_of (const struct comm_group *g)
{
    uint64_t hash = texts_hash (g->name, strlen (g->name));

    if (!g->id || g->nmembers == 0)
        return hash;
    hash = map_key (hash, g->nmembers);
    hash = map_key (hash, (uint64_t)g->members[0]);
    hash = map_key (hash, (uint64_t)g->members[g->nmembers / 2]);
    return map_key (hash, (uint64_t)g->members[g->nmembers - 1]);
}

static bool same_group (const struct comm_group *a, const struct comm_group *b)
{
    if (!a->id || !b->id)
        return !a->id && !b->id && strcmp (a->name, b->name) == 0;
    return strcmp (a->id, b->id) == 0 && a->nmembers == b->nmembers &&
           (a->members == b->members ||
            memcmp (a->members, b->members,
                    a->nmembers * sizeof (*a->members)) == 0);
}

/* Ranks may call one group by different names, or one does not name it.  The
 * least name is kept, as captures come in any order.
 */
static void choose_name (struct comm_group *kept, struct comm_group *other)
{
    char *name = other->pg_name;

    if (!name || !*name ||
        (kept->pg_name && *kept->pg_name && strcmp (kept->pg_name, name) <= 0))
        return;
    other->pg_name = kept->pg_name;
    kept->pg_name = name;
}

/* The entry of a group; it takes over what it needs of the group.  NULL without
 * memory.
 */
static struct entry *intern (struct groups *g, struct comm_group *group)
{
    uint64_t hash = hash_of (group);
    bool is_new;
    struct chain *chain = map_put (&g->chains, &hash, &is_new);
    struct entry *e;

    if (!chain)
        return NULL;
    for (e = chain->first; e; e = e->next) {
        if (same_group (&e->g, group)) {
            choose_name (&e->g, group);
            return e;
        }
    }
    if (!(e = calloc (1, sizeof (*e))))
        return NULL;
    e->g = *group;
    memset (group, 0, sizeof (*group));
    e->next = chain->first;
    chain->first = e;
    g->n++;
    return e;
}

/* The entry of a name that no metadata explains; adds 'rank' to its members,
 * perhaps again.
 */
static struct entry *intern_seen (struct groups *g, const char *name,
                                  int32_t rank)
{
    struct comm_group seen = { .id = NULL };
    struct entry *e;
    int32_t *member;
    size_t n;

    memcpy (seen.name, name, strlen (name) + 1);
    g->seen = true;
    if (!(e = intern (g, &seen)))
        return NULL;
    n = e->g.nmembers;
    if (n > 0 && e->g.members[n - 1] == rank)
        return e;
    if (!(member = vec_add (&e->g.members, &n, sizeof (*member))))
        return NULL;
    *member = rank;
    e->g.nmembers = (uint32_t)n;
    return e;
}

static bool mark_used (struct entry *e, const struct part_group *used)
{
    e->collective = e->collective || used->collective;
    e->p2p = e->p2p || used->p2p;
    return true;
}

int groups_share (struct groups *g, struct capture *c, struct group_list *ret,
                  struct err *err)
{
    const struct comm_group **list = calloc (c->ngroups + 1, sizeof (*list));
    uint32_t n = 0;

    ret->list = list;
    ret->n = 0;
    while (list && n < c->ngroups) {
        struct entry *e = intern (g, &c->groups[n]);

        if (!e)
            break;
        list[n++] = &e->g;
    }
    ret->n = n;
    if (n < c->ngroups || !list)
        return err_set (err, ENOMEM, "no memory for groups");
    capture_drop_groups (c);
    return 0;
}

static struct entry *entry_of (const struct comm_group *g)
{
    return (struct entry *)((char *)(uintptr_t)g - offsetof (struct entry, g));
}

int groups_add (struct groups *g, struct capture *c, int64_t rank,
                const struct part_group *used, size_t nused,
                struct group_list *ret, struct err *err)
{
    bool *explained = calloc (nused + 1, sizeof (*explained));
    int rc = explained ? groups_share (g, c, ret, err) : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < ret->n; i++) {
        struct entry *e = entry_of (ret->list[i]);

        for (size_t u = 0; u < nused; u++) {
            if (strcmp (used[u].name, e->g.name) == 0)
                explained[u] = mark_used (e, &used[u]);
        }
    }
    for (size_t u = 0; u < nused && rc == 0; u++) {
        struct entry *e;

        if (rank < 0 || explained[u] ||
            strlen (used[u].name) >= CAPTURE_HASH_MAX)
            continue;
        if ((e = intern_seen (g, used[u].name, (int32_t)rank)))
            mark_used (e, &used[u]);
        else
            rc = -ENOMEM;
    }
    free (explained);
    return rc < 0 ? err_set (err, ENOMEM, "no memory for groups") : 0;
}

bool groups_all_known (const struct groups *g)
{
    return !g->seen;
}

static int compare_entries (const void *pa, const void *pb)
{
    const struct entry *a = *(struct entry *const *)pa;
    const struct entry *b = *(struct entry *const *)pb;
    uint32_t n = a->g.nmembers < b->g.nmembers ? a->g.nmembers
                                               : b->g.nmembers;
    int c = strcmp (a->g.name, b->g.name);

    if (c != 0)
        return c;
    for (uint32_t i = 0; i < n; i++) {
        if (a->g.members[i] != b->g.members[i])
            return a->g.members[i] < b->g.members[i] ? -1 : 1;
    }
    if (a->g.nmembers != b->g.nmembers)
        return a->g.nmembers < b->g.nmembers ? -1 : 1;
    if (!a->g.id || !b->g.id)
        return !a->g.id - !b->g.id;
    return strcmp (a->g.id, b->g.id);           // of one hash
}

static const char *type_of (const struct entry *e)
{
    if (e->collective && e->p2p)
        return "mixed";
    return e->p2p ? "p2p" : e->collective ? "collective" : NULL;
}

static int write_entry (const struct entry *e, int64_t id, sqlite3_stmt *group,
                        sqlite3_stmt *member, struct err *err)
{
    bool declared = e->g.id != NULL;
    int rc = db_put (group, err, id, e->g.name, e->g.id, e->g.pg_name,
                     type_of (e), db_known (declared, e->g.nmembers));

    for (uint32_t i = 0; i < e->g.nmembers && rc == 0; i++)
        rc = db_put (member, err, id, db_known (declared, i),
                     e->g.members[i]);
    return rc;
}

static void sort_members (struct comm_group *g)
{
    uint32_t used = 0;

    if (g->nmembers > 0)
        qsort (g->members, g->nmembers, sizeof (int32_t), cmp_int32);
    for (uint32_t i = 0; i < g->nmembers; i++) {
        if (used == 0 || g->members[used - 1] != g->members[i])
            g->members[used++] = g->members[i];
    }
    g->nmembers = used;
}

/* Take the members of a group away from those of 'seen', which are sorted;
 * 'gone' tells which of them were taken.
 */
static void explain_by (struct entry *e, const struct entry *seen, bool *gone)
{
    const struct comm_group *s = &seen->g;

    for (uint32_t i = 0; i < e->g.nmembers; i++) {
        size_t k = cmp_place (&e->g.members[i], s->members, s->nmembers,
                              sizeof (*s->members), cmp_int32);

        if (k == s->nmembers || s->members[k] != e->g.members[i] || gone[k])
            continue;
        gone[k] = true;
        e->collective = e->collective || seen->collective;
        e->p2p = e->p2p || seen->p2p;
    }
}

/* Of a group known only from ops, drop the ranks for which another capture's
 * metadata has a group of that name that contains them.  list[0 .. n) are all
 * entries of the name.
 */
static int explain_seen (struct entry **list, size_t n, struct entry *seen)
{
    struct comm_group *g = &seen->g;
    bool *gone = calloc (g->nmembers + 1, sizeof (*gone));
    uint32_t left = 0;

    if (!gone)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (list[i]->g.id)
            explain_by (list[i], seen, gone);
    }
    for (uint32_t i = 0; i < g->nmembers; i++) {
        if (!gone[i])
            g->members[left++] = g->members[i];
    }
    g->nmembers = left;
    free (gone);
    return 0;
}

/* 'list' is sorted by name. */
static int explain_all (struct entry **list, size_t n)
{
    int rc = 0;

    for (size_t i = 0, end; i < n && rc == 0; i = end) {
        struct entry *seen = NULL;

        for (end = i; end < n &&
             strcmp (list[end]->g.name, list[i]->g.name) == 0; end++)
            seen = list[end]->g.id ? seen : list[end];
        if (seen && end - i > 1)
            rc = explain_seen (list + i, end - i, seen);
    }
    return rc;
}

/* The entries that have members, sorted; the caller frees the list. */
static struct entry **list_entries (struct groups *g, size_t *ret)
{
    struct entry **list = calloc (g->n + 1, sizeof (struct entry *));
    size_t n = 0, used = 0;

    for (uint32_t i = 0; list && i < g->chains.n; i++) {
        struct chain *c = map_at (&g->chains, i);

        for (struct entry *e = c->first; e; e = e->next) {
            if (!e->g.id)
                sort_members (&e->g);
            list[n++] = e;
        }
    }
    if (n > 0)
        qsort (list, n, sizeof (struct entry *), compare_entries);
    if (!list || explain_all (list, n) < 0) {
        free (list);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i]->g.id || list[i]->g.nmembers > 0)
            list[used++] = list[i];
    }
    if (used > 0)               // some have fewer members now
        qsort (list, used, sizeof (struct entry *), compare_entries);
    *ret = used;
    return list;
}

int groups_write (struct groups *g, sqlite3 *db, struct err *err)
{
    sqlite3_stmt *group = NULL, *member = NULL;
    size_t n = 0;
    struct entry **list = list_entries (g, &n);
    int rc;

    if (!list)
        return err_set (err, ENOMEM, "no memory for groups");
    rc = db_prepare (db, "INSERT INTO CommGroup (id, group_name, group_id, "
                         "pg_name, type, size) VALUES (?1,?2,?3,?4,?5,?6)",
                     &group, err);
    if (rc == 0)
        rc = db_prepare (db, "INSERT INTO CommGroupMember (comm_group, "
                             "group_rank, rank) VALUES (?1,?2,?3)",
                         &member, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = write_entry (list[i], (int64_t)i + 1, group, member, err);
    (void)sqlite3_finalize (group);
    (void)sqlite3_finalize (member);
    free (list);
    return rc;
}
