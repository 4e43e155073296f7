/* aggregator/cluster_db/cluster_bandwidth.c - ClusterCommunicationBandwidth:
 * traffic of each op by transport and packet size, and its sums
 *
 * All rows of an op and a transport repeat its size and time, so the sums take
 * these once per op.
 */
#include "cluster_db/cluster_part.h"

#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TAKE_RANK, TAKE_OP, TAKE_GROUP, TAKE_STEP, TAKE_BAND, TAKE_MB, TAKE_MS,
       TAKE_PACKAGE, TAKE_COUNT, TAKE_DURATION, TAKE_ARGS };

/* The transports that viewers know, sorted by name. */
static const char *const bands[] = { "HCCS", "LOCAL", "PCIE", "RDMA", "SDMA",
                                     "SIO" };

#define BANDS ((unsigned)(sizeof (bands) / sizeof (bands[0])))

/* The traffic of an op over a link. */
struct op_traffic {
    uint32_t link, name;        // the key
    double mb, ms;
};

/* The sum over a step, a group and a transport. */
struct link_sums {
    struct cluster_key key;
    double mb, ms;              // of all ops, set when the rank has ended
};

/* The sum for one packet size. */
struct packet_sums {
    struct cluster_key key;
    uint32_t link;
    double package;             // as in the table: the key only has its bits
    struct sum count, duration;
};

struct bandwidth_state {
    struct map links, ops;
    struct texts names;                 // of ops
    uint32_t name;                      // of the previous row
};

static unsigned band_of (sqlite3_value *band)
{
    const char *text = (const char *)sqlite3_value_text (band);

    for (unsigned i = 0; text && i < BANDS; i++) {
        if (strcmp (text, bands[i]) == 0)
            return i;
    }
    return BANDS;
}

/* The rows of an op are adjacent. */
static uint32_t name_of (struct bandwidth_state *s, sqlite3_value *op)
{
    const char *text = (const char *)sqlite3_value_text (op);

    if (s->names.map.n == 0 ||
        strcmp (texts_at (&s->names, s->name), text) != 0)
        s->name = texts_intern (&s->names, text, strlen (text));
    return s->name;
}

/* Find the number of the row's link and add the op to its sums.  False without
 * memory.
 */
static bool add_link (struct cluster_part *p, unsigned band,
                      sqlite3_value **row, uint32_t *ret)
{
    struct bandwidth_state *s = p->state;
    const struct link_sums *link;
    struct op_traffic *op;
    uint32_t name;
    bool is_new;

    if (s->links.size == 0) {
        s->links = (struct map)MAP (struct link_sums, 3);
        s->ops = (struct map)MAP (struct op_traffic, 1);
    }
    if (!(link = cluster_part_sum (p, &s->links, band, 0, &is_new)) ||
        (name = name_of (s, row[TAKE_OP])) == TEXTS_NONE)
        return false;
    *ret = (uint32_t)(link - (const struct link_sums *)s->links.records);
    op = map_put (&s->ops, &(struct op_traffic){ .link = *ret, .name = name },
                  &is_new);
    if (op && is_new) {
        op->mb = sqlite3_value_double (row[TAKE_MB]);
        op->ms = sqlite3_value_double (row[TAKE_MS]);
    }
    return op;
}

static bool add_packets (struct cluster_part *p, unsigned band, uint32_t link,
                         sqlite3_value **row)
{
    double package = sqlite3_value_double (row[TAKE_PACKAGE]);
    struct packet_sums *sums;
    bool is_new;
    uint64_t bits;

    memcpy (&bits, &package, sizeof (bits));    // of sizes, bits sort alike
    if (!(sums = cluster_part_sum (p, &p->sums, band, bits, &is_new)))
        return false;
    sums->link = link;
    sums->package = package;
    sum_add (&sums->count, sqlite3_value_double (row[TAKE_COUNT]));
    sum_add (&sums->duration, sqlite3_value_double (row[TAKE_DURATION]));
    return true;
}

/* Rows without a transport say how much an op moved, but not over what. */
static bool cluster_bandwidth_take (struct cluster_part *p, sqlite3_value **row)
{
    unsigned band = band_of (row[TAKE_BAND]);
    uint32_t link;

    if (band == BANDS ||
        !cluster_part_take (p, row[TAKE_RANK], row[TAKE_OP], row[TAKE_GROUP],
                            row[TAKE_STEP]))
        return false;
    if (!add_link (p, band, row, &link) || !add_packets (p, band, link, row))
        p->no_memory = true;
    return !p->no_memory;
}

