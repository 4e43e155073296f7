/* node_agent/extract/kineto_ops.c - the communication of a trace, op by op
 *
 * A trace says when an op ran and, mostly, what it moved.  What of its time was
 * waiting shows only beside the other ranks: those columns are NULL here.
 */
#include "extract/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_BACK 64            // host ranges before a launch

struct op {
    int64_t start, dur, order;  // ns; 'order' is that of launching
    const struct comm_record *record;       // NULL: none
    const struct kineto_group *group;       // NULL: not known
    int64_t number;             // in the op's name
    uint32_t again;             // how many of that number, from 1
    uint16_t step;
    uint8_t coll;
    bool gloo;
};

struct ops {
    struct kineto *k;
    struct op *v;
    size_t n, cap;
    uint32_t *by_external, *by_thread;      // indices of records
    size_t nexternal, nthread;
    uint64_t outside;           // of any step
    uint64_t ungrouped, unsized;
    struct batch time, bandwidth, matrix;
};

/* ---- which record is whose ---- */

// qsort has no argument; a trace is read by one thread
static _Thread_local const struct comm_record *sorted;

static int by_external (const void *pa, const void *pb)
{
    uint32_t a = sorted[*(const uint32_t *)pa].external;
    uint32_t b = sorted[*(const uint32_t *)pb].external;

    return (a > b) - (a < b);
}

static int by_thread (const void *pa, const void *pb)
{
    const struct comm_record *a = &sorted[*(const uint32_t *)pa];
    const struct comm_record *b = &sorted[*(const uint32_t *)pb];

    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static bool index_records (struct ops *o)
{
    const struct kineto *k = o->k;
    size_t size = (k->nrecords + 1) * sizeof (uint32_t);

    o->by_external = malloc (size);
    o->by_thread = malloc (size);
    if (!o->by_external || !o->by_thread) {
        k->src->stopped = err_set (k->err, ENOMEM, "no memory for the "
                                   "communication of a trace");
        return false;
    }
    for (size_t i = 0; i < k->nrecords; i++) {
        const struct comm_record *r = &k->records[i];

        if (r->end == 0 || r->gloo)
            continue;           // not of the host
        o->by_thread[o->nthread++] = (uint32_t)i;
        if (r->args && r->external > 0)
            o->by_external[o->nexternal++] = (uint32_t)i;
    }
    sorted = k->records;
    if (o->nthread > 1)
        qsort (o->by_thread, o->nthread, sizeof (uint32_t), by_thread);
    if (o->nexternal > 1)
        qsort (o->by_external, o->nexternal, sizeof (uint32_t), by_external);
    return true;
}

static const struct comm_record *find_external (const struct ops *o,
                                                uint32_t external)
{
    const struct comm_record *r = o->k->records;
    size_t low = 0, high = o->nexternal;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r[o->by_external[middle]].external < external)
            low = middle + 1;
        else
            high = middle;
    }
    return external > 0 && low < o->nexternal &&
                   r[o->by_external[low]].external == external
               ? &r[o->by_external[low]] : NULL;
}

/* How much a host range tells. */
static unsigned telling (const struct comm_record *r)
{
    return (r->args ? 4u : 0) + (r->in >= 0 ? 2u : 0) +
           (r->coll != COLL_NONE && r->coll != COLL_OTHER ? 1u : 0);
}

/* The host range around a launch that tells most. */
static const struct comm_record *find_around (const struct ops *o,
                                              const struct launch *l)
{
    const struct comm_record *records = o->k->records, *best = NULL;
    size_t low = 0, high = o->nthread;

    while (low < high) {        // the first that begins later
        size_t middle = low + (high - low) / 2;
        const struct comm_record *r = &records[o->by_thread[middle]];

        if (r->tid < l->tid || (r->tid == l->tid && r->start <= l->ts))
            low = middle + 1;
        else
            high = middle;
    }
    for (unsigned i = 0; low > 0 && i < LOOK_BACK; i++) {
        const struct comm_record *r = &records[o->by_thread[--low]];

        if (r->tid != l->tid)
            break;
        if (r->end >= l->ts && (!best || telling (r) > telling (best)))
            best = r;
    }
    return best;
}

/* ---- collecting ---- */

