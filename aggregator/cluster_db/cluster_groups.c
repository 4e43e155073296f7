/* aggregator/cluster_db/cluster_groups.c - the groups of cluster_analysis.db */
#include "cluster_db/cluster_groups.h"

#include "base/buf.h"
#include "base/cmp.h"
#include "base/texts.h"
#include "base/vec.h"
#include "cluster_db/cluster_names.h"
#include "row_sums/members.h"
#include "model/capture.h"
#include "model/schema.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANK_SET_MAX (8u << 20) // bytes: of CAPTURE_WORLD_LIMIT ranks
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
    int32_t *p = vec_next (list, *n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    *p = value;
    (*n)++;
    return 0;
}

/* The first rank that is given for a place counts. */
static int cluster_groups_place (struct cluster_group *e, int64_t local,
                                 int32_t rank)
{
    int rc = 0;

    if (local < 0 || local >= CAPTURE_WORLD_LIMIT)
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
    if (id == 0 || id >= g->n || rank < 0 || rank >= CAPTURE_WORLD_LIMIT)
        return 0;
    e = &g->list[id];
    rc = cluster_groups_append (&e->ranks, &e->nranks, (int32_t)rank);
    if (rc < 0 || sqlite3_column_type (st, 1) == SQLITE_NULL)
        return rc;
    return cluster_groups_place (e, local, (int32_t)rank);
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

/* ---- places that no metadata tells ---- */

/* A place that a rank's links tell: they start at it. */
struct told {
    uint64_t who, place;        // the key: group and rank; rank in the group
    uint64_t self;              // 1: a local copy starts and ends there
};

static bool all_explained (const struct cluster_groups *g)
{
    for (size_t i = 1; i < g->n; i++) {
        if (g->list[i].nranks > 0 && g->list[i].nlocal == 0)
            return false;
    }
    return true;
}

/* What local copies tell comes first; then that of the lowest rank and place. */
static int told_order (const void *pa, const void *pb)
{
    const struct told *a = pa, *b = pb;

    if (a->self != b->self)
        return a->self ? -1 : 1;
    if ((uint32_t)a->who != (uint32_t)b->who)
        return (uint32_t)a->who < (uint32_t)b->who ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static uint64_t who_of (size_t group, int32_t rank)
{
    return (uint64_t)group << 32 | (uint32_t)rank;
}

static int note_place (const struct cluster_groups *g, struct map *all,
                       const struct page_scan *p, struct err *err)
{
    unsigned rank_column = schema_table (TABLE_MATRIX)->ncolumns;
    int64_t rank = page_scan_int (p, rank_column, -1);
    int64_t place = cluster_groups_end (p, MATRIX_SRC);
    size_t n;
    const char *name = page_scan_text (p, MATRIX_GROUP, &n);
    struct told key, *t;
    uint32_t id;
    bool is_new;

    if (!name || rank < 0 || rank >= CAPTURE_WORLD_LIMIT || place < 0 ||
        (id = cluster_groups_find (g, name, n, rank)) == CLUSTER_GROUP_NONE)
        return 0;
    key = (struct told){ who_of (id, (int32_t)rank), (uint64_t)place, 0 };
    if (!(t = map_put (all, &key, &is_new)))
        return err_set (err, ENOMEM, "no memory for groups");
    if (place == cluster_groups_end (p, MATRIX_DST))
        t->self = 1;
    return 0;
}

/* The ranks that have a place, from metadata. */
static int list_placed (const struct cluster_groups *g, struct map *placed)
{
    for (size_t i = 1; i < g->n; i++) {
        for (uint32_t k = 0; k < g->list[i].nlocal; k++) {
            uint64_t who = who_of (i, g->list[i].by_local[k]);
            bool is_new;

            if (g->list[i].by_local[k] >= 0 && !map_put (placed, &who, &is_new))
                return -ENOMEM;
        }
    }
    return 0;
}

/* A rank that has a place keeps it, as does a place that has a rank. */
static int take_places (struct cluster_groups *g, struct map *all)
{
    struct map placed = { .words = 1, .size = sizeof (uint64_t) };
    int rc = list_placed (g, &placed);
    bool is_new;

    if (all->n > 0)
        qsort (all->records, all->n, all->size, told_order);
    for (uint32_t i = 0; i < all->n && rc == 0; i++) {
        const struct told *t = map_at (all, i);
        struct cluster_group *e = &g->list[t->who >> 32];

        if (map_get (&placed, &t->who))
            continue;
        rc = cluster_groups_place (e, (int64_t)t->place, (int32_t)t->who);
        if (rc == 0 && e->by_local[t->place] == (int32_t)t->who &&
            !map_put (&placed, &t->who, &is_new))
            rc = -ENOMEM;
    }
    map_fini (&placed);
    return rc;
}

static int learn_places (struct cluster_groups *g,
                         const struct page_source *source, struct err *err)
{
    struct map all = MAP (struct told, 2);
    struct page_scan p;
    uint32_t root = 0;
    int rc = page_source_root (source, schema_table (TABLE_MATRIX)->name,
                               &root, err);

    if (rc < 0)
        return rc;
    rc = page_scan_begin (&p, source, root, INT64_MIN, INT64_MAX, err);
    while (rc == 0 && (rc = page_scan_next (&p, err)) == 1)
        rc = note_place (g, &all, &p, err);
    page_scan_end (&p);
    if (rc == 0 && take_places (g, &all) < 0)
        rc = err_set (err, ENOMEM, "no memory for groups");
    map_fini (&all);
    return rc;
}

/* ---- all of it ---- */

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

static int read_all (struct cluster_groups *g, sqlite3 *db,
                     const struct page_source *source, struct err *err)
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
    if (rc == 0 && source && !all_explained (g))
        rc = learn_places (g, source, err);
    for (size_t i = 1; i < g->n && rc == 0; i++)
        sort_ranks (&g->list[i]);
    return rc;
}

int cluster_groups_read (sqlite3 *db, const struct page_source *source,
                         struct cluster_groups **ret, struct err *err)
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
        rc = read_all (g, db, source, err);
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

int64_t cluster_groups_end (const struct page_scan *p, unsigned column)
{
    size_t n;
    const char *text = page_scan_text (p, column, &n);
    int64_t local = 0;

    if (!text)
        return page_scan_int (p, column, -1);
    if (n == 0 || n > 9)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        local = 10 * local + (text[i] - '0');
    }
    return local;
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
    for (int rank = 0; strays && rank < CAPTURE_WORLD_LIMIT; rank++) {
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
