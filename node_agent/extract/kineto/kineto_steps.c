/* node_agent/extract/kineto/kineto_steps.c - compute the steps of a trace
 *
 * doc/formats.md, "Traces of torch.profiler", has the formulas.  All times are
 * in ns, since events are shorter than a us.
 */
#include "extract/kineto/kineto.h"
#include "extract/rows/step_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- with a device ---- */

/* Add to the bubble without overflow, which a malicious file could cause. */
static void add_bubble (struct step *s, int64_t dur)
{
    s->bubble = s->bubble > INT64_MAX / 2 ? s->bubble : s->bubble + dur;
}

static void add_gpu (struct step *s, const struct gpu_event *e)
{
    int64_t end = e->start + e->dur;

    interval_union_add (&s->all, e->start, end);
    if (e->kind == GPU_COMPUTING)
        interval_union_add (&s->computing, e->start, end);
    else if (e->kind == GPU_COMMUNICATION)
        interval_union_add (&s->communication, e->start, end);
    if (e->kind == GPU_COMPUTING || e->kind == GPU_COMMUNICATION)
        interval_union_add (&s->both, e->start, end);
    if (e->kind != GPU_SYNC)
        interval_union_add (&s->work, e->start, end);
    if (e->kind == GPU_COMMUNICATION && e->coll == COLL_RECEIVE)
        add_bubble (s, e->dur);
}

/* ---- with a host only: gloo ---- */

struct piece {
    struct interval at;
    uint32_t step;
    bool communication;
};

struct pieces {
    struct piece *v;
    size_t n, cap;
};

static int by_piece_start (const void *pa, const void *pb)
{
    const struct piece *a = pa, *b = pb;

    return (a->at.start > b->at.start) - (a->at.start < b->at.start);
}

/* Add the parts of an interval to the steps that contain them. */
static bool cut (struct kineto *k, struct pieces *all, struct interval at,
                 bool communication)
{
    uint16_t i = kineto_host_step (k, at.start);

    for (size_t s = i == KINETO_NO_STEP ? 0 : i; s < k->nsteps; s++) {
        const struct step *step = &k->steps[s];
        struct piece *p;

        if (step->end == INT64_MIN || step->end <= at.start)
            continue;
        if (step->start >= at.end)
            break;
        p = kineto_reserve (k, &all->v, &all->n, &all->cap, sizeof (*p));
        if (!p)
            return !k->src->stopped;
        *p = (struct piece){ at, (uint32_t)s, communication };
        if (p->at.start < step->start)
            p->at.start = step->start;
        if (p->at.end > step->end)
            p->at.end = step->end;
    }
    return true;
}

static bool sum_host (struct kineto *k)
{
    struct pieces all = { NULL, 0, 0 };
    bool ok = true;

    k->nstretches = intervals_merge (k->stretches, k->nstretches);
    for (size_t i = 0; i < k->nstretches && ok; i++)
        ok = cut (k, &all, k->stretches[i], false);
    for (size_t i = 0; i < k->nrecords && ok; i++) {
        const struct comm_record *r = &k->records[i];
        uint16_t s = kineto_host_step (k, r->start);

        if (!r->op)
            continue;
        ok = cut (k, &all, (struct interval){ r->start, r->end }, true);
        if (s != KINETO_NO_STEP && r->coll == COLL_RECEIVE)
            add_bubble (&k->steps[s], r->end - r->start);
    }
    if (all.n > 1)
        qsort (all.v, all.n, sizeof (*all.v), by_piece_start);
    for (size_t i = 0; i < all.n; i++) {
        struct step *s = &k->steps[all.v[i].step];
        struct interval at = all.v[i].at;

        interval_union_add (all.v[i].communication ? &s->communication
                                                   : &s->computing,
                            at.start, at.end);
        interval_union_add (&s->both, at.start, at.end);
    }
    free (all.v);
    return ok;
}