static void add_op (struct ops *o, struct op op)
{
    struct kineto *k = o->k;
    struct op *room;

    if (op.step == KINETO_NO_STEP) {
        o->outside++;
        return;
    }
    if (!k->steps[op.step].wanted)
        return;
    op.group = kineto_group (k, op.record);
    if (op.group && !op.group->key[0])
        op.group = NULL;
    room = kineto_room (k, &o->v, &o->n, &o->cap, sizeof (*room));
    if (room)
        *room = op;
}

static void add_kernel (struct ops *o, const struct gpu_event *e)
{
    const struct kineto *k = o->k;
    const struct launch *l = kineto_launch (k, e->correlation);
    struct op op = { .start = e->start, .dur = e->dur, .step = e->step,
                     .order = l ? l->ts : e->start, .coll = e->coll };

    if (e->record != KINETO_NONE)
        op.record = &k->records[e->record];
    else if (!(op.record = find_external (o, e->external)) && l)
        op.record = find_around (o, l);
    if (op.record && op.record->coll != COLL_NONE &&
        op.record->coll != COLL_OTHER)
        op.coll = op.record->coll;
    add_op (o, op);
}

static void collect (struct ops *o)
{
    const struct kineto *k = o->k;

    for (size_t i = 0; i < k->ngpu; i++) {
        if (k->gpu[i].kind == GPU_COMMUNICATION)
            add_kernel (o, &k->gpu[i]);
    }
    for (size_t i = 0; i < k->nrecords; i++) {
        const struct comm_record *r = &k->records[i];

        if (r->gloo)
            add_op (o, (struct op){ .start = r->start,
                                    .dur = r->end - r->start,
                                    .order = r->start, .record = r,
                                    .step = kineto_host_step (k, r->start),
                                    .coll = r->coll, .gloo = true });
    }
}

/* ---- names ---- */

static const char *key_of (const struct op *op)
{
    return op->group ? op->group->key : "";
}

static int64_t seq_of (const struct op *op)
{
    return op->record ? op->record->seq : -1;
}

/* Of one step, group and kind. */
static int compare_kind (const struct op *a, const struct op *b)
{
    int by_key;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    by_key = a->group == b->group ? 0 : strcmp (key_of (a), key_of (b));
    return by_key ? by_key : (int)a->coll - (int)b->coll;
}

