/* aggregator/cluster_db/cluster_bandwidth.c - ClusterCommunicationBandwidth:
 * each op's traffic by transport and size of packets, and its sums
 *
 * The size and time of a transport repeat on each of an op's rows: its sums
 * take them once for each op.
 */
#include "cluster_db/cluster_part.h"

#include "store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TAKE_RANK, TAKE_OP, TAKE_GROUP, TAKE_STEP, TAKE_BAND, TAKE_MB, TAKE_MS,
       TAKE_PACKAGE, TAKE_COUNT, TAKE_DURATION, TAKE_ARGS };

/* Those that viewers know, in the order of their names. */
static const char *const bands[] = { "HCCS", "LOCAL", "PCIE", "RDMA", "SDMA",
                                     "SIO" };

#define BANDS ((unsigned)(sizeof (bands) / sizeof (bands[0])))

struct op_traffic {
    uint32_t name;
    double mb, ms;
};

/* All of a step, a group and a transport. */
struct link_sums {
    struct op_traffic *ops;
    uint32_t n;
    double mb, ms;              // of all ops, when the rank has ended
};

/* And of one size of packets. */
struct packet_sums {
    uint32_t link;
    double package;             // as in the table: the key has its bits
    struct sum count, duration;
};

struct bandwidth_state {
    struct packet_sums *packets;        // by part's key
    struct keys link_keys, ops;         // ops: those of a link that counted
    struct link_sums *links;            // by link_keys
    uint32_t nlinks;                    // of which there is memory
    struct texts names;                 // of ops
    uint32_t name;                      // of the row before
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

/* An op's rows lie together. */
static uint32_t name_of (struct bandwidth_state *s, sqlite3_value *op)
{
    const char *text = (const char *)sqlite3_value_text (op);

    if (s->names.n == 0 || strcmp (s->names.items[s->name], text) != 0)
        s->name = texts_intern (&s->names, text, strlen (text));
    return s->name;
}

static bool add_op (struct cluster_part *p, struct link_sums *l,
                    sqlite3_value **row)
{
    const struct bandwidth_state *s = p->state;

    if (!cluster_part_reserve (p, (void **)&l->ops, l->n, sizeof (*l->ops)))
        return false;
    l->ops[l->n++] = (struct op_traffic){
        s->name, sqlite3_value_double (row[TAKE_MB]),
        sqlite3_value_double (row[TAKE_MS]) };
    return true;
}

/* The number of the row's link, in whose sums its op is from now on. */
static uint32_t add_link (struct cluster_part *p, unsigned band,
                          sqlite3_value **row)
{
    struct bandwidth_state *s = p->state;
    struct key key = cluster_part_key (p, band, 0);
    uint32_t n = s->ops.n, at = keys_intern (&s->link_keys, &key), name;

    if (at == KEYS_NONE)
        return at;
    while (s->nlinks <= at) {
        if (!cluster_part_reserve (p, (void **)&s->links, s->nlinks,
                                   sizeof (*s->links)))
            return KEYS_NONE;
        s->nlinks++;
    }
    if ((name = name_of (s, row[TAKE_OP])) == TEXTS_NONE)
        return KEYS_NONE;
    key = (struct key){ { at, name, 0 } };
    if (keys_intern (&s->ops, &key) == KEYS_NONE ||
        (s->ops.n > n && !add_op (p, &s->links[at], row)))
        return KEYS_NONE;
    return at;
}

static bool add_packets (struct cluster_part *p, unsigned band, uint32_t link,
                         sqlite3_value **row)
{
    struct bandwidth_state *s = p->state;
    double package = sqlite3_value_double (row[TAKE_PACKAGE]);
    uint32_t n = p->keys.n, at;
    struct packet_sums *sums;
    struct key key;
    uint64_t bits;

    memcpy (&bits, &package, sizeof (bits));    // of sizes, bits sort alike
    key = cluster_part_key (p, band, bits);
    if ((at = keys_intern (&p->keys, &key)) == KEYS_NONE ||
        (at == n && !cluster_part_reserve (p, (void **)&s->packets, n,
                                           sizeof (*s->packets))))
        return false;
    sums = &s->packets[at];
    sums->link = link;
    sums->package = package;
    sum_add (&sums->count, sqlite3_value_double (row[TAKE_COUNT]));
    sum_add (&sums->duration, sqlite3_value_double (row[TAKE_DURATION]));
    return true;
}

/* Rows without a transport say how much a call moved, and not over what. */
static bool cluster_bandwidth_take (struct cluster_part *p, sqlite3_value **row)
{
    unsigned band = band_of (row[TAKE_BAND]);
    uint32_t link;

    if (band == BANDS ||
        !cluster_part_take (p, row[TAKE_RANK], row[TAKE_OP], row[TAKE_GROUP],
                            row[TAKE_STEP]))
        return false;
    link = add_link (p, band, row);
    if (link == KEYS_NONE || !add_packets (p, band, link, row))
        p->no_memory = true;
    return !p->no_memory;
}

static int compare_ops (const void *pa, const void *pb, void *arg)
{
    const struct op_traffic *a = pa, *b = pb;
    const struct texts *names = arg;

    return strcmp (names->items[a->name], names->items[b->name]);
}

/* In the order of names, which is that of users' tools and shows in the last
 * bit.
 */
static int add_up (struct bandwidth_state *s, struct link_sums *l)
{
    double *values = calloc (l->n, sizeof (*values));

    if (!values)
        return -ENOMEM;
    qsort_r (l->ops, l->n, sizeof (*l->ops), compare_ops, &s->names);
    for (uint32_t i = 0; i < l->n; i++)
        values[i] = l->ops[i].mb;
    l->mb = sums_pairwise (values, l->n);
    for (uint32_t i = 0; i < l->n; i++)
        values[i] = l->ops[i].ms;
    l->ms = sums_pairwise (values, l->n);
    free (values);
    return 0;
}

static void cluster_bandwidth_bind (struct cluster_part *p, uint32_t i)
{
    const struct bandwidth_state *s = p->state;
    const struct packet_sums *x = &s->packets[i];
    const struct link_sums *l = &s->links[x->link];

    db_bind_text (p->total, 4, bands[p->keys.items[i].word[1]]);
    (void)sqlite3_bind_double (p->total, 5, l->mb);
    (void)sqlite3_bind_double (p->total, 6, l->ms);
    (void)sqlite3_bind_double (p->total, 7, x->package);
    cluster_part_bind_sum (p, 8, &x->count);
    cluster_part_bind_sum (p, 9, &x->duration);
}

static void cluster_bandwidth_forget (struct bandwidth_state *s)
{
    for (uint32_t i = 0; i < s->nlinks; i++)
        free (s->links[i].ops);
    s->nlinks = 0;
    keys_clear (&s->link_keys);
    keys_clear (&s->ops);
    texts_fini (&s->names);
}

static int cluster_bandwidth_finish (struct cluster_part *p, struct err *err)
{
    struct bandwidth_state *s = p->state;
    int rc = 0;

    for (uint32_t i = 0; i < s->nlinks && rc == 0; i++)
        rc = add_up (s, &s->links[i]);
    if (rc < 0)
        (void)err_set (err, ENOMEM, "no memory for sums");
    else
        rc = cluster_part_totals (p, cluster_bandwidth_bind, err);
    cluster_bandwidth_forget (s);
    return rc;
}

static void cluster_bandwidth_fini (void *state)
{
    struct bandwidth_state *s = state;

    cluster_bandwidth_forget (s);
    keys_fini (&s->link_keys);
    keys_fini (&s->ops);
    free (s->links);
    free (s->packets);
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
    .state_bytes = sizeof (struct bandwidth_state),
    .fini = cluster_bandwidth_fini,
};
