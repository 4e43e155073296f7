/* aggregator/builder/groups.c - the communicator groups of a whole job */
#include "builder/groups.h"

#include "base/cmp.h"
#include "base/vec.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct comm_group g;        // id NULL: known from ops only
    bool collective, p2p;
    struct entry *next;         // in the hash chain
};

// A job of 10,000 ranks has some 10,000 groups.  Not base/map.h: several groups
// share a name, and others keep pointers to entries.
#define CHAINS 4096u

struct groups {
    struct entry *chains[CHAINS];
    size_t n;
};

struct groups *groups_create (void)
{
    return calloc (1, sizeof (struct groups));
}

static void entry_free (struct entry *e)
{
    comm_group_fini (&e->g);
    free (e);
}

void groups_destroy (struct groups *g)
{
    for (size_t i = 0; g && i < CHAINS; i++) {
        for (struct entry *e = g->chains[i], *next; e; e = next) {
            next = e->next;
            entry_free (e);
        }
    }
    free (g);
}

static struct entry **chain_of (struct groups *g, const char *name)
{
    uint32_t h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return &g->chains[(h ^ h >> 15) & (CHAINS - 1)];
}

static bool same_group (const struct comm_group *a, const struct comm_group *b)
{
    return a->id && b->id && strcmp (a->id, b->id) == 0 &&
           a->nmembers == b->nmembers &&
           (a->members == b->members ||
            memcmp (a->members, b->members,
                    a->nmembers * sizeof (*a->members)) == 0);
}

/* The entry of a group of the capture; takes over the group. */
static struct entry *intern (struct groups *g, struct comm_group *group)
{
    struct entry **chain = chain_of (g, group->name), *e;

    for (e = *chain; e; e = e->next) {
        if (same_group (&e->g, group))
            return e;
    }
    if (!(e = calloc (1, sizeof (*e))))
        return NULL;
    e->g = *group;
    memset (group, 0, sizeof (*group));
    e->next = *chain;
    *chain = e;
    g->n++;
    return e;
}

static bool has_member (const struct comm_group *g, int32_t rank)
{
    for (uint32_t i = 0; i < g->nmembers; i++) {
        if (g->members[i] == rank)
            return true;
    }
    return false;
}

/* The entry of a name that no metadata explains; adds 'rank' to its members. */
static struct entry *intern_seen (struct groups *g, const char *name,
                                  int32_t rank)
{
    struct entry **chain = chain_of (g, name), *e;
    int32_t *members;

    for (e = *chain; e; e = e->next) {
        if (!e->g.id && strcmp (e->g.name, name) == 0)
            break;
    }
    if (!e) {
        if (strlen (name) >= sizeof (e->g.name))
            return NULL;
        if (!(e = calloc (1, sizeof (*e))))
            return NULL;
        memcpy (e->g.name, name, strlen (name) + 1);
        e->next = *chain;
        *chain = e;
        g->n++;
    }
    if (has_member (&e->g, rank))
        return e;
    members = vec_one_more (e->g.members, e->g.nmembers, sizeof (*members));
    if (!members)
        return NULL;
    e->g.members = members;
    members[e->g.nmembers++] = rank;
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
    return !a->g.id - !b->g.id;
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

/* Drop groups known only from ops if another capture's metadata has a group of
 * that name that contains the rank.
 */
static void explain_seen (struct entry *seen, struct entry *chain)
{
    for (struct entry *e = chain; e; e = e->next) {
        uint32_t left = 0;

        if (!e->g.id || strcmp (e->g.name, seen->g.name) != 0)
            continue;
        for (uint32_t i = 0; i < seen->g.nmembers; i++) {
            if (!has_member (&e->g, seen->g.members[i]))
                seen->g.members[left++] = seen->g.members[i];
        }
        if (left == seen->g.nmembers)
            continue;
        seen->g.nmembers = left;
        e->collective = e->collective || seen->collective;
        e->p2p = e->p2p || seen->p2p;
    }
}

int groups_write (struct groups *g, sqlite3 *db, struct err *err)
{
    struct entry **list = calloc (g->n + 1, sizeof (struct entry *));
    sqlite3_stmt *group = NULL, *member = NULL;
    size_t n = 0;
    int rc;

    if (!list)
        return err_set (err, ENOMEM, "no memory for groups");
    for (size_t i = 0; i < CHAINS; i++) {
        for (struct entry *e = g->chains[i]; e; e = e->next) {
            if (!e->g.id) {
                explain_seen (e, g->chains[i]);
                qsort (e->g.members, e->g.nmembers, sizeof (int32_t),
                       cmp_int32);
            }
            if (e->g.id || e->g.nmembers > 0)
                list[n++] = e;
        }
    }
    qsort (list, n, sizeof (struct entry *), compare_entries);
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
