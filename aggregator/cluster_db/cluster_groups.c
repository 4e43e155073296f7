/* aggregator/cluster_db/cluster_groups.c - the groups of cluster_analysis.db */
#include "cluster_db/cluster_groups.h"

#include "base/buf.h"
#include "base/cmp.h"
#include "base/vec.h"
#include "cluster_db/cluster_names.h"
#include "sums/members.h"
#include "model/capture.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANK_SET_MAX (2u << 20) // bytes: of CAPTURE_WORLD_MAX ranks
#define STRAYS_NAME "unknown"   // for ops without a group

struct cluster_groups {
    struct cluster_group *list;         // by CommGroup.id; [0] is of strays
    size_t n;
    struct members *members;
    struct texts names;                 // names that are in use
};

/* ---- reading ---- */

/* A unique copy of a name: the name, or the name with a number appended. */
static char *take_name (struct texts *taken, const char *text)
{
    char name[CLUSTER_NAME_SIZE];

    (void)snprintf (name, sizeof (name), "%s", text);
    for (unsigned k = 2; texts_find (taken, name, strlen (name)) != TEXTS_NONE;
         k++)
        cluster_number (text, k, name);
    if (texts_intern (taken, name, strlen (name)) == TEXTS_NONE)
        return NULL;
    return strdup (name);
}

static char *column_copy (sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text (st, column);
    char name[CLUSTER_NAME_SIZE] = "";

    if (text)
        cluster_clean (text, strlen (text), CLUSTER_NAME_MAX, name);
    return strdup (name);
}

static int add_group (struct cluster_groups *g, sqlite3_stmt *st)
{
    uint64_t id = (uint64_t)sqlite3_column_int64 (st, 0);
    struct cluster_group *list, *e;
    char *name;

    if (id < g->n || id > UINT32_MAX / 2)
        return 0;               // not our file: our ids ascend from 1
    if (!(list = realloc (g->list, (id + 1) * sizeof (*list))))
        return -ENOMEM;
    g->list = list;
    memset (list + g->n, 0, (id + 1 - g->n) * sizeof (*list));
    g->n = id + 1;
    e = &list[id];
    name = column_copy (st, 1);
    e->name = name ? take_name (&g->names, name) : NULL;
    free (name);
    e->id = column_copy (st, 2);
    e->pg_name = column_copy (st, 3);
    e->type = column_copy (st, 4);
    return e->name && e->id && e->pg_name && e->type ? 0 : -ENOMEM;
}

