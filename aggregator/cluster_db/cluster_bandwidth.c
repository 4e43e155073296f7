/* aggregator/cluster_db/cluster_bandwidth.c - ClusterCommunicationBandwidth:
 * traffic of each op by transport and packet size, and its sums
 *
 * All rows of an op and a transport repeat its size and time, so the sums take
 * these once per op.
 */
#include "cluster_db/cluster_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The transports that viewers know, sorted by name. */
static const char *const bands[] = { "HCCS", "LOCAL", "PCIE", "RDMA", "SDMA",
                                     "SIO" };

#define BANDS ((unsigned)(sizeof (bands) / sizeof (bands[0])))
#define NUMBERS (BW_TOTAL - BW_SIZE + 1)        // columns

/* The traffic of an op over a link. */
struct op_traffic {
    uint64_t link_op;           // the key: link and number of the name
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
    struct texts names;         // of ops
    uint32_t link;              // of the row before
    unsigned band;
};

static unsigned band_of (const struct cluster_rows *r)
{
    size_t n;
    const char *text = page_scan_text (&r->scan, BW_TRANSPORT, &n);
    unsigned i = 0;

    while (i < BANDS && (!text || strlen (bands[i]) != n ||
                         memcmp (bands[i], text, n) != 0))
        i++;
    return i;
}

/* Find the number of the row's link and add the op to its sums.  False without
 * memory.
 */
static bool add_op (struct cluster_rows *r, unsigned band,
                    const double *numbers)
{
    struct bandwidth_state *s = r->state;
    const struct link_sums *link;
    struct op_traffic *op;
    const char *text;
    uint32_t name;
    bool is_new;
    size_t n;

    // the rows of an op are adjacent
    if (r->same_op && r->same_place && band == s->band)
        return true;
    text = page_scan_text (&r->scan, BW_OP, &n);
    if (!(link = cluster_rows_sum (r, &s->links, band, 0, &is_new)) ||
        (name = texts_intern (&s->names, text, n)) == TEXTS_NONE)
        return false;
    s->band = band;
    s->link = (uint32_t)(link - (const struct link_sums *)s->links.records);
    op = map_put (&s->ops, &(uint64_t){ (uint64_t)s->link << 32 | name },
                  &is_new);
    if (op && is_new) {
        op->mb = cluster_known (numbers[0]);
        op->ms = cluster_known (numbers[BW_TIME - BW_SIZE]);
    }
    return op;
}

static bool add_packets (struct cluster_rows *r, unsigned band,
                         const double *numbers)
{
    const struct bandwidth_state *s = r->state;
    double package = cluster_known (numbers[BW_PACKAGE - BW_SIZE]);
    struct packet_sums *sums;
    bool is_new;
    uint64_t bits;

    memcpy (&bits, &package, sizeof (bits));    // of sizes, bits sort alike
    if (!(sums = cluster_rows_sum (r, &r->sums, band, bits, &is_new)))
        return false;
    sums->link = s->link;
    sums->package = package;
    sum_add (&sums->count, cluster_known (numbers[BW_COUNT - BW_SIZE]));
    sum_add (&sums->duration, cluster_known (numbers[BW_TOTAL - BW_SIZE]));
    return true;
}

/* Rows without a transport say how much an op moved, but not over what. */
static int cluster_bandwidth_take (struct cluster_rows *r, struct err *err)
{
    unsigned band = band_of (r);
    int rc = band == BANDS ? 0 : cluster_rows_take (r, err);
    double numbers[NUMBERS];

    if (rc < 1)
        return rc;
    for (unsigned i = 0; i < NUMBERS; i++)
        numbers[i] = cluster_number_at (r, BW_SIZE + i);
    if (!add_op (r, band, numbers) || !add_packets (r, band, numbers))
        return err_set (err, ENOMEM, "no memory for sums");
    r->band = bands[band];
    cluster_put (r, page_text (r->band, (uint32_t)strlen (r->band)));
    for (unsigned i = 0; i < NUMBERS; i++)
        cluster_put (r, i == BW_COUNT - BW_SIZE ? page_numeric (numbers[i])
                                                : page_real (numbers[i]));
    return 1;
}

/* ---- totals ---- */

static int compare_names (const void *pa, const void *pb, void *arg)
{
    return strcmp (texts_at (arg, *(const uint32_t *)pa),
                   texts_at (arg, *(const uint32_t *)pb));
}

/* The memory of add_up, by number. */
struct adding {
    double *mb, *ms;            // of the ops of the first link, and so on
    uint32_t *names;            // in order
    uint32_t *first, *next;     // ops of a name; UINT32_MAX: none
    uint32_t *end;              // of a link: its first op, then its last one
};

