/* aggregator/cluster_db/cluster_matrix.c - ClusterCommunicationMatrix: links
 * between global ranks, and their sums over all kinds of ops
 */
#include "cluster_db/cluster_part.h"

#include "store/db_rows.h"

#include <string.h>

enum { TAKE_RANK, TAKE_OP, TAKE_GROUP, TAKE_STEP, TAKE_SRC, TAKE_DST,
       TAKE_TRANSPORT, TAKE_MB, TAKE_MS, TAKE_NAME, TAKE_ARGS };

// viewers do not draw other transports
static const char *const transports[] = { "HCCS", "PCIE", "RDMA", "LOCAL",
                                          "SIO" };

#define TRANSPORTS (sizeof (transports) / sizeof (transports[0]))

/* A link in a step and a group: the sum over all of its ops. */
struct link_total {
    struct cluster_key key;
    const char *transport;      // the first that is known, or NULL
    struct sum mb, ms;
};

struct matrix_state {
    struct map seen;            // keys of the rank's links of ops
    struct texts ops;
    bool again;                 // a link of an op had more than one row
};

/* Sums count only rows that are totals already.  Where an op has none, they
 * count all rows that are not one of its ranked samples (top, middle, bottom).
 */
static bool cluster_matrix_counts (const char *op)
{
    return strstr (op, "total") || !(strstr (op, "top") ||
                                     strstr (op, "middle") ||
                                     strstr (op, "bottom"));
}

/* The global rank of an end; -1: not known. */
static int64_t end_of (const struct cluster_part *p, sqlite3_value *local)
{
    if (sqlite3_value_numeric_type (local) != SQLITE_INTEGER)
        return -1;
    return cluster_groups_global (p->groups, p->group,
                                  sqlite3_value_int64 (local));
}

/* Write both ends as global ranks, and leave out those that are not known. */
static bool set_ends (struct cluster_part *p, sqlite3_value **row)
{
    int64_t src = end_of (p, row[TAKE_SRC]), dst = end_of (p, row[TAKE_DST]);

    p->src = (double)src;
    p->dst = (double)dst;
    p->left_out += src < 0 || dst < 0;
    return src >= 0 && dst >= 0;
}

static uint64_t cluster_matrix_ends (const struct cluster_part *p)
{
    return (uint64_t)p->src << 32 | (uint64_t)p->dst;
}

static const char *transport_of (sqlite3_value *transport)
{
    const char *text = (const char *)sqlite3_value_text (transport);

    for (unsigned i = 0; text && i < TRANSPORTS; i++) {
        if (strcmp (text, transports[i]) == 0)
            return transports[i];
    }
    return NULL;
}

static bool is_unsanitary (sqlite3_value *name)
{
    const char *text = (const char *)sqlite3_value_text (name);

    return text &&
           !cluster_is_clean (text, (size_t)sqlite3_value_bytes (name),
                             CLUSTER_NAME_MAX);
}

/* Usually a rank has one row per link and op, for links from itself only.  Then
 * no other rank has such rows, and there is nothing to merge.
 */
static bool note_seen (struct cluster_part *p, const char *op)
{
    struct matrix_state *s = p->state;
    uint32_t name = texts_intern (&s->ops, op, strlen (op));
    bool is_new;

    if (s->seen.size == 0)
        s->seen = (struct map)MAP (struct cluster_key, 3);
    if (name == TEXTS_NONE || !cluster_part_sum (p, &s->seen,
                                                 cluster_matrix_ends (p), name,
                                                 &is_new))
        return false;
    s->again = s->again || !is_new || (int64_t)p->src != p->rank;
    return true;
}

static bool add_total (struct cluster_part *p, sqlite3_value **row)
{
    bool is_new;
    struct link_total *t = cluster_part_sum (p, &p->sums,
                                             cluster_matrix_ends (p), 0,
                                             &is_new);

    if (!t)
        return false;
    if (!t->transport)
        t->transport = p->transport;
    sum_add (&t->mb, sqlite3_value_double (row[TAKE_MB]));
    sum_add (&t->ms, sqlite3_value_double (row[TAKE_MS]));
    return true;
}

