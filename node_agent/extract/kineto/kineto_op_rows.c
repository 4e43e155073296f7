/* node_agent/extract/kineto/kineto_op_rows.c - write rows of the communication
 * of a trace
 *
 * The waiting part of an op only shows in comparison with other ranks: those
 * columns are NULL here.
 */
#include "extract/kineto/kineto_ops.h"
#include "extract/rows/comm_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EVEN_MAX 1024u          // ranks for which an all-to-all has links

static void name_op (const struct op *op, char out[128])
{
    const char *key = kineto_op_key (op);
    size_t n = strlen (key);

    (void)snprintf (out, 128, "%s_%s__%s_%" PRId64 "_%u",
                    kineto_backend (op->range), kineto_coll_name (op->coll),
                    n == 0 ? "unknown" : n > 3 ? key + n - 3 : key,
                    op->number, op->again);
}

/* The texts of all rows of an op. */
struct names {
    struct comm_texts texts;
    char op[128], step[32];
};

static void name_all (const struct ops *o, const struct op *op,
                      struct names *n)
{
    const char *key = kineto_op_key (op);

    name_op (op, n->op);
    (void)snprintf (n->step, sizeof (n->step), "step%s",
                    o->k->steps[op->step].id);
    n->texts = (struct comm_texts){ n->op, *key ? key : NULL, n->step,
                                    comm_type (kineto_coll_p2p (op->coll)) };
}

static bool flush_full (struct ops *o, struct batch *b)
{
    return !batch_full (b) || source_flush (o->k->src, b, o->k->err);
}

static bool put_time (struct ops *o, const struct op *op)
{
    struct comm_figures f = comm_figures_of_call (kineto_us (o->k, op->start),
                                                  (double)op->dur / 1e6);
    struct names n;

    name_all (o, op, &n);
    comm_time_put (&o->time, &n.texts, &f);
    return flush_full (o, &o->time);
}

/* The MB that its rank must move, and those of the whole op. */
static double megabytes (const struct op *op, double *whole)
{
    struct comm_record r;

    *whole = NAN;
    if (!op->record)
        return NAN;
    r = *op->record;
    r.coll = op->coll;          // an old record lacks it
    return kineto_comm_mb (&r, op->group ? op->group->size : r.ranks, whole);
}

/* Write one packet: what is moved, or the size of the op if that is unknown. */
static bool put_bandwidth (struct ops *o, const struct op *op, double mb,
                           double whole)
{
    const struct comm_bucket k = { mb, NAN, NAN, NAN };
    struct names n;

    name_all (o, op, &n);
    comm_band_put (&o->bandwidth, &n.texts, NULL, &k, isnan (mb) ? whole : mb,
                   1, NAN);
    return flush_full (o, &o->bandwidth);
}

/* Count a group that is not declared, but has a known size. */
static void note_share (struct kineto *k, const struct op *op)
{
    uint32_t ranks = op->group || !op->record ? 0 : op->record->ranks;
    unsigned i = 0;

    if (ranks == 0)
        return;
    while (i < KINETO_SHARES && k->shares[i].ranks != 0 &&
           k->shares[i].ranks != ranks)
        i++;
    if (i == KINETO_SHARES)
        return;
    k->shares[i].ranks = ranks;
    k->shares[i].ops++;
}

bool kineto_put_ops (struct ops *o)
{
    unsigned want = o->k->want;

    for (size_t i = 0; i < o->n; i++) {
        const struct op *op = &o->v[i];
        double whole, mb = megabytes (op, &whole);

        note_share (o->k, op);
        o->ungrouped += !op->group;
        o->unsized += isnan (whole) && op->coll != COLL_BARRIER;
        o->uncounted += isnan (mb) && !isnan (whole);
        if (want >> TABLE_TIME & 1 && !put_time (o, op))
            return false;
        if (want >> TABLE_BANDWIDTH & 1 && !isnan (whole) &&
            !put_bandwidth (o, op, mb, whole))
            return false;
    }
    return true;
}

/* ---- links ---- */

