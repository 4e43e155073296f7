/* node_agent/extract/timeline/timeline_kernels.c - match kernels with the flows
 * to them
 *
 * A flow only has the start of its kernel, whose end may be that of a step.
 * The profiler writes them side by side: the first one waits for the other
 * among the last ones.  In a file with another order it may have been replaced
 * by then.  That only matters for the last launch of each step: for these the
 * file is read once more, and twice if kernels come before their flows.
 */
#include "extract/timeline/timeline.h"

#include <errno.h>
#include <stdlib.h>

#define SOUGHT_FIRST 1024u      // slots, a power of two
#define SOUGHT_MAX (1u << 17)   // kernels of last launches: 12 MiB
#define ALIKE_MAX 64u           // flows to one kernel; real files have one

static uint64_t hash_of (uint64_t pid, uint64_t tid, int64_t start)
{
    return ((uint64_t)start + pid * 31 + tid) *
           UINT64_C (0x9e3779b97f4a7c15) >> 24;
}

static bool same_kernel (const struct timeline *t,
                         const struct timeline_kernel *k, int64_t start)
{
    return k->pid == t->event.pid && k->tid == t->event.tid &&
           k->start == start;
}

/* ---- in the order of the profiler ---- */

/* Store it there, in place of the one that was not matched. */
static void wait_at (struct timeline *t, struct timeline_kernel *k,
                     struct timeline_kernel who)
{
    t->evicted = t->evicted || k->what == KERNEL_WAITS ||
                 k->what == KERNEL_FLOW;
    *k = who;
}

static struct timeline_kernel *slot_of (struct timeline *t, int64_t start)
{
    uint64_t hash = hash_of (t->event.pid, t->event.tid, start);

    return &t->kernels[hash >> 16 & (TIMELINE_KERNELS - 1)];
}

void timeline_note_kernel (struct timeline *t, int64_t start, int64_t dur)
{
    struct timeline_kernel *k = slot_of (t, start);
    struct timeline_kernel who = { t->event.pid, t->event.tid, 0, start, dur,
                                   KERNEL_WAITS };

    if (k->what == KERNEL_FLOW && same_kernel (t, k, start)) {
        flows_extend (&t->flows, k->flow, start + dur);
        who.what = k->what = KERNEL_MET;
    }
    wait_at (t, k, who);
}

int timeline_note_flow (struct timeline *t)
{
    const struct trace_event *e = &t->event;
    struct timeline_kernel *k;
    int64_t at, dur = 0;
    bool known;
    int rc;

    if (!trace_time_ns (&e->ts, &at))
        return 0;
    if (e->ph == 's') {
        t->launches = true;
        rc = flows_launch (&t->flows, e->id, at);
    } else {
        k = slot_of (t, at);
        known = (k->what == KERNEL_WAITS || k->what == KERNEL_MET) &&
                same_kernel (t, k, at);
        if (known) {
            dur = k->dur;
            k->what = KERNEL_MET;
        } else {
            wait_at (t, k, (struct timeline_kernel){ e->pid, e->tid, e->id, at,
                                                     0, KERNEL_FLOW });
        }
        rc = flows_kernel (&t->flows, e->id, at, at + dur, known);
    }
    return rc == -E2BIG
               ? timeline_too_much (t, "launches without their kernels") : rc;
}

/* ---- in any order: not base/map.h, as several flows have one kernel ---- */

/* The next slot of this kernel, from 'i' on.  NULL: there is none. */
static struct timeline_kernel *next_sought (const struct timeline *t,
                                            int64_t start, uint64_t *i)
{
    for (;; ++*i) {
        struct timeline_kernel *k = &t->sought[*i & (t->sought_cap - 1)];

        if (k->what == KERNEL_NONE)
            return NULL;
        if (same_kernel (t, k, start))
            return k;
    }
}

static int timeline_kernels_grow (struct timeline *t)
{
    uint32_t cap = t->sought_cap ? 2 * t->sought_cap : SOUGHT_FIRST;
    struct timeline_kernel *old = t->sought, *all = calloc (cap, sizeof (*all));

    if (!all)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->sought_cap; i++) {
        uint64_t at = hash_of (old[i].pid, old[i].tid, old[i].start);

        while (all[at & (cap - 1)].what != KERNEL_NONE)
            at++;
        if (old[i].what != KERNEL_NONE)
            all[at & (cap - 1)] = old[i];
    }
    free (old);
    t->sought = all;
    t->sought_cap = cap;
    return 0;
}

/* Seek the kernel of the flow, which decides. */
static int seek_kernel (struct timeline *t, int64_t start)
{
    const struct trace_event *e = &t->event;
    uint64_t i = hash_of (e->pid, e->tid, start);
    const struct timeline_kernel *k;
    unsigned alike = 0;

    for (; (k = next_sought (t, start, &i)); i++) {
        if (k->flow == e->id)
            return 0;           // known from the previous pass
        alike++;
    }
    if (t->nsought == SOUGHT_MAX || alike == ALIKE_MAX)
        return timeline_too_much (t, "kernels of last launches");
    t->nsought++;
    t->sought[i & (t->sought_cap - 1)] = (struct timeline_kernel){
        .pid = e->pid, .tid = e->tid, .flow = e->id, .start = start,
        .what = KERNEL_FLOW,
    };
    return 2 * t->nsought > t->sought_cap ? timeline_kernels_grow (t) : 0;
}

static void meet (struct timeline *t, int64_t start, int64_t dur)
{
    uint64_t i = hash_of (t->event.pid, t->event.tid, start);
    struct timeline_kernel *k;

    for (; (k = next_sought (t, start, &i)); i++) {
        flows_extend (&t->flows, k->flow, start + dur);
        k->what = KERNEL_MET;
    }
}

int timeline_seek_event (struct timeline *t, const struct timeline_process *p)
{
    const struct trace_event *e = &t->event;
    int64_t start, dur;

    if (e->cat == TRACE_CAT_FLOW && e->ph == 'f')
        return flows_is_sought (&t->flows, e->id) &&
                       trace_time_ns (&e->ts, &start)
                   ? seek_kernel (t, start) : 0;
    if (e->ph == 'X' && (p->class == PROCESS_DEVICE ||
                         p->class == PROCESS_COMM) &&
        timeline_times (e, &start, &dur))
        meet (t, start, dur);
    return 0;
}

/* The first pass is for those that wait, the second one for kernels before
 * their flows.
 */
int timeline_seek (struct timeline *t)
{
    if (!t->seeking) {
        if (!t->evicted || flows_seek (&t->flows) == 0)
            return 0;
        t->seeking = true;
        return timeline_kernels_grow (t) < 0 ? -ENOMEM : 1;
    }
    t->seeking = false;
    for (uint32_t i = 0; i < t->sought_cap && !t->seeking; i++)
        t->seeking = t->sought[i].what == KERNEL_FLOW;
    return t->seeking;
}
