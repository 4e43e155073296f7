/* node_agent/extract/kineto/kineto_assign.c - assign events to steps
 *
 * An event of the device belongs to the step on the host that contains the call
 * which launched it; it may run much later.  Calls between two steps count for
 * the first one.  Events that were launched before the trace began belong to no
 * step.  If the trace has no call, the spans of steps on the device decide, and
 * without these the spans on the host.
 */
#include "extract/kineto/kineto.h"

#include <errno.h>
#include <stdlib.h>

#define CALL_WORDS 6u           // correlation, kind, time; and the rest
#define CALL_KEYS 3u
#define START_WORDS 5u          // start, duration; and the rest
#define START_KEYS 2u

enum { A_LAUNCH, AN_EVENT };    // launches come before their events

/* ---- sorted by their calls ---- */

static void kineto_assign_keep (struct kineto *k, struct sorter **s,
                                unsigned words,
                                unsigned keys, const int64_t *record)
{
    int rc;

    if (k->src->stopped)
        return;
    if (!*s && !(*s = sorter_create (words, keys)))
        rc = err_set (k->err, ENOMEM, "no memory for the events of a trace");
    else
        rc = sorter_add (*s, record, k->err);
    k->src->stopped = rc;
}

void kineto_keep_event (struct kineto *k, const struct gpu_event *e)
{
    const int64_t record[CALL_WORDS] = {
        e->correlation, AN_EVENT, e->start, e->dur,
        (int64_t)((uint64_t)e->external << 32 | e->record),
        e->kind << 8 | e->coll,
    };

    kineto_assign_keep (k, &k->events_by_call, CALL_WORDS, CALL_KEYS, record);
    k->ngpu++;
}

void kineto_keep_launch (struct kineto *k, const struct launch *l)
{
    const int64_t record[CALL_WORDS] = { l->correlation, A_LAUNCH, l->ts,
                                         l->tid };

    kineto_assign_keep (k, &k->events_by_call, CALL_WORDS, CALL_KEYS, record);
}

static struct gpu_event event_of (const int64_t record[CALL_WORDS])
{
    return (struct gpu_event){
        .correlation = (uint32_t)record[0], .start = record[2],
        .dur = record[3], .external = (uint32_t)((uint64_t)record[4] >> 32),
        .record = (uint32_t)record[4], .step = KINETO_NO_STEP,
        .kind = (uint8_t)(record[5] >> 8), .coll = (uint8_t)record[5],
    };
}

/* ---- sorted by their starts ---- */

static void keep_assigned (struct kineto *k, const struct gpu_event *e,
                           int64_t order)
{
    const int64_t record[START_WORDS] = {
        e->start, e->dur, order, e->record,
        (int64_t)e->launched << 32 | (int64_t)e->step << 16 | e->kind << 8 |
            e->coll,
    };

    kineto_assign_keep (k, &k->events_by_start, START_WORDS, START_KEYS,
                        record);
}

int kineto_next_event (struct kineto *k, struct gpu_event *e, int64_t *order)
{
    int64_t record[START_WORDS];
    int rc = k->src->stopped;

    if (rc == 0 && k->events_by_start)
        rc = sorter_next (k->events_by_start, record, k->err);
    if (rc < 0)
        k->src->stopped = rc;
    if (rc != 1)
        return rc;
    *e = (struct gpu_event){
        .start = record[0], .dur = record[1], .record = (uint32_t)record[3],
        .step = (uint16_t)(record[4] >> 16), .kind = (uint8_t)(record[4] >> 8),
        .coll = (uint8_t)record[4], .launched = record[4] >> 32 & 1,
    };
    // launched before the trace began
    if (!e->launched && k->nlaunched > 0)
        e->step = KINETO_NO_STEP;
    *order = record[2];
    return 1;
}

/* ---- steps ---- */

static int64_t start_of (const struct step *s)
{
    return s->end != INT64_MIN ? s->start : s->device_start;
}

static int by_step_start (const void *pa, const void *pb)
{
    int64_t a = start_of (pa), b = start_of (pb);

    return (a > b) - (a < b);
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

/* Spans of steps on the device, sorted by start. */
struct spans {
    struct {
        struct interval at;
        uint16_t step;
    } v[CAPTURE_STEPS_MAX];
    size_t n;
};

#define SPANS_BACK 8            // spans that may overlap

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

/* The first step whose span contains the time. */
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

/* A trace without steps is one step, without a name. */
static bool add_nameless (struct kineto *k)
{
    struct step *s = kineto_reserve (k, &k->steps, &k->nsteps, &k->steps_cap,
                                     sizeof (*s));

    if (!s)
        return false;
    *s = (struct step){ .start = INT64_MIN, .end = INT64_MAX,
                        .device_end = INT64_MIN };
    return true;
}

/* Assign an event of the device to its step; 'l' has launched it, or NULL. */
static void assign (struct kineto *k, const struct kineto_records *records,
                    const struct spans *spans, struct gpu_event e,
                    const struct launch *l)
{
    bool nameless = k->steps[0].end == INT64_MAX;

    k->nlaunched += l != NULL;
    e.launched = l || (nameless && e.correlation > 0);
    if (nameless)
        e.step = 0;
    else if (l)
        e.step = kineto_host_step (k, l->ts);
    else
        e.step = spans->n > 0 ? device_step (spans, e.start)
                              : kineto_host_step (k, e.start);
    if (e.kind == GPU_COMMUNICATION)
        kineto_resolve (records, &e, l);
    keep_assigned (k, &e, l ? l->ts : e.start);
}

/* Assign each event after its launch; of several launches the first counts. */
static bool assign_events (struct kineto *k, const struct spans *spans,
                           const struct kineto_records *records)
{
    struct sorter *s = k->events_by_call;
    int64_t record[CALL_WORDS];
    struct launch l = { 0, 0, 0 };
    int rc = sorter_finish (s, k->err);

    while (rc >= 0 && !k->src->stopped &&
           (rc = sorter_next (s, record, k->err)) == 1) {
        bool same = l.correlation == (uint32_t)record[0] && l.correlation > 0;

        if (record[1] == AN_EVENT)
            assign (k, records, spans, event_of (record), same ? &l : NULL);
        else if (!same)
            l = (struct launch){ record[2], (uint32_t)record[0],
                                 (uint32_t)record[3] };
    }
    sorter_destroy (s);
    k->events_by_call = NULL;
    if (rc >= 0 && !k->src->stopped && k->events_by_start)
        rc = sorter_finish (k->events_by_start, k->err);
    if (rc < 0)
        k->src->stopped = rc;
    return !k->src->stopped;
}

bool kineto_assign (struct kineto *k)
{
    struct kineto_records *records;
    struct spans *spans;

    if (k->nsteps == 0 && !add_nameless (k))
        return false;
    if (k->nsteps > 1)
        qsort (k->steps, k->nsteps, sizeof (*k->steps), by_step_start);
    for (size_t i = 0; i < k->nsteps; i++) {
        struct step *s = &k->steps[i];

        s->wanted = steps_wanted (k->src->steps, s->id, strlen (s->id));
    }
    if (!k->events_by_call)
        return true;
    spans = malloc (sizeof (*spans));
    records = kineto_records_open (k);
    if (spans && records) {
        collect_spans (k, spans);
        (void)assign_events (k, spans, records);
    } else {
        k->src->stopped = err_set (k->err, ENOMEM, "no memory for steps");
    }
    free (spans);
    kineto_records_close (records);
    return !k->src->stopped;
}