/* The range of a step, on the device, or on the host. */
static bool whole_step (const struct kineto *k, const struct step *s,
                        struct interval *ret)
{
    if (k->ngpu > 0)
        *ret = (struct interval){ s->all.first, s->all.last };
    else if (s->end == INT64_MAX)       // the step without a name
        *ret = (struct interval){ s->both.first, s->both.last };
    else
        *ret = (struct interval){ s->start, s->end };
    if (k->ngpu > 0)
        return s->all.any;
    return s->end != INT64_MIN && (s->both.any || s->end != INT64_MAX);
}

static void keep_comm (struct kineto *k, const struct gpu_event *e,
                       int64_t order)
{
    struct comm_kernel *room;

    if (k->ncomms == KINETO_RECORDS) {
        k->lost++;
        return;
    }
    room = kineto_reserve (k, &k->comms, &k->ncomms, &k->comms_cap,
                           sizeof (*room));
    if (room)
        *room = (struct comm_kernel){ e->start, e->dur, order, e->record,
                                      e->step, e->coll };
}

bool kineto_sum_steps (struct kineto *k)
{
    struct gpu_event e;
    int64_t order;

    if (k->host_only)
        return sum_host (k);
    while (kineto_next_event (k, &e, &order) == 1) {
        bool in_step = e.step != KINETO_NO_STEP;

        add_gpu (in_step ? &k->steps[e.step] : &k->outside, &e);
        if (in_step && k->steps[e.step].wanted)
            add_gpu (&k->all_steps, &e);
        k->noutside += !in_step;
        k->nunlaunched += !in_step && !e.launched;
        if (e.kind == GPU_COMMUNICATION)
            keep_comm (k, &e, order);
    }
    return !k->src->stopped;
}

/* ---- rows ---- */

static double device_of (const struct kineto *k)
{
    return k->device < 0 ? NAN : (double)k->device;
}

static void put_step (const struct kineto *k, struct batch *b,
                      const struct step *s, struct interval whole)
{
    int64_t computing = interval_union_length (&s->computing);
    int64_t communication = interval_union_length (&s->communication);
    int64_t both = interval_union_length (&s->both);
    int64_t e2e = whole.end - whole.start;
    bool host = s->end != INT64_MIN && s->end != INT64_MAX;

    step_row_put (b, &(struct step_sums){
                         .id = s->id,
                         .device = device_of (k),
                         .computing = (double)computing,
                         .communication = (double)communication,
                         .overlapped = (double)(computing + communication -
                                                both),
                         .idle = (double)(e2e - both),
                         .span = (double)e2e,
                         .bubble = (double)s->bubble,
                         .preparing = host && s->both.any
                                          ? time_us (s->both.first - s->start)
                                          : NAN,
                         .hidden = k->host_only && k->many_stretches });
}

static void put_extra (const struct kineto *k, struct batch *b,
                       const struct step *s)
{
    bool host = s->end != INT64_MIN && s->end != INT64_MAX;
    int64_t moving = interval_union_length (&s->work) -
                     interval_union_length (&s->both);

    step_extra_put (b, s->id, device_of (k),
                    host ? kineto_us (k, s->start) : NAN,
                    host ? kineto_us (k, s->end) : NAN,
                    k->ngpu == 0 ? NAN : time_us (moving));
}

static bool kineto_steps_emit (struct kineto *k, enum table_id table)
{
    struct batch b;
    int rc = batch_init (&b, table, k->err);

    for (size_t i = 0; i < k->nsteps && rc == 0; i++) {
        const struct step *s = &k->steps[i];
        struct interval whole;

        if (!s->wanted || !whole_step (k, s, &whole))
            continue;
        if (table == TABLE_STEP)
            put_step (k, &b, s, whole);
        else
            put_extra (k, &b, s);
        if (batch_full (&b) && !source_flush (k->src, &b, k->err))
            break;
    }
    return source_finish (k->src, &b, rc, k->err);
}