/* The position of a rank in its group; -1: none. */
static int64_t kineto_op_rows_place (const struct kineto_group *g, int64_t rank)
{
    uint32_t low = 0, high = g && g->members ? g->nmembers : 0;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (g->members[middle] == rank)
            return middle;
        if (g->members[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Whether there are splits.  Without them, or with too many, all members are
 * assumed to get the same.
 */
static bool has_splits (const struct comm_record *r)
{
    return r->nsplits > 0 && r->nsplits != KINETO_CUT;
}

/* Add what an op sent to or received from each member.  False: unknown. */
static bool add_links (const struct kineto *k, const struct op *op,
                       double *mb)
{
    const struct comm_record *r = op->record;
    uint32_t n = op->group->nmembers;
    double whole;
    int64_t peer;

    if (!r || r->size == 0 || r->in < 0)
        return false;
    if (op->coll == COLL_SEND || op->coll == COLL_RECEIVE) {
        if (r->peer < 0 || (peer = kineto_op_rows_place (op->group,
                                                         r->peer)) < 0)
            return false;
        mb[peer] += megabytes (op, &whole);
        return true;
    }
    if (op->coll != COLL_ALL_TO_ALL || n > EVEN_MAX ||
        (r->nsplits > 0 && r->nsplits != KINETO_CUT && r->nsplits != n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        mb[i] += (has_splits (r) ? (double)k->splits[r->splits + i]
                                 : (double)r->in / n) * r->size / 1e6;
    return true;
}

static bool put_link (struct ops *o, const struct op *op, int64_t src,
                      int64_t dst, double mb)
{
    char kind[32], link[48];
    struct matrix_row m = { .kind = kind, .link = link, .op = "",
                            .size_mb = mb, .time_ms = NAN, .bandwidth = NAN };
    struct names n;

    name_all (o, op, &n);
    m.group = n.texts.group;
    (void)snprintf (kind, sizeof (kind), "%s-total",
                    op->coll == COLL_ALL_TO_ALL ? "alltoall"
                                                : kineto_coll_name (op->coll));
    (void)snprintf (link, sizeof (link), "%" PRId64 "-%" PRId64, src, dst);
    (void)comm_link_put (&o->matrix, &m, n.step, n.texts.type);
    return flush_full (o, &o->matrix);
}

/* Write the links of the ops v[0..n), which have the same step, group and kind.
 */
static bool put_links (struct ops *o, const struct op *v, size_t n)
{
    const struct kineto_group *g = v->group;
    int64_t me = kineto_op_rows_place (g, o->k->src->capture->rank);
    bool known = true, ok = true;
    double *mb;

    if (!(v->coll == COLL_SEND || v->coll == COLL_RECEIVE ||
          v->coll == COLL_ALL_TO_ALL))
        return true;
    if (me < 0) {
        o->unlinked += g ? n : 0;       // without a group: that is reported
        return true;
    }
    if (!(mb = calloc (g->nmembers, sizeof (*mb)))) {
        o->k->src->stopped = err_set (o->k->err, ENOMEM, "no memory for "
                                      "links");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        known = add_links (o->k, &v[i], mb) && known;
        o->even += v->coll == COLL_ALL_TO_ALL && v[i].record &&
                   v[i].record->nsplits == KINETO_CUT;
    }
    o->unlinked += known ? 0 : n;
    for (uint32_t i = 0; i < g->nmembers && known && ok; i++) {
        if (mb[i] > 0 && i != me)
            ok = v->coll == COLL_RECEIVE ? put_link (o, v, i, me, mb[i])
                                         : put_link (o, v, me, i, mb[i]);
    }
    free (mb);
    return ok;
}

int kineto_op_compare (const struct op *a, const struct op *b)
{
    int by_key;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    by_key = a->group == b->group
                 ? 0 : strcmp (kineto_op_key (a), kineto_op_key (b));
    return by_key ? by_key : (int)a->coll - (int)b->coll;
}

bool kineto_put_links (struct ops *o)
{
    for (size_t i = 0, end; i < o->n; i = end) {
        for (end = i + 1; end < o->n &&
                          kineto_op_compare (&o->v[i], &o->v[end]) == 0;)
            end++;
        if (!put_links (o, &o->v[i], end - i))
            return false;
    }
    return true;
}