static void order_ops (const struct bandwidth_state *s, struct adding *a)
{
    const struct op_traffic *ops = s->ops.records;

    for (uint32_t i = 0; i < s->names.map.n; i++) {
        a->names[i] = i;
        a->first[i] = UINT32_MAX;
    }
    qsort_r (a->names, s->names.map.n, sizeof (*a->names), compare_names,
             (void *)&s->names);
    for (uint32_t i = 0; i < s->ops.n; i++) {
        a->next[i] = a->first[(uint32_t)ops[i].link_op];
        a->first[(uint32_t)ops[i].link_op] = i;
        a->end[(ops[i].link_op >> 32) + 1]++;
    }
    for (uint32_t i = 1; i <= s->links.n; i++)
        a->end[i] += a->end[i - 1];
    for (uint32_t i = 0; i < s->names.map.n; i++) {
        for (uint32_t k = a->first[a->names[i]]; k != UINT32_MAX;
             k = a->next[k]) {
            uint32_t at = a->end[ops[k].link_op >> 32]++;

            a->mb[at] = ops[k].mb;
            a->ms[at] = ops[k].ms;
        }
    }
}

/* Add up the links in the order of op names, as users' tools do, because the
 * order affects the last bit.
 */
static int add_up (struct bandwidth_state *s)
{
    size_t nops = s->ops.n, nnames = s->names.map.n, nlinks = s->links.n;
    double *all = calloc (2 * nops + nnames + nops / 2 + nlinks / 2 + 2,
                          sizeof (*all));
    struct adding a;

    if (!all)
        return -ENOMEM;
    a = (struct adding){ .mb = all, .ms = all + nops,
                         .names = (uint32_t *)(all + 2 * nops) };
    a.first = a.names + nnames;
    a.next = a.first + nnames;
    a.end = a.next + nops;
    order_ops (s, &a);
    for (uint32_t i = 0, at = 0; i < nlinks; at = a.end[i++]) {
        struct link_sums *l = map_at (&s->links, i);

        l->mb = sums_pairwise (a.mb + at, a.end[i] - at);
        l->ms = sums_pairwise (a.ms + at, a.end[i] - at);
    }
    free (all);
    return 0;
}

static void put_sums (struct cluster_rows *r, const void *sum)
{
    const struct bandwidth_state *s = r->state;
    const struct packet_sums *x = sum;
    const struct link_sums *l = map_at (&s->links, x->link);
    double rate = cluster_known (cluster_rate (l->mb, l->ms));

    r->band = bands[x->key.word[1]];
    cluster_put (r, page_text (r->band, (uint32_t)strlen (r->band)));
    cluster_put (r, page_real (l->mb));
    cluster_put (r, page_real (l->ms));
    cluster_put (r, page_real (sums_round4 (rate)));
    cluster_put (r, page_real (0));             // large packets
    cluster_put (r, page_real (x->package));
    cluster_put (r, page_numeric (cluster_sum (&x->count)));
    cluster_put (r, page_real (cluster_sum (&x->duration)));
}

static int cluster_bandwidth_finish (struct cluster_rows *r, struct err *err)
{
    struct bandwidth_state *s = r->state;
    int rc = add_up (s) < 0 ? err_set (err, ENOMEM, "no memory for sums")
                            : cluster_rows_totals (r, put_sums, err);

    map_clear (&s->links);
    map_clear (&s->ops);
    texts_clear (&s->names);
    return rc;
}

static void cluster_bandwidth_begin (void *state)
{
    struct bandwidth_state *s = state;

    s->links = (struct map)MAP (struct link_sums, 3);
    s->ops = (struct map)MAP (struct op_traffic, 1);
}

static void cluster_bandwidth_fini (void *state)
{
    struct bandwidth_state *s = state;

    map_fini (&s->links);
    map_fini (&s->ops);
    texts_fini (&s->names);
}

const struct cluster_table cluster_bandwidth = {
    .source = TABLE_BANDWIDTH,
    .step = BW_STEP,
    .name = "ClusterCommunicationBandwidth",
    .index = "ClusterCommunicationBandwidth_op",
    .create = "CREATE TABLE ClusterCommunicationBandwidth (\"step\" TEXT, "
              "\"rank_id\" INTEGER, \"hccl_op_name\" TEXT, \"group_name\" "
              "TEXT, \"band_type\" TEXT, \"transit_size\" REAL, "
              "\"transit_time\" REAL, \"bandwidth\" REAL, "
              "\"large_packet_ratio\" REAL, \"package_size\" REAL, \"count\" "
              "INTEGER, \"total_duration\" REAL);"
              "CREATE INDEX ClusterCommunicationBandwidth_op ON "
              "ClusterCommunicationBandwidth (step, group_name, rank_id, "
              "hccl_op_name, band_type);",
    .has_rank = true,
    .take = cluster_bandwidth_take,
    .finish = cluster_bandwidth_finish,
    .sum_bytes = sizeof (struct packet_sums),
    .state_bytes = sizeof (struct bandwidth_state),
    .begin = cluster_bandwidth_begin,
    .fini = cluster_bandwidth_fini,
};
