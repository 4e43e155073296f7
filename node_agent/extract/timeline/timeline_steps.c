/* node_agent/extract/timeline/timeline_steps.c - compute StepTraceTime from
 * overlap rows
 */
#include "extract/rows/step_rows.h"
#include "extract/rows/times.h"
#include "extract/timeline/timeline.h"

#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- ranges ---- */

int timeline_ranges (struct timeline *t)
{
    uint32_t n = 0;
    struct step_range *r;

    flows_ranges (&t->flows);
    free (t->ranges);
    r = t->ranges = calloc ((size_t)t->flows.nsteps + 1, sizeof (*r));
    if (!r)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->flows.nsteps; i++) {
        if (flows_has (&t->flows, i))
            r[n++] = (struct step_range){ t->flows.steps[i].start,
                                          t->flows.steps[i].end, 0, i };
    }
    t->nranges = n;
    step_ranges_order (r, n);
    return 0;
}

uint32_t timeline_step_of (const struct timeline *t, int64_t start)
{
    uint32_t i, found = TIMELINE_NO_STEP;

    if (t->flows.nsteps <= 1)
        return 0;
    for (i = step_ranges_begun (t->ranges, t->nranges, start); i > 0; i--) {
        const struct step_range *r = &t->ranges[i - 1];

        if (r->latest < start)
            break;
        if (start <= r->end && r->step < found)
            found = r->step;
    }
    return found;
}

/* ---- sums ---- */

static uint32_t sums_of (const struct timeline *t)
{
    return t->flows.nsteps ? t->flows.nsteps : 1;
}

static void widen (struct timeline_sum *s, int64_t start, int64_t end)
{
    if (!s->any || start < s->start)
        s->start = start;
    if (!s->any || end > s->end)
        s->end = end;
    s->any = true;
}

static void add_to (struct timeline_sum *s, const struct overlap_row *r)
{
    int64_t dur = r->dur_kind >> 2;
    unsigned kind = (unsigned)r->dur_kind & 3;

    widen (s, r->start, r->start + dur);
    s->sum[kind] = s->sum[kind] <= INT64_MAX / 2 ? s->sum[kind] + dur
                                                 : s->sum[kind];
    if ((kind == OVERLAP_COMPUTING || kind == OVERLAP_COMMUNICATION) &&
        r->start < s->first)
        s->first = r->start;
}

/* Add receiving as bubble; it also counts for the start and end of the step. */
static void add_receive (struct timeline_sum *s, const struct timeline_op *op)
{
    int64_t dur = (int64_t)op->dur;

    widen (s, op->start, op->start + dur);
    if (s->bubble <= INT64_MAX / 2)
        s->bubble += dur;
}

/* Add to each step that contains 'start'; the end of a step is excluded. */
static void to_steps (struct timeline *t, struct timeline_process *p,
                      int64_t start, const struct overlap_row *row,
                      const struct timeline_op *op)
{
    uint32_t i;

    if (!p->sums)
        return;
    if (t->flows.nsteps == 0) {
        if (row)
            add_to (p->sums, row);
        else
            add_receive (p->sums, op);
        return;
    }
    for (i = step_ranges_begun (t->ranges, t->nranges, start); i > 0; i--) {
        const struct step_range *r = &t->ranges[i - 1];

        if (r->latest <= start)
            break;
        if (start >= r->end)
            continue;
        if (row)
            add_to (&p->sums[r->step], row);
        else
            add_receive (&p->sums[r->step], op);
    }
}

int timeline_keep_row (struct timeline *t, struct timeline_process *p,
                       const struct overlap_row *row)
{
    struct overlap_row *rows;

    if (t->rows == TIMELINE_ROWS_MAX) {
        t->overflow = true;
        return 0;
    }
    if (!(rows = vec_one_more (p->rows, p->nrows, sizeof (*rows))))
        return -ENOMEM;
    p->rows = rows;
    p->rows[p->nrows++] = *row;
    t->rows++;
    return 0;
}

void timeline_add_row (struct timeline *t, struct timeline_process *p,
                       const struct overlap_row *r)
{
    to_steps (t, p, r->start, r, NULL);
}

