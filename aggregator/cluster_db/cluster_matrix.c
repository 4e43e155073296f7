/* aggregator/cluster_db/cluster_matrix.c - ClusterCommunicationMatrix: links
 * between global ranks, and their sums over all kinds of ops
 */
#include "cluster_db/cluster_rows.h"

#include <errno.h>
#include <string.h>

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
    // of the current row
    uint32_t op;
    bool counts;                // the op does, in sums
    struct last_text name_text;         // of its op, as it is there
    char name[CLUSTER_NAME_SIZE];       // and clean
};

static bool has (const char *op, size_t n, const char *part)
{
    size_t size = strlen (part);

    for (size_t i = 0; i + size <= n; i++) {
        if (op[i] == *part && memcmp (op + i, part, size) == 0)
            return true;
    }
    return false;
}

/* Sums count only rows that are totals already.  Where an op has none, they
 * count all rows that are not one of its ranked samples (top, middle, bottom).
 */
static bool cluster_matrix_counts (const char *op, size_t n)
{
    return has (op, n, "total") || !(has (op, n, "top") ||
                                     has (op, n, "middle") ||
                                     has (op, n, "bottom"));
}

/* The global rank of an end; -1: not known. */
static int64_t end_of (const struct cluster_rows *r, unsigned column)
{
    return cluster_groups_global (r->groups, r->group,
                                  cluster_groups_end (&r->scan, column));
}

static const char *transport_of (const struct cluster_rows *r)
{
    size_t n;
    const char *text = page_scan_text (&r->scan, MATRIX_TRANSPORT, &n);

    for (unsigned i = 0; text && i < TRANSPORTS; i++) {
        if (strlen (transports[i]) == n && memcmp (text, transports[i], n) == 0)
            return transports[i];
    }
    return NULL;
}

/* False without memory. */
static bool find_op (struct cluster_rows *r)
{
    struct matrix_state *s = r->state;
    size_t n;
    const char *op = page_scan_text (&r->scan, MATRIX_OP, &n);

    if (r->same_op)
        return true;
    s->counts = cluster_matrix_counts (op, n);
    return (s->op = texts_intern (&s->ops, op, n)) != TEXTS_NONE;
}

/* Usually a rank has one row per link and op, for links from itself only.  Then
 * no other rank has such rows, and there is nothing to merge.
 */
static bool note_seen (struct cluster_rows *r, uint64_t src, uint64_t ends)
{
    struct matrix_state *s = r->state;
    bool is_new = true;

    if (!cluster_rows_sum (r, &s->seen, ends, s->op, &is_new))
        return false;
    r->again = r->again || !is_new || (int64_t)src != r->rank;
    return true;
}

static bool add_total (struct cluster_rows *r, uint64_t ends,
                       const char *transport, double mb, double ms)
{
    bool is_new;
    struct link_total *t = cluster_rows_sum (r, &r->sums, ends, 0, &is_new);

    if (!t)
        return false;
    if (!t->transport)
        t->transport = transport;
    sum_add (&t->mb, cluster_known (mb));
    sum_add (&t->ms, cluster_known (ms));
    return true;
}

static void put_link (struct cluster_rows *r, uint64_t ends,
                      const char *transport, const char *name, double mb,
                      double ms)
{
    cluster_put (r, page_real ((double)(ends >> 32)));
    cluster_put (r, page_real ((double)(uint32_t)ends));
    cluster_put (r, page_text (transport,
                               transport ? (uint32_t)strlen (transport) : 0));
    cluster_put (r, page_text (name, name ? (uint32_t)strlen (name) : 0));
    cluster_put (r, page_real (mb));
    cluster_put (r, page_real (ms));
    cluster_put (r, page_real (cluster_rate (mb, ms)));
}