static bool cluster_matrix_take (struct cluster_part *p, sqlite3_value **row)
{
    const char *op = (const char *)sqlite3_value_text (row[TAKE_OP]);

    if (!cluster_part_take (p, row[TAKE_RANK], row[TAKE_OP], row[TAKE_GROUP],
                            row[TAKE_STEP]) || !set_ends (p, row))
        return false;
    p->transport = transport_of (row[TAKE_TRANSPORT]);
    p->needs_sanitizing = p->needs_sanitizing || is_unsanitary (row[TAKE_NAME]);
    if (!note_seen (p, op) || (cluster_matrix_counts (op) && !add_total (p,
                                                                         row)))
        p->no_memory = true;
    return !p->no_memory;
}

static void cluster_matrix_bind (struct cluster_part *p, const void *sum)
{
    const struct link_total *t = sum;
    uint64_t both = t->key.word[1];

    (void)sqlite3_bind_double (p->total, 4, (double)(both >> 32));
    (void)sqlite3_bind_double (p->total, 5, (double)(uint32_t)both);
    (void)sqlite3_bind_text (p->total, 6, t->transport, -1, SQLITE_STATIC);
    cluster_part_bind_sum (p, 7, &t->mb);
    cluster_part_bind_sum (p, 8, &t->ms);
}

static int cluster_matrix_finish (struct cluster_part *p, struct err *err)
{
    struct matrix_state *s = p->state;
    int rc = cluster_part_totals (p, cluster_matrix_bind, err);

    map_clear (&s->seen);
    texts_clear (&s->ops);
    return rc;
}

/* Merge several rows of one link and op: two ranks report the link, or one rank
 * reports it twice.  No known profiler writes such rows.
 */
static int put_together (struct cluster_part *p, struct err *err)
{
    const struct matrix_state *s = p->state;

    if (!s->again)
        return 0;
    return db_exec (
        p->db,
        "CREATE TEMP TABLE links AS SELECT step, hccl_op_name, group_name,"
        " src_rank, dst_rank, max(transport_type) AS transport_type,"
        " max(op_name) AS op_name, sum(transit_size) AS mb,"
        " sum(transit_time) AS ms FROM ClusterCommunicationMatrix"
        " GROUP BY group_name, step, hccl_op_name, src_rank, dst_rank"
        " ORDER BY min(rowid);"
        "DELETE FROM ClusterCommunicationMatrix;"
        "INSERT INTO ClusterCommunicationMatrix SELECT *, rate(mb, ms)"
        " FROM links;"
        "DROP TABLE links", err);
}

static void cluster_matrix_fini (void *state)
{
    struct matrix_state *s = state;

    map_fini (&s->seen);
    texts_fini (&s->ops);
}

const struct cluster_table cluster_matrix = {
    .source = "CommAnalyzerMatrix",
    .name = "ClusterCommunicationMatrix",
    .create = "CREATE TABLE ClusterCommunicationMatrix (\"step\" TEXT, "
              "\"hccl_op_name\" TEXT, \"group_name\" TEXT, \"src_rank\" REAL, "
              "\"dst_rank\" REAL, \"transport_type\" TEXT, \"op_name\" TEXT, "
              "\"transit_size\" REAL, \"transit_time\" REAL, \"bandwidth\" "
              "REAL)",
    .index = "CREATE INDEX ClusterCommunicationMatrix_op ON "
             "ClusterCommunicationMatrix (group_name, step, hccl_op_name)",
    .insert = "INSERT INTO ClusterCommunicationMatrix SELECT"
              " step_taken(), " CLUSTER_CLEAN ("hccl_op_name") ","
              " group_taken(), link_end(0), link_end(1), link_transport(), "
              CLUSTER_CLEAN ("op_name") ", transit_size, transit_time,"
              " rate(transit_size, transit_time)"
              " FROM a.CommAnalyzerMatrix WHERE rowid BETWEEN ?1 AND ?2 AND"
              " take(rank, hccl_op_name, group_name, step, src_rank, dst_rank,"
              " transport_type, transit_size, transit_time, op_name)",
    .insert_total = "INSERT INTO ClusterCommunicationMatrix VALUES (?2,"
                    " '" CLUSTER_TOTAL "', ?3, ?4, ?5, ?6, '', ?7, ?8,"
                    " rate(?7, ?8))",
    .take_args = TAKE_ARGS,
    .take = cluster_matrix_take,
    .finish = cluster_matrix_finish,
    .finish_table = put_together,
    .sum_bytes = sizeof (struct link_total),
    .state_bytes = sizeof (struct matrix_state),
    .fini = cluster_matrix_fini,
};