/* Find the overlap rows of the device of a communication process: the only
 * ones, or those with the same label, or with the same device in their pid.
 */
static struct timeline_process *device_of (struct timeline *t, uint64_t pid)
{
    struct timeline_process *only = NULL;
    int64_t device = -1;
    unsigned n = 0;

    for (uint32_t i = 0; i < t->nprocesses; i++) {
        struct timeline_process *p = &t->processes[i];

        if (p->pid == pid)
            device = p->device;
        if (p->class == PROCESS_OVERLAP && n++ == 0)
            only = p;
    }
    if (n <= 1)
        return only;
    for (uint32_t i = 0; i < t->nprocesses; i++) {
        struct timeline_process *p = &t->processes[i];

        if (p->class == PROCESS_OVERLAP &&
            (device >= 0 ? p->device == device : (p->pid & 31) == (pid & 31)))
            return p;
    }
    return NULL;
}

static void add_receives (struct timeline *t)
{
    static const char start[] = "hcom_receive";
    const uint32_t size = sizeof (start) - 1;

    for (uint32_t i = 0; i < t->nops; i++) {
        const struct timeline_op *op = &t->ops[i];
        struct timeline_process *p;

        if (op->name_size < size ||
            memcmp (t->names + op->name, start, size) != 0)
            continue;
        p = device_of (t, timeline_thread (t, op->thread)->pid);
        if (p)
            to_steps (t, p, op->start, NULL, op);
    }
}

int timeline_add_up (struct timeline *t)
{
    uint32_t n = sums_of (t), left = TIMELINE_SUMS_MAX;

    if (timeline_ranges (t) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->nprocesses; i++) {
        struct timeline_process *p = &t->processes[i];

        if (p->class != PROCESS_OVERLAP)
            continue;
        if (left < n) {
            t->limit = t->limit ? t->limit : "devices and steps";
            break;
        }
        left -= n;
        if (!(p->sums = calloc (n, sizeof (*p->sums))))
            return -ENOMEM;
        for (uint32_t j = 0; j < n; j++)
            p->sums[j].first = INT64_MAX;
        for (uint32_t j = 0; j < p->nrows && !t->overflow; j++)
            timeline_add_row (t, p, &p->rows[j]);
        free (p->rows);
        p->rows = NULL;
        p->nrows = 0;
    }
    add_receives (t);
    return 0;
}

/* ---- rows ---- */

static double device_number (const struct timeline_process *p)
{
    return p->device >= 0 ? (double)p->device : NAN;
}

/* The time from the start of the step on the host, or of the first operator of
 * the program.
 */
static double preparing (const struct timeline *t,
                         const struct timeline_sum *s,
                         const struct flow_step *step)
{
    if (!step && t->src->form == FORM_MSPROF)
        return NAN;             // there is nothing of the host
    if (s->first == INT64_MAX || (!step && t->host_first == INT64_MAX))
        return 0;
    return time_us (s->first - (step ? step->host_start : t->host_first));
}

static void put_step (const struct timeline *t, struct batch *b,
                      const struct timeline_process *p,
                      const struct timeline_sum *s,
                      const struct flow_step *step)
{
    const int64_t *sum = s->sum;
    int64_t alone = sum[OVERLAP_NOT_OVERLAPPED];
    bool sums_only = !step && t->src->form == FORM_MSPROF;
    int64_t span = s->end - s->start;
    uint32_t n = b->nrows;

    if (sums_only)
        span = sum[OVERLAP_FREE] + sum[OVERLAP_COMPUTING] + alone;
    step_row_put (b, &(struct step_sums){
                         .id = step ? step->id : NULL,
                         .device = device_number (p),
                         .computing = (double)sum[OVERLAP_COMPUTING],
                         .communication = (double)sum[OVERLAP_COMMUNICATION],
                         .overlapped = (double)(sum[OVERLAP_COMMUNICATION] -
                                                alone),
                         .idle = (double)sum[OVERLAP_FREE],
                         .span = (double)span,
                         .bubble = (double)s->bubble,
                         .preparing = preparing (t, s, step) });
    if (sums_only)              // like msprof-analyze, which does not clamp
        b->real[STEP_EXCLUDE_RECEIVE][n] = time_us (alone - s->bubble);
}