static int cluster_groups_append (int32_t **list, uint32_t *n, int32_t value)
{
    int32_t *p = vec_one_more (*list, *n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    *list = p;
    (*list)[(*n)++] = value;
    return 0;
}

static bool knows_rank (const struct cluster_group *e, int32_t rank)
{
    for (uint32_t i = 0; i < e->nlocal; i++) {
        if (e->by_local[i] == rank)
            return true;
    }
    return false;
}

/* The first rank that is given for a place counts. */
static int cluster_groups_place (struct cluster_group *e, int64_t local,
                                 int32_t rank)
{
    int rc = 0;

    if (local < 0 || local >= CAPTURE_WORLD_MAX)
        return 0;
    while (rc == 0 && e->nlocal <= local)
        rc = cluster_groups_append (&e->by_local, &e->nlocal, -1);
    if (rc == 0 && e->by_local[local] < 0)
        e->by_local[local] = rank;
    return rc;
}

static int add_member (struct cluster_groups *g, sqlite3_stmt *st)
{
    struct cluster_group *e;
    int64_t local, rank;
    uint64_t id;
    int rc;

    db_columns (st, id, local, rank);
    if (id == 0 || id >= g->n || rank < 0 || rank >= CAPTURE_WORLD_MAX)
        return 0;
    e = &g->list[id];
    rc = cluster_groups_append (&e->ranks, &e->nranks, (int32_t)rank);
    if (rc < 0 || sqlite3_column_type (st, 1) == SQLITE_NULL)
        return rc;
    return cluster_groups_place (e, local, (int32_t)rank);
}

/* Without metadata, a rank's place comes from its links, which start at it. */
static int learn_place (struct cluster_groups *g, sqlite3_stmt *st)
{
    const char *name = (const char *)sqlite3_column_text (st, 0);
    int64_t rank = sqlite3_column_int64 (st, 1);
    uint32_t id = name ? cluster_groups_find (g, name, strlen (name), rank)
                       : CLUSTER_GROUP_NONE;

    if (id == CLUSTER_GROUP_NONE || knows_rank (&g->list[id], (int32_t)rank))
        return 0;
    return cluster_groups_place (&g->list[id], sqlite3_column_int64 (st, 2),
                                 (int32_t)rank);
}

static int cluster_groups_each (struct cluster_groups *g, sqlite3 *db,
                                const char *sql,
                                int (*row) (struct cluster_groups *g,
                                            sqlite3_stmt *st),
                                struct err *err)
{
    struct db_rows r = db_rows (db, err, sql);

    while (db_step (&r))
        r.rc = row (g, r.st) < 0 ? err_set (err, ENOMEM, "no memory for groups")
                                 : 0;
    return db_end (&r);
}

static bool all_explained (const struct cluster_groups *g)
{
    for (size_t i = 1; i < g->n; i++) {
        if (g->list[i].nranks > 0 && g->list[i].nlocal == 0)
            return false;
    }
    return true;
}

/* Metadata may list a rank twice. */
static void sort_ranks (struct cluster_group *e)
{
    uint32_t n = 0;

    if (e->nranks > 0)
        qsort (e->ranks, e->nranks, sizeof (*e->ranks), cmp_int32);
    for (uint32_t i = 0; i < e->nranks; i++) {
        if (n == 0 || e->ranks[n - 1] != e->ranks[i])
            e->ranks[n++] = e->ranks[i];
    }
    e->nranks = n;
}

static int read_all (struct cluster_groups *g, sqlite3 *db, struct err *err)
{
    int rc = cluster_groups_each (
        g, db,
        "SELECT id, group_name, group_id, pg_name, type FROM "
        "CommGroup ORDER BY id",
        add_group, err);

    if (rc == 0)
        rc = cluster_groups_each (g, db,
                                  "SELECT comm_group, group_rank, rank FROM "
                                         "CommGroupMember ORDER BY rowid",
                                  add_member, err);
    if (rc == 0)
        rc = members_read (db, true, &g->members, err);
    if (rc == 0 && !all_explained (g))
        rc = cluster_groups_each (
            g, db,
            "SELECT group_name, rank, CAST(src_rank AS INTEGER) "
            "AS src FROM CommAnalyzerMatrix GROUP BY 1, 2, 3 "
            "ORDER BY max(src_rank=dst_rank) DESC, rank, src",
            learn_place, err);
    for (size_t i = 1; i < g->n && rc == 0; i++)
        sort_ranks (&g->list[i]);
    return rc;
}

int cluster_groups_read (sqlite3 *db, struct cluster_groups **ret,
                         struct err *err)
{
    struct cluster_groups *g = calloc (1, sizeof (*g));
    int rc = 0;

    if (!g || !(g->list = calloc (1, sizeof (*g->list))))
        rc = -ENOMEM;
    if (rc == 0) {
        g->n = 1;
        g->list[0] = (struct cluster_group){
            take_name (&g->names, STRAYS_NAME), strdup (""), strdup (""),
            strdup ("collective"), NULL, 0, NULL, 0 };
        if (!g->list[0].name || !g->list[0].id || !g->list[0].pg_name ||
            !g->list[0].type)
            rc = -ENOMEM;
    }
    if (rc < 0)
        (void)err_set (err, ENOMEM, "no memory for groups");
    else
        rc = read_all (g, db, err);
    if (rc < 0)
        cluster_groups_destroy (g);
    else
        *ret = g;
    return rc;
}

void cluster_groups_destroy (struct cluster_groups *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++) {
        free (g->list[i].name);
        free (g->list[i].id);
        free (g->list[i].pg_name);
        free (g->list[i].type);
        free (g->list[i].ranks);
        free (g->list[i].by_local);
    }
    free (g->list);
    members_destroy (g->members);
    texts_fini (&g->names);
    free (g);
}

/* ---- asking ---- */

size_t cluster_groups_count (const struct cluster_groups *g)
{
    return g->n;
}

