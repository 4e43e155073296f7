/* node_agent/extract/timeline/timeline_derived.c - make overlap rows if there
 * are none
 *
 * Timelines of 2023 have no "Overlap Analysis".  The types of tasks show what
 * computes, the ops what communicates; rows are made from their unions, as by
 * the profiler.
 */
#include "extract/rows/intervals.h"
#include "extract/timeline/timeline.h"

#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

bool timeline_lacks_rows (const struct timeline *t)
{
    for (uint32_t i = 0; i < t->nprocesses; i++) {
        if (t->processes[i].class == PROCESS_OVERLAP)
            return false;
    }
    return t->rows == 0 && t->flows.nsteps > 0 && !t->limit;
}

/* Whether it is a communication op that runs as a kernel: it computes nothing.
 */
static bool is_op (const struct trace_event *e)
{
    static const char *const ends[] = { "AicpuKernel", "AivKernel" };

    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]); i++) {
        size_t n = strlen (ends[i]);

        if (e->name_size >= n &&
            memcmp (e->name + e->name_size - n, ends[i], n) == 0)
            return true;
    }
    return false;
}

int timeline_make_event (struct timeline *t, struct timeline_process *p)
{
    const struct trace_event *e = &t->event;
    int64_t start, dur;

    if (e->ph != 'X' || p->class != PROCESS_DEVICE)
        return 0;
    t->unclassified += e->task.type == TRACE_TYPE_UNKNOWN;
    if (e->task.type != TRACE_TYPE_COMPUTES || is_op (e) ||
        !timeline_times (e, &start, &dur))
        return 0;
    return timeline_keep_row (t, p, &(struct overlap_row){
        start, (int64_t)((uint64_t)dur << 2 | OVERLAP_COMPUTING) });
}

/* The intervals of a device that compute, communicate, or do both. */
struct work {
    struct interval *computing, *communication, *both;
    size_t ncomputing, ncommunication, nboth;
};

static bool same_device (const struct timeline *t,
                         const struct timeline_process *p, uint64_t pid)
{
    const struct timeline_process *comm = NULL;

    for (uint32_t i = 0; i < t->nprocesses; i++) {
        if (t->processes[i].pid == pid)
            comm = &t->processes[i];
    }
    return comm && comm->device == p->device;
}

static int gather (const struct timeline *t, const struct timeline_process *p,
                   struct work *w)
{
    size_t most = (size_t)p->nrows + t->nops + 1;

    w->computing = calloc (most, sizeof (*w->computing));
    w->communication = calloc (most, sizeof (*w->communication));
    w->both = calloc (most, sizeof (*w->both));
    if (!w->computing || !w->communication || !w->both)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->nrows; i++) {
        int64_t start = p->rows[i].start;

        w->computing[w->ncomputing++] = (struct interval){
            start, start + (p->rows[i].dur_kind >> 2) };
    }
    for (uint32_t i = 0; i < t->nops; i++) {
        const struct timeline_op *op = &t->ops[i];

        if (same_device (t, p, timeline_thread (t, op->thread)->pid))
            w->communication[w->ncommunication++] = (struct interval){
                op->start, op->start + (int64_t)op->dur };
    }
    w->ncomputing = intervals_merge (w->computing, w->ncomputing);
    w->ncommunication = intervals_merge (w->communication, w->ncommunication);
    memcpy (w->both, w->computing, w->ncomputing * sizeof (*w->both));
    memcpy (w->both + w->ncomputing, w->communication,
            w->ncommunication * sizeof (*w->both));
    w->nboth = intervals_merge (w->both, w->ncomputing + w->ncommunication);
    return 0;
}

static int timeline_derived_keep (struct timeline *t,
                                  struct timeline_process *p, int64_t start,
                                  int64_t dur, enum overlap_kind kind)
{
    return timeline_keep_row (t, p, &(struct overlap_row){
        start, (int64_t)((uint64_t)dur << 2 | kind) });
}

/* Whether it is between iterations: each has its own timeline, without idle
 * time between them.
 */
static bool is_between (const struct timeline *t, int64_t start, int64_t end)
{
    return t->src->iterations && t->flows.nsteps > 1 &&
           timeline_step_of (t, start) != timeline_step_of (t, end);
}

static int make_rows (struct timeline *t, struct timeline_process *p,
                      const struct work *w)
{
    const struct interval *v;
    size_t at = 0;              // intervals before this end before the op
    int rc = 0;

    t->rows -= p->nrows;
    p->nrows = 0;
    for (size_t i = 0; i < w->ncomputing && rc == 0; i++) {
        v = &w->computing[i];
        rc = timeline_derived_keep (t, p, v->start, v->end - v->start,
                                    OVERLAP_COMPUTING);
    }
    for (size_t i = 0; i < w->ncommunication && rc == 0; i++) {
        int64_t dur, alone;

        v = &w->communication[i];
        dur = v->end - v->start;
        while (at < w->ncomputing && w->computing[at].end <= v->start)
            at++;
        alone = dur - intervals_common (v, 1, w->computing + at,
                                        w->ncomputing - at);
        rc = timeline_derived_keep (t, p, v->start, dur, OVERLAP_COMMUNICATION);
        if (rc == 0 && alone > 0)
            rc = timeline_derived_keep (t, p, v->start, alone,
                                        OVERLAP_NOT_OVERLAPPED);
    }
    for (size_t i = 1; i < w->nboth && rc == 0; i++) {
        v = &w->both[i - 1];
        if (!is_between (t, v->end, v[1].start))
            rc = timeline_derived_keep (t, p, v->end, v[1].start - v->end,
                                        OVERLAP_FREE);
    }
    p->class = PROCESS_OVERLAP;
    return rc;
}

static void timeline_derived_tell (const struct timeline *t, bool too_many)
{
    struct capture *c = t->src->capture;

    if (t->rows > 0)
        capture_reason (c, "the timeline has no overlap analysis: its steps "
                        "are computed from its tasks and ops");
    else if (t->unclassified > 0)
        capture_reason (c, "the timeline has no overlap analysis, and the kind "
                        "of %llu task%s is not known",
                        (unsigned long long)t->unclassified,
                        units_s (t->unclassified));
    else if (too_many)
        capture_reason (c, "the timeline has no overlap analysis, and too many "
                        "tasks to make one");
}

int timeline_make_rows (struct timeline *t)
{
    bool given = !t->overflow && t->unclassified == 0, too_many;
    int rc = timeline_ranges (t);

    for (uint32_t i = 0; i < t->nprocesses && rc == 0; i++) {
        struct timeline_process *p = &t->processes[i];
        struct work w = { 0 };

        if (p->class != PROCESS_DEVICE || p->nrows == 0 || !given)
            continue;
        if ((rc = gather (t, p, &w)) == 0)
            rc = make_rows (t, p, &w);
        free (w.computing);
        free (w.communication);
        free (w.both);
    }
    too_many = t->overflow;
    t->overflow = false;        // all rows are lost, not only the rest
    if (too_many || !given) {
        for (uint32_t i = 0; i < t->nprocesses; i++)
            t->processes[i].nrows = 0;
        t->rows = 0;
    }
    timeline_derived_tell (t, too_many);
    return rc;
}