static int by_kind (const void *pa, const void *pb)
{
    const struct op *a = pa, *b = pb;
    int kind = compare_kind (a, b);

    if (kind)
        return kind;
    if (seq_of (a) != seq_of (b))
        return seq_of (a) < seq_of (b) ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static int by_start (const void *pa, const void *pb)
{
    const struct op *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return by_kind (a, b);
}

/* The numbers that tell ops of one kind apart, alike on all ranks: what torch
 * counted, else the order of launching within the step.
 */
static void number_ops (struct ops *o)
{
    for (size_t i = 0; i < o->n; i++) {
        struct op *op = &o->v[i], *before = i > 0 ? op - 1 : NULL;
        bool same = before && compare_kind (before, op) == 0;

        op->again = 1;
        op->number = seq_of (op);
        if (op->number >= 0 && same && before->number == op->number)
            op->again = before->again + 1;
        else if (op->number < 0)
            op->number = same ? before->number + 1 : 0;
    }
}

static size_t name_op (const struct op *op, char out[128])
{
    const char *key = key_of (op);
    size_t n = strlen (key);
    int used = snprintf (out, 128, "%s_%s__%s_%" PRId64 "_%u",
                         op->gloo ? "gloo" : "nccl",
                         kineto_coll_name (op->coll),
                         n == 0 ? "unknown" : n > 3 ? key + n - 3 : key,
                         op->number, op->again);

    return (size_t)used;
}

/* ---- rows ---- */

struct texts {
    uint32_t op, group, step, type;
};

static struct texts put_texts (struct batch *b, const struct ops *o,
                               const struct op *op, const char *name,
                               size_t n)
{
    const char *type = kineto_coll_p2p (op->coll) ? "p2p" : "collective";
    const char *key = key_of (op);
    char step[32];
    int used = snprintf (step, sizeof (step), "step%s",
                         o->k->steps[op->step].id);

    return (struct texts){
        batch_text (b, name, n),
        *key ? batch_text (b, key, strlen (key)) : BATCH_NULL_TEXT,
        batch_text (b, step, (size_t)used),
        batch_text (b, type, strlen (type)),
    };
}

static bool flush_full (struct ops *o, struct batch *b)
{
    return !batch_full (b) || source_flush (o->k->src, b, o->k->err);
}

static bool put_time (struct ops *o, const struct op *op)
{
    struct batch *b = &o->time;
    uint32_t row = b->nrows;
    struct texts t;
    char name[128];

    t = put_texts (b, o, op, name, name_op (op, name));
    b->text[TIME_OP][row] = t.op;
    b->text[TIME_GROUP][row] = t.group;
    b->real[TIME_START][row] = kineto_us (o->k, op->start);
    b->real[TIME_ELAPSE][row] = (double)op->dur / 1e6;
    b->real[TIME_TRANSIT][row] = NAN;
    b->real[TIME_WAIT][row] = NAN;
    b->real[TIME_SYNC][row] = NAN;
    b->real[TIME_IDLE][row] = NAN;
    b->text[TIME_STEP][row] = t.step;
    b->text[TIME_TYPE][row] = t.type;
    b->nrows++;
    return flush_full (o, b);
}

static double megabytes (const struct op *op)
{
    struct comm_record r;

    if (!op->record)
        return NAN;
    r = *op->record;
    r.coll = op->coll;          // an old record does not say it
    return kineto_comm_mb (&r, op->group ? op->group->size : -1);
}

static bool put_bandwidth (struct ops *o, const struct op *op, double mb)
{
    struct batch *b = &o->bandwidth;
    uint32_t row = b->nrows;
    struct texts t;
    char name[128];

    t = put_texts (b, o, op, name, name_op (op, name));
    b->text[BW_OP][row] = t.op;
    b->text[BW_GROUP][row] = t.group;
    b->text[BW_TRANSPORT][row] = BATCH_NULL_TEXT;
    b->real[BW_SIZE][row] = mb;
    b->real[BW_TIME][row] = NAN;
    b->real[BW_BANDWIDTH][row] = NAN;
    b->real[BW_LARGE][row] = NAN;
    b->real[BW_PACKAGE][row] = mb;
    b->real[BW_COUNT][row] = 1;
    b->real[BW_TOTAL][row] = NAN;
    b->text[BW_STEP][row] = t.step;
    b->text[BW_TYPE][row] = t.type;
    b->nrows++;
    return flush_full (o, b);
}

static bool put_ops (struct ops *o)
{
    unsigned want = o->k->want;

    for (size_t i = 0; i < o->n; i++) {
        const struct op *op = &o->v[i];
        double mb = megabytes (op);

        o->ungrouped += !op->group;
        o->unsized += isnan (mb) && op->coll != COLL_BARRIER;
        if (want >> TABLE_TIME & 1 && !put_time (o, op))
            return false;
        if (want >> TABLE_BANDWIDTH & 1 && !isnan (mb) &&
            !put_bandwidth (o, op, mb))
            return false;
    }
    return true;
}

/* ---- links ---- */

/* The place of a rank in its group, -1: none. */
static int64_t place (const struct kineto_group *g, int64_t rank)
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

/* Add what an op sent to, or got from, each member.  False: not known. */
static bool add_links (const struct kineto *k, const struct op *op,
                       double *mb)
{
    const struct comm_record *r = op->record;
    uint32_t n = op->group->nmembers;
    int64_t peer;

    if (!r || r->size == 0 || r->in < 0)
        return false;
    if (op->coll == COLL_SEND || op->coll == COLL_RECEIVE) {
        if (r->peer < 0 || (peer = place (op->group, r->peer)) < 0)
            return false;
        mb[peer] += megabytes (op);
        return true;
    }
    if (op->coll != COLL_ALL_TO_ALL || n > KINETO_LISTED ||
        (r->nsplits > 0 && r->nsplits != n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        mb[i] += (r->nsplits > 0 ? (double)k->splits[r->splits + i]
                                 : (double)r->in / n) * r->size / 1e6;
    return true;
}

static bool put_link (struct ops *o, const struct op *op, int64_t src,
                      int64_t dst, double mb)
{
    struct batch *b = &o->matrix;
    uint32_t row = b->nrows;
    char name[32], rank[24];
    struct texts t;
    int n;

    n = snprintf (name, sizeof (name), "%s-total",
                  op->coll == COLL_ALL_TO_ALL ? "alltoall"
                                              : kineto_coll_name (op->coll));
    t = put_texts (b, o, op, name, (size_t)n);
    b->text[MATRIX_OP][row] = t.op;
    b->text[MATRIX_GROUP][row] = t.group;
    n = snprintf (rank, sizeof (rank), "%" PRId64, src);
    b->text[MATRIX_SRC][row] = batch_text (b, rank, (size_t)n);
    n = snprintf (rank, sizeof (rank), "%" PRId64, dst);
    b->text[MATRIX_DST][row] = batch_text (b, rank, (size_t)n);
    b->text[MATRIX_TRANSPORT][row] = BATCH_NULL_TEXT;
    b->real[MATRIX_SIZE][row] = mb;
    b->real[MATRIX_TIME][row] = NAN;
    b->real[MATRIX_BANDWIDTH][row] = NAN;
    b->text[MATRIX_STEP][row] = t.step;
    b->text[MATRIX_TYPE][row] = t.type;
    b->text[MATRIX_OP_NAME][row] = batch_text (b, "", 0);
    b->nrows++;
    return flush_full (o, b);
}

/* The links of the ops v[0..n), which are of one step, group and kind. */
static bool put_links (struct ops *o, const struct op *v, size_t n)
{
    const struct kineto_group *g = v->group;
    int64_t me = place (g, o->k->src->capture->rank);
    bool known = true, ok = true;
    double *mb;

    if (me < 0 || !(v->coll == COLL_SEND || v->coll == COLL_RECEIVE ||
                    v->coll == COLL_ALL_TO_ALL))
        return true;
    if (!(mb = calloc (g->nmembers, sizeof (*mb)))) {
        o->k->src->stopped = err_set (o->k->err, ENOMEM, "no memory for "
                                      "links");
        return false;
    }
    for (size_t i = 0; i < n && known; i++)
        known = add_links (o->k, &v[i], mb);
    for (uint32_t i = 0; i < g->nmembers && known && ok; i++) {
        if (mb[i] > 0 && i != me)
            ok = v->coll == COLL_RECEIVE ? put_link (o, v, i, me, mb[i])
                                         : put_link (o, v, me, i, mb[i]);
    }
    free (mb);
    return ok;
}

static bool put_matrix (struct ops *o)
{
    for (size_t i = 0, end; i < o->n; i = end) {
        for (end = i + 1; end < o->n &&
                          compare_kind (&o->v[i], &o->v[end]) == 0;)
            end++;
        if (!put_links (o, &o->v[i], end - i))
            return false;
    }
    return true;
}

/* ---- all ---- */

/* What the tables cannot know, in words. */
static void tell_unknown (const struct ops *o)
{
    struct capture *c = o->k->src->capture;

    if (o->outside > 0)
        capture_reason (c, "%" PRIu64 " communication ops lie outside every "
                        "step and are left out", o->outside);
    if (o->ungrouped > 0)
        capture_reason (c, "the trace does not say the group of %" PRIu64
                        " of %zu communication ops: their group_name is NULL",
                        o->ungrouped, o->n);
    if (o->unsized > 0)
        capture_reason (c, "the trace does not say the size of %" PRIu64
                        " of %zu communication ops: they have no "
                        "transit_size and no bandwidth", o->unsized, o->n);
}

static bool emit (struct ops *o)
{
    struct kineto *k = o->k;

    if (!index_records (o))
        return false;
    collect (o);
    if (o->n > 1)
        qsort (o->v, o->n, sizeof (*o->v), by_kind);
    number_ops (o);
    if (k->want >> TABLE_MATRIX & 1 && !put_matrix (o))
        return false;
    if (o->n > 1)
        qsort (o->v, o->n, sizeof (*o->v), by_start);
    if (!put_ops (o) || !source_flush (k->src, &o->time, k->err) ||
        !source_flush (k->src, &o->bandwidth, k->err) ||
        !source_flush (k->src, &o->matrix, k->err))
        return false;
    tell_unknown (o);
    return true;
}

bool kineto_emit_ops (struct kineto *k)
{
    struct ops o = { .k = k };
    int rc = batch_init (&o.time, TABLE_TIME, k->err);

    if (rc == 0)
        rc = batch_init (&o.bandwidth, TABLE_BANDWIDTH, k->err);
    if (rc == 0)
        rc = batch_init (&o.matrix, TABLE_MATRIX, k->err);
    if (rc < 0)
        k->src->stopped = rc;
    else
        (void)emit (&o);
    batch_fini (&o.time);
    batch_fini (&o.bandwidth);
    batch_fini (&o.matrix);
    free (o.by_external);
    free (o.by_thread);
    free (o.v);
    return !k->src->stopped;
}