static int compare_ops (const void *pa, const void *pb, void *arg)
{
    const struct op_traffic *a = pa, *b = pb;
    const struct texts *names = arg;

    if (a->link != b->link)
        return a->link < b->link ? -1 : 1;
    return strcmp (texts_at (names, a->name), texts_at (names, b->name));
}

/* Add up the links in the order of op names, as users' tools do, because the
 * order affects the last bit.
 */
static int add_up (struct bandwidth_state *s)
{
    struct op_traffic *ops = s->ops.records;
    double *mb = calloc (2 * (size_t)s->ops.n + 1, sizeof (*mb));
    double *ms = mb + s->ops.n;

    if (!mb)
        return -ENOMEM;
    if (s->ops.n > 0)
        qsort_r (ops, s->ops.n, sizeof (*ops), compare_ops, &s->names);
    for (uint32_t i = 0; i < s->ops.n; i++) {
        mb[i] = ops[i].mb;
        ms[i] = ops[i].ms;
    }
    for (uint32_t i = 0, end; i < s->ops.n; i = end) {
        struct link_sums *l = map_at (&s->links, ops[i].link);

        for (end = i + 1; end < s->ops.n && ops[end].link == ops[i].link;)
            end++;
        l->mb = sums_pairwise (mb + i, end - i);
        l->ms = sums_pairwise (ms + i, end - i);
    }
    free (mb);
    return 0;
}

static void cluster_bandwidth_bind (struct cluster_part *p, const void *sum)
{
    const struct bandwidth_state *s = p->state;
    const struct packet_sums *x = sum;
    const struct link_sums *l = map_at (&s->links, x->link);

    (void)sqlite3_bind_text (p->total, 4, bands[x->key.word[1]], -1,
                             SQLITE_STATIC);
    (void)sqlite3_bind_double (p->total, 5, l->mb);
    (void)sqlite3_bind_double (p->total, 6, l->ms);
    (void)sqlite3_bind_double (p->total, 7, x->package);
    cluster_part_bind_sum (p, 8, &x->count);
    cluster_part_bind_sum (p, 9, &x->duration);
}

static int cluster_bandwidth_finish (struct cluster_part *p, struct err *err)
{
    struct bandwidth_state *s = p->state;
    int rc = add_up (s) < 0 ? err_set (err, ENOMEM, "no memory for sums")
                            : cluster_part_totals (p, cluster_bandwidth_bind,
                                                   err);

    map_clear (&s->links);
    map_clear (&s->ops);
    texts_clear (&s->names);
    return rc;
}

static void cluster_bandwidth_fini (void *state)
{
    struct bandwidth_state *s = state;

    map_fini (&s->links);
    map_fini (&s->ops);
    texts_fini (&s->names);
}

const struct cluster_table cluster_bandwidth = {
    .source = "CommAnalyzerBandwidth",
    .name = "ClusterCommunicationBandwidth",
    .create = "CREATE TABLE ClusterCommunicationBandwidth (\"step\" TEXT, "
              "\"rank_id\" INTEGER, \"hccl_op_name\" TEXT, \"group_name\" "
              "TEXT, \"band_type\" TEXT, \"transit_size\" REAL, "
              "\"transit_time\" REAL, \"bandwidth\" REAL, "
              "\"large_packet_ratio\" REAL, \"package_size\" REAL, \"count\" "
              "INTEGER, \"total_duration\" REAL)",
    .index = "CREATE INDEX ClusterCommunicationBandwidth_op ON "
             "ClusterCommunicationBandwidth (step, group_name, rank_id, "
             "hccl_op_name, band_type)",
    .insert = "INSERT INTO ClusterCommunicationBandwidth SELECT"
              " step_taken(), rank, " CLUSTER_CLEAN ("hccl_op_name")
              ", group_taken(), transport_type, transit_size, transit_time,"
              " bandwidth, large_packet_ratio, package_size, count,"
              " total_duration FROM a.CommAnalyzerBandwidth"
              " WHERE rowid BETWEEN ?1 AND ?2 AND take(rank, hccl_op_name,"
              " group_name, step, transport_type, transit_size,"
              " transit_time, package_size, count, total_duration)",
    .insert_total = "INSERT INTO ClusterCommunicationBandwidth VALUES (?2, ?1,"
                    " '" CLUSTER_TOTAL "', ?3, ?4, ?5, ?6,"
                    " round4(rate(?5, ?6)), 0, ?7, ?8, ?9)",
    .take_args = TAKE_ARGS,
    .take = cluster_bandwidth_take,
    .finish = cluster_bandwidth_finish,
    .sum_bytes = sizeof (struct packet_sums),
    .state_bytes = sizeof (struct bandwidth_state),
    .fini = cluster_bandwidth_fini,
};