static void put_extra (struct batch *b, const struct timeline_process *p,
                       const struct flow_step *step)
{
    step_extra_put (b, step->id, p ? device_number (p) : NAN,
                    time_us_of_text (step->host_start),
                    time_us_of_text (step->host_end), NAN);
}

/* Write all steps of a device; 'p' may be NULL: only the host is known. */
static bool device_rows (struct timeline *t, const struct timeline_process *p,
                         struct batch *step, struct batch *extra,
                         struct err *err)
{
    for (uint32_t i = 0; i < sums_of (t); i++) {
        const struct flow_step *s = t->flows.nsteps ? &t->flows.steps[i]
                                                    : NULL;

        if (!steps_wanted (t->src->steps, s ? s->id : "",
                           s ? strlen (s->id) : 0))
            continue;
        if (step && p && p->sums && p->sums[i].any)
            put_step (t, step, p, &p->sums[i], s);
        if (extra && s)
            put_extra (extra, p, s);
        if ((step && batch_full (step) && !source_flush (t->src, step, err)) ||
            (extra && batch_full (extra) &&
             !source_flush (t->src, extra, err)))
            return false;
    }
    return true;
}

static int by_device (const void *pa, const void *pb)
{
    const struct timeline_process *const *a = pa, *const *b = pb;

    if ((*a)->device != (*b)->device)
        return (*a)->device < (*b)->device ? -1 : 1;
    return (*a)->pid < (*b)->pid ? -1 : (*a)->pid > (*b)->pid;
}

static bool all_devices (struct timeline *t, struct batch *step,
                         struct batch *extra, struct err *err)
{
    struct timeline_process **list;
    uint32_t n = 0;
    bool good = true;

    list = calloc ((size_t)t->nprocesses + 1, sizeof (*list));
    if (!list) {
        t->src->stopped = err_set (err, ENOMEM, "no memory for the steps");
        return false;
    }
    for (uint32_t i = 0; i < t->nprocesses; i++) {
        if (t->processes[i].class == PROCESS_OVERLAP)
            list[n++] = &t->processes[i];
    }
    qsort (list, n, sizeof (struct timeline_process *), by_device);
    if (n == 0)
        good = device_rows (t, NULL, step, extra, err);
    for (uint32_t i = 0; i < n && good; i++)
        good = device_rows (t, list[i], step, extra, err);
    free (list);
    return good;
}

bool timeline_step_rows (struct timeline *t, unsigned want, struct err *err)
{
    bool steps = want >> TABLE_STEP & 1, extras = want >> TABLE_STEP_EXTRA & 1;
    struct batch step = { 0 }, extra = { 0 };
    bool good = false;

    if ((steps && batch_init (&step, TABLE_STEP, err) < 0) ||
        (extras && batch_init (&extra, TABLE_STEP_EXTRA, err) < 0))
        t->src->stopped = -ENOMEM;
    else
        good = all_devices (t, steps ? &step : NULL, extras ? &extra : NULL,
                            err) &&
               (!steps || source_flush (t->src, &step, err)) &&
               (!extras || source_flush (t->src, &extra, err));
    batch_fini (&step);
    batch_fini (&extra);
    return good;
}

bool timeline_gc_rows (struct timeline *t, struct err *err)
{
    struct batch b = { .nrows = 0 };
    int rc = batch_init (&b, TABLE_RANGE, err);

    if (rc == 0 && t->gc.n > 0) {
        b.text[RANGE_KIND][0] = batch_string (&b, "gc");
        b.text[RANGE_DOMAIN][0] = BATCH_NULL_TEXT;
        b.text[RANGE_NAME][0] = batch_string (&b, "garbage collection");
        b.real[RANGE_COUNT][0] = (double)t->gc.n;
        b.real[RANGE_TOTAL][0] = time_us (t->gc.total);
        b.real[RANGE_MIN][0] = time_us (t->gc.min);
        b.real[RANGE_MAX][0] = time_us (t->gc.max);
        b.real[RANGE_FIRST][0] = time_us (t->gc.first);
        b.nrows = 1;
    }
    return source_finish (t->src, &b, rc, err);
}
