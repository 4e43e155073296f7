/* node_agent/extract/kineto/kineto_ops.c - the communication ops of a trace */
#include "extract/kineto/kineto_ops.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- which ranges of the host are ops ---- */

static bool has_backend (const struct kineto *k)
{
    for (size_t i = 0; i < k->nrecords; i++) {
        if (k->records[i].range >= RANGE_NCCL)
            return true;
    }
    return false;
}

/* Ranges of gloo are ops.  Ranges of others are usually the time of launching
 * an op on the host, which is used if there is nothing else.
 */
void kineto_choose_ops (struct kineto *k)
{
    bool backend = has_backend (k);

    if (k->ncomm_kernels > 0)
        return;
    for (size_t i = 0; i < k->nrecords; i++) {
        struct comm_record *r = &k->records[i];

        if (r->range == RANGE_HCCL ||
            (k->host_only && (backend ? r->range >= RANGE_NCCL
                                      : r->range == RANGE_CALL)))
            r->op = true;
    }
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
    room = kineto_reserve (k, &o->v, &o->n, &o->cap, sizeof (*room));
    if (room)
        *room = op;
}

static void add_kernel (struct ops *o, const struct comm_kernel *e)
{
    struct op op = { .start = e->start, .dur = e->dur, .step = e->step,
                     .order = e->order, .coll = e->coll };

    if (e->record != KINETO_NONE)
        op.record = &o->k->records[e->record];
    add_op (o, op);
}

static void kineto_ops_collect (struct ops *o)
{
    const struct kineto *k = o->k;

    for (size_t i = 0; i < k->ncomms; i++)
        add_kernel (o, &k->comms[i]);
    for (size_t i = 0; i < k->nrecords; i++) {
        const struct comm_record *r = &k->records[i];

        if (r->op)
            add_op (o, (struct op){ .start = r->start,
                                    .dur = r->end - r->start,
                                    .order = r->start, .record = r,
                                    .step = kineto_host_step (k, r->start),
                                    .coll = r->coll, .range = r->range });
    }
}

/* ---- order ---- */

static int64_t seq_of (const struct op *op)
{
    return op->record ? op->record->seq : -1;
}

static int by_kind (const void *pa, const void *pb)
{
    const struct op *a = pa, *b = pb;
    int kind = kineto_op_compare (a, b);

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

/* Number the ops of one kind, equally on all ranks: by the count of torch,
 * otherwise by the order of launching within the step.
 */
static void number_ops (struct ops *o)
{
    for (size_t i = 0; i < o->n; i++) {
        struct op *op = &o->v[i], *before = i > 0 ? op - 1 : NULL;
        bool same = before && kineto_op_compare (before, op) == 0;

        op->again = 1;
        op->number = seq_of (op);
        if (op->number >= 0 && same && before->number == op->number)
            op->again = before->again + 1;
        else if (op->number < 0)
            op->number = same ? before->number + 1 : 0;
    }
}

/* ---- all ---- */

/* Report what is not known in the tables. */
static void tell_unknown (const struct ops *o)
{
    struct capture *c = o->k->src->capture;

    if (o->outside > 0)
        capture_reason (c, "%" PRIu64 " communication ops lie outside every "
                        "step and are left out", o->outside);
    if (o->ungrouped > 0)
        capture_reason (c, "the trace does not record the group of %" PRIu64 " "
                        "of %zu communication op%s: group_name is NULL",
                        o->ungrouped, o->n, units_s (o->n));
    if (o->unsized > 0)
        capture_reason (c, "the trace does not record the size of %" PRIu64 " "
                        "of %zu communication op%s, so no transit_size and no "
                        "bandwidth", o->unsized, o->n, units_s (o->n));
    if (o->uncounted > 0)
        capture_reason (c, "the trace does not record how many ranks take part "
                        "in %" PRIu64 " of %zu communication op%s: "
                        "transit_size of these is NULL, package_size is the "
                        "whole op", o->uncounted, o->n, units_s (o->n));
    if (o->unlinked > 0)
        capture_reason (c, "%" PRIu64 " sends, receives and all-to-alls have "
                        "no links: the trace does not record the peer and size "
                        "of all of them in their steps and "
                        "groups", o->unlinked);
    if (o->even > 0)
        capture_reason (c, "the splits of %" PRIu64 " all-to-alls are cut off: "
                        "their links have even shares", o->even);
}

static bool kineto_ops_emit (struct ops *o)
{
    struct kineto *k = o->k;

    kineto_ops_collect (o);
    if (o->n > 1)
        qsort (o->v, o->n, sizeof (*o->v), by_kind);
    number_ops (o);
    if (k->want >> TABLE_MATRIX & 1 && !kineto_put_links (o))
        return false;
    if (o->n > 1)
        qsort (o->v, o->n, sizeof (*o->v), by_start);
    if (!kineto_put_ops (o) || !source_flush (k->src, &o->time, k->err) ||
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
        (void)kineto_ops_emit (&o);
    batch_fini (&o.time);
    batch_fini (&o.bandwidth);
    batch_fini (&o.matrix);
    free (o.v);
    return !k->src->stopped;
}