bool kineto_emit_steps (struct kineto *k)
{
    if (k->ngpu == 0 && !k->host_only)
        return true;            // there is a device, but nothing of it is known
    return kineto_steps_emit (k, TABLE_STEP);
}

bool kineto_emit_extras (struct kineto *k)
{
    return kineto_steps_emit (k, TABLE_STEP_EXTRA);
}

/* ---- what is said once ---- */

static void put_info (struct batch *b, const char *kind, const char *name,
                      const char *value)
{
    uint32_t row = b->nrows;

    if (!*value)
        return;
    b->text[INFO_KIND][row] = batch_text (b, kind, strlen (kind));
    b->text[INFO_NAME][row] = batch_text (b, name, strlen (name));
    b->text[INFO_VALUE][row] = batch_text (b, value, strlen (value));
    b->nrows++;
}

static void put_number (struct batch *b, const char *name, int64_t v)
{
    char text[24] = "";

    if (v >= 0)
        (void)snprintf (text, sizeof (text), "%lld", (long long)v);
    put_info (b, "metadata", name, text);
}

static void put_time (struct batch *b, const char *name, int64_t ns)
{
    char text[32];

    (void)snprintf (text, sizeof (text), "%lld.%03lld",
                    (long long)(ns / 1000), (long long)(ns % 1000));
    put_info (b, "breakdown", name, text);
}

/* Write the sizes of groups that the trace does not declare. */
static void put_shares (const struct kineto *k, struct batch *b)
{
    char name[48], ops[24];

    for (unsigned i = 0; i < KINETO_SHARES && k->shares[i].ranks; i++) {
        (void)snprintf (name, sizeof (name), "ops of undeclared groups of %u",
                        k->shares[i].ranks);
        (void)snprintf (ops, sizeof (ops), "%llu",
                        (unsigned long long)k->shares[i].ops);
        put_info (b, "metadata", name, ops);
    }
}

/* Write the events of no step separately. */
static void put_outside (const struct kineto *k, struct batch *b)
{
    const struct step *o = &k->outside;
    char text[24];

    if (k->noutside == 0)
        return;
    (void)snprintf (text, sizeof (text), "%llu",
                    (unsigned long long)k->noutside);
    put_info (b, "breakdown", "outside_events", text);
    put_time (b, "outside_computing", interval_union_length (&o->computing));
    put_time (b, "outside_communication",
              interval_union_length (&o->communication));
}

/* Write the time of the device from its first to its last event, over all
 * steps: unions of overlapping steps cannot be added.
 */
static void put_breakdown (const struct kineto *k, struct batch *b)
{
    const struct step *all = &k->all_steps;
    int64_t busy, computing, communication;

    if (!all->all.any)
        return;
    busy = interval_union_length (&all->all);
    computing = interval_union_length (&all->computing);
    communication = interval_union_length (&all->communication);
    put_time (b, "total", all->all.last - all->all.first);
    put_time (b, "idle", all->all.last - all->all.first - busy);
    put_time (b, "computing", computing);
    put_time (b, "other", busy - computing);
    put_time (b, "communication", communication);
    put_time (b, "overlapped", computing + communication -
                                   interval_union_length (&all->both));
}

bool kineto_emit_info (struct kineto *k)
{
    const struct kineto_header *h = &k->header;
    struct batch b;
    int rc = batch_init (&b, TABLE_INFO, k->err);

    if (rc < 0)
        return source_finish (k->src, &b, rc, k->err);
    put_info (&b, "metadata", "device_name", h->device);
    put_info (&b, "metadata", "backend", h->backend);
    put_info (&b, "metadata", "nccl_version", h->nccl);
    put_info (&b, "metadata", "trace_id", h->trace_id);
    put_number (&b, "schema_version", h->schema);
    put_number (&b, "pg_count", h->pg_count);
    put_breakdown (k, &b);
    put_outside (k, &b);
    put_shares (k, &b);
    return source_finish (k->src, &b, 0, k->err);
}