const struct cluster_group *cluster_groups_at (const struct cluster_groups *g,
                                               uint32_t i)
{
    return &g->list[i];
}

uint32_t cluster_groups_find (const struct cluster_groups *g, const char *name,
                              size_t n, int64_t rank)
{
    uint32_t size, id = members_group (g->members, name, n, rank, &size);

    return id < g->n ? id : CLUSTER_GROUP_NONE;
}

int64_t cluster_groups_global (const struct cluster_groups *g, uint32_t group,
                               int64_t local)
{
    const struct cluster_group *e = &g->list[group];

    return local >= 0 && local < e->nlocal ? e->by_local[local] : -1;
}

/* ---- writing ---- */

static void put_set (struct buf *b, const struct cluster_group *e,
                     const uint8_t *strays)
{
    const char *comma = "";

    buf_clear (b);
    buf_put (b, "(", 1);
    for (uint32_t i = 0; i < e->nranks; i++) {
        buf_printf (b, "%s%d", comma, e->ranks[i]);
        comma = ",";
    }
    for (int rank = 0; strays && rank < CAPTURE_WORLD_MAX; rank++) {
        if (!(strays[rank / 8] >> rank % 8 & 1))
            continue;
        buf_printf (b, "%s%d", comma, rank);
        comma = ",";
    }
    buf_put (b, ")", 1);
}

/* Viewers list the program's name of a group and its ranks.  If several groups
 * have both in common, all but the first get another name.
 */
static int list_name (struct texts *listed, const char *pg_name,
                      const char *set, char out[CLUSTER_NAME_SIZE])
{
    struct buf key;
    int rc = 0;

    buf_init (&key, RANK_SET_MAX + CLUSTER_NAME_SIZE);
    (void)snprintf (out, CLUSTER_NAME_SIZE, "%s", pg_name);
    for (unsigned k = 2;; k++) {
        buf_clear (&key);
        buf_printf (&key, "%s\n%s", out, set);
        if (key.failed || texts_find (listed, buf_text (&key), key.size) ==
                              TEXTS_NONE)
            break;
        cluster_number (*pg_name ? pg_name : "group", k, out);
    }
    if (key.failed || texts_intern (listed, buf_text (&key), key.size) ==
                          TEXTS_NONE)
        rc = -ENOMEM;
    buf_fini (&key);
    return rc;
}

/* A group that does more than send and receive is not only p2p. */
static const char *type_of (const struct cluster_group *e)
{
    return strcmp (e->type, "p2p") == 0 ? "p2p" : "collective";
}

static int write_group (const struct cluster_group *e, const uint8_t *strays,
                        struct texts *listed, sqlite3_stmt *st,
                        struct err *err)
{
    char pg_name[CLUSTER_NAME_SIZE];
    struct buf set;
    int rc;

    buf_init (&set, RANK_SET_MAX);
    put_set (&set, e, strays);
    if (set.failed ||
        list_name (listed, e->pg_name, buf_text (&set), pg_name) < 0) {
        rc = err_set (err, ENOMEM, "no memory for groups");
    } else {
        rc = db_put (st, err, type_of (e), buf_text (&set), e->name, e->id,
                     pg_name);
    }
    buf_fini (&set);
    return rc;
}

int cluster_groups_write (const struct cluster_groups *g, sqlite3 *db,
                          const uint8_t *used, const uint8_t *strays,
                          struct err *err)
{
    struct texts listed = { .used = 0 };
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO CommunicationGroupMapping VALUES "
                             "(?1,?2,?3,?4,?5)", &st, err);

    // sorted by type, then by name, as in users' tools
    for (int p2p = 0; p2p < 2; p2p++) {
        for (uint32_t i = 0; i < g->n && rc == 0; i++) {
            uint32_t k = (uint32_t)((i + 1) % g->n);    // strays come last

            if (used[k] && (strcmp (type_of (&g->list[k]), "p2p") == 0) == p2p)
                rc = write_group (&g->list[k], k == CLUSTER_GROUP_NONE ? strays
                                                                       : NULL,
                                  &listed, st, err);
        }
    }
    (void)sqlite3_finalize (st);
    texts_fini (&listed);
    return rc;
}