static int cluster_matrix_take (struct cluster_rows *r, struct err *err)
{
    struct matrix_state *s = r->state;
    double mb = cluster_number_at (r, MATRIX_SIZE);
    double ms = cluster_number_at (r, MATRIX_TIME);
    const char *transport = transport_of (r), *name;
    int rc = cluster_rows_take (r, err);
    int64_t src, dst;
    uint64_t ends;
    size_t n;

    if (rc < 1)
        return rc;
    if (!find_op (r))
        return err_set (err, ENOMEM, "no memory for sums");
    src = end_of (r, MATRIX_SRC);
    dst = end_of (r, MATRIX_DST);
    if (src < 0 || dst < 0) {
        r->left_out++;
        r->op_text.size = SIZE_MAX;     // no row has it
        return 0;
    }
    ends = (uint64_t)src << 32 | (uint64_t)dst;
    if (!note_seen (r, (uint64_t)src, ends) ||
        (s->counts && !add_total (r, ends, transport, mb, ms)))
        return err_set (err, ENOMEM, "no memory for sums");
    name = page_scan_text (&r->scan, MATRIX_OP_NAME, &n);
    if (name && !cluster_again (&s->name_text, name, n))
        cluster_clean (name, n, CLUSTER_NAME_MAX, s->name);
    put_link (r, ends, transport, name ? s->name : NULL, mb, ms);
    return 1;
}

static void put_sums (struct cluster_rows *r, const void *sum)
{
    const struct link_total *t = sum;

    put_link (r, t->key.word[1], t->transport, "", cluster_sum (&t->mb),
              cluster_sum (&t->ms));
}

static int cluster_matrix_finish (struct cluster_rows *r, struct err *err)
{
    struct matrix_state *s = r->state;
    int rc = cluster_rows_totals (r, put_sums, err);

    map_clear (&s->seen);
    texts_clear (&s->ops);
    return rc;
}

static void cluster_matrix_begin (void *state)
{
    struct matrix_state *s = state;

    s->seen = (struct map)MAP (struct cluster_key, 3);
    s->name_text.size = SIZE_MAX;
}

static void cluster_matrix_fini (void *state)
{
    struct matrix_state *s = state;

    map_fini (&s->seen);
    texts_fini (&s->ops);
}

const char cluster_matrix_merge[] =
    "CREATE TEMP TABLE links AS SELECT step, hccl_op_name, group_name,"
    " src_rank, dst_rank, max(transport_type) AS transport_type,"
    " max(op_name) AS op_name, sum(transit_size) AS mb,"
    " sum(transit_time) AS ms FROM ClusterCommunicationMatrix NOT INDEXED"
    " GROUP BY group_name, step, hccl_op_name, src_rank, dst_rank"
    " ORDER BY min(rowid);"
    "DELETE FROM ClusterCommunicationMatrix;"
    "INSERT INTO ClusterCommunicationMatrix SELECT *, CASE WHEN mb IS NOT NULL"
    " AND ms IS NOT NULL THEN iif(abs(mb/ms)<9e999, mb/ms, 0) END FROM links;"
    "DROP TABLE links;";

const struct cluster_table cluster_matrix = {
    .source = TABLE_MATRIX,
    .step = MATRIX_STEP,
    .name = "ClusterCommunicationMatrix",
    .index = "ClusterCommunicationMatrix_op",
    .create = "CREATE TABLE ClusterCommunicationMatrix (\"step\" TEXT, "
              "\"hccl_op_name\" TEXT, \"group_name\" TEXT, \"src_rank\" REAL, "
              "\"dst_rank\" REAL, \"transport_type\" TEXT, \"op_name\" TEXT, "
              "\"transit_size\" REAL, \"transit_time\" REAL, \"bandwidth\" "
              "REAL);"
              "CREATE INDEX ClusterCommunicationMatrix_op ON "
              "ClusterCommunicationMatrix (group_name, step, hccl_op_name);",
    .take = cluster_matrix_take,
    .finish = cluster_matrix_finish,
    .sum_bytes = sizeof (struct link_total),
    .state_bytes = sizeof (struct matrix_state),
    .begin = cluster_matrix_begin,
    .fini = cluster_matrix_fini,
};
