/* node_agent/extract/kineto_assign.c - which event is of which step
 *
 * What the device does belongs to the step whose host span has the call that
 * launched it: it may run long after.  Calls between two steps count for the
 * first of them.  Where the call is not in the trace the step's span on the
 * device decides, and where that is not, the host's.
 */
#include "extract/kineto.h"

#include <errno.h>
#include <stdlib.h>

static int by_correlation (const void *pa, const void *pb)
{
    const struct launch *a = pa, *b = pb;

    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->ts > b->ts) - (a->ts < b->ts);
}

static int by_event_start (const void *pa, const void *pb)
{
    const struct gpu_event *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->dur > b->dur) - (a->dur < b->dur);
}

static int64_t start_of (const struct step *s)
{
    return s->end != INT64_MIN ? s->start : s->device_start;
}

static int by_step_start (const void *pa, const void *pb)
{
    int64_t a = start_of (pa), b = start_of (pb);

    return (a > b) - (a < b);
}

/* Most traces have them in order already. */
static void sort_launches (struct kineto *k)
{
    for (size_t i = 1; i < k->nlaunches; i++) {
        if (by_correlation (&k->launches[i - 1], &k->launches[i]) > 0) {
            qsort (k->launches, k->nlaunches, sizeof (*k->launches),
                   by_correlation);
            return;
        }
    }
}

const struct launch *kineto_launch (const struct kineto *k, uint32_t corr)
{
    size_t low = 0, high = k->nlaunches;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (k->launches[middle].correlation < corr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < k->nlaunches && k->launches[low].correlation == corr
               ? &k->launches[low] : NULL;
}

uint16_t kineto_host_step (const struct kineto *k, int64_t ts)
{
    size_t low = 0, high = k->nsteps;

    while (low < high) {        // the first that begins later
        size_t middle = low + (high - low) / 2;

        if (start_of (&k->steps[middle]) <= ts)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return KINETO_NO_STEP;
    if (low == k->nsteps && k->steps[low - 1].end != INT64_MIN &&
        ts > k->steps[low - 1].end)
        return KINETO_NO_STEP;
    return (uint16_t)(low - 1);
}

/* Spans of the device, in order of their starts. */
struct spans {
    struct {
        struct interval at;
        uint16_t step;
    } v[CAPTURE_STEPS_MAX];
    size_t n;
};

#define SPANS_BACK 8            // that may overlap

static int by_span_start (const void *pa, const void *pb)
{
    const struct interval *a = pa, *b = pb;     // the first member

    return (a->start > b->start) - (a->start < b->start);
}

static void collect_spans (const struct kineto *k, struct spans *spans)
{
    spans->n = 0;
    for (size_t i = 0; i < k->nsteps && i < CAPTURE_STEPS_MAX; i++) {
        const struct step *s = &k->steps[i];

        if (s->device_end == INT64_MIN)
            continue;
        spans->v[spans->n].at = (struct interval){ s->device_start,
                                                   s->device_end };
        spans->v[spans->n++].step = (uint16_t)i;
    }
    if (spans->n > 1)
        qsort (spans->v, spans->n, sizeof (spans->v[0]), by_span_start);
}

/* The first step whose span has the time. */
static uint16_t device_step (const struct spans *spans, int64_t ts)
{
    uint16_t found = KINETO_NO_STEP;
    size_t low = 0, high = spans->n;

    while (low < high) {        // the first that begins later
        size_t middle = low + (high - low) / 2;

        if (spans->v[middle].at.start <= ts)
            low = middle + 1;
        else
            high = middle;
    }
    for (unsigned i = 0; low > 0 && i < SPANS_BACK; i++) {
        if (ts < spans->v[--low].at.end)
            found = spans->v[low].step;
    }
    return found;
}

/* A trace without steps is one, without a name. */
static bool add_nameless (struct kineto *k)
{
    struct step *s = kineto_room (k, &k->steps, &k->nsteps, &k->steps_cap,
                                  sizeof (*s));

    if (!s)
        return false;
    *s = (struct step){ .start = INT64_MIN, .end = INT64_MAX,
                        .device_end = INT64_MIN };
    return true;
}

static void assign_events (struct kineto *k, const struct spans *spans,
                           bool nameless)
{
    for (size_t i = 0; i < k->ngpu; i++) {
        struct gpu_event *e = &k->gpu[i];
        const struct launch *l = kineto_launch (k, e->correlation);

        if (nameless)
            e->step = 0;
        else if (l)
            e->step = kineto_host_step (k, l->ts);
        else
            e->step = spans->n > 0 ? device_step (spans, e->start)
                                   : kineto_host_step (k, e->start);
    }
    if (k->ngpu > 1)
        qsort (k->gpu, k->ngpu, sizeof (*k->gpu), by_event_start);
}

bool kineto_assign (struct kineto *k)
{
    bool nameless = k->nsteps == 0;
    struct spans *spans;

    if (nameless && !add_nameless (k))
        return false;
    if (!(spans = malloc (sizeof (*spans)))) {
        k->src->stopped = err_set (k->err, ENOMEM, "no memory for steps");
        return false;
    }
    if (k->nsteps > 1)
        qsort (k->steps, k->nsteps, sizeof (*k->steps), by_step_start);
    sort_launches (k);
    for (size_t i = 0; i < k->nsteps; i++) {
        struct step *s = &k->steps[i];

        s->wanted = steps_wanted (k->src->steps, s->id, strlen (s->id));
    }
    collect_spans (k, spans);
    assign_events (k, spans, nameless);
    free (spans);
    return true;
}
