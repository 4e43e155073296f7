/* node_agent/extract/timeline/timeline_flows.c - find the range of steps on the
 * device
 */
#include "extract/timeline/timeline_flows.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 1024u         // slots, a power of two
#define NONE INT64_MIN

struct flow {
    uint64_t id;                // 0: the slot is free
    int64_t launch;             // NONE: not found yet
    int64_t start, end;         // of its kernels; NONE
    uint32_t open;              // number of kernels with unknown end
    uint16_t refs;              // number of steps for which it is the first or
                                // last
    bool sought;
};

int flows_init (struct flows *f)
{
    memset (f, 0, sizeof (*f));
    f->cap = FIRST_CAP;
    f->slots = calloc (f->cap, sizeof (*f->slots));
    return f->slots ? 0 : -ENOMEM;
}

void flows_fini (struct flows *f)
{
    free (f->slots);
    free (f->steps);
    memset (f, 0, sizeof (*f));
}

void flows_clear (struct flows *f)
{
    memset (f->slots, 0, f->cap * sizeof (*f->slots));
    f->used = 0;
    f->any = false;
    for (uint32_t i = 0; i < f->nsteps; i++)
        f->steps[i].launched = false;
}

/* ---- steps ---- */

int flows_step (struct flows *f, const char *id, int64_t start, int64_t end)
{
    struct flow_step *s;
    uint32_t at = f->nsteps;

    for (uint32_t i = 0; i < f->nsteps; i++) {
        if (strcmp (f->steps[i].id, id) == 0)
            return 0;
    }
    if (f->nsteps == TIMELINE_STEPS_MAX)
        return -E2BIG;
    if (!(s = vec_one_more (f->steps, f->nsteps, sizeof (*s))))
        return -ENOMEM;
    f->steps = s;
    while (at > 0 && f->steps[at - 1].host_start > start)
        at--;
    memmove (f->steps + at + 1, f->steps + at,
             (f->nsteps - at) * sizeof (*s));
    s = &f->steps[at];
    memset (s, 0, sizeof (*s));
    (void)strncpy (s->id, id, sizeof (s->id) - 1);
    s->host_start = start;
    s->host_end = end;
    f->nsteps++;
    return 1;
}

/* How many steps begin at or before 'at'. */
static uint32_t timeline_flows_begun (const struct flows *f, int64_t at)
{
    uint32_t low = 0, high = f->nsteps;

    while (low < high) {
        uint32_t mid = (low + high) / 2;

        if (f->steps[mid].host_start <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void flows_ranges (struct flows *f)
{
    for (uint32_t i = 0; i < f->nsteps; i++) {
        struct flow_step *s = &f->steps[i];

        s->start = s->launched ? s->first.at : s->host_start;
        s->end = s->host_end;
        if (s->launched && s->last.at > s->end)
            s->end = s->last.at;
    }
}

/* ---- slots: not base/map.h, since flows leave when they are complete ---- */

static uint32_t home (const struct flows *f, uint64_t id)
{
    return (uint32_t)((id * UINT64_C (0x9e3779b97f4a7c15)) >> 32) &
           (f->cap - 1);
}

/* The slot of an id, or the free slot for it. */
static struct flow *timeline_flows_find (const struct flows *f, uint64_t id)
{
    uint32_t i = home (f, id);

    while (f->slots[i].id && f->slots[i].id != id)
        i = (i + 1) & (f->cap - 1);
    return &f->slots[i];
}

/* Free a slot, and move up the slots after it, so that searches find them. */
static void timeline_flows_drop (struct flows *f, struct flow *flow)
{
    uint32_t hole = (uint32_t)(flow - f->slots), i = hole;

    for (;;) {
        uint32_t from;

        i = (i + 1) & (f->cap - 1);
        if (f->slots[i].id == 0)
            break;
        from = home (f, f->slots[i].id);
        if (((i - from) & (f->cap - 1)) >= ((i - hole) & (f->cap - 1))) {
            f->slots[hole] = f->slots[i];
            hole = i;
        }
    }
    f->slots[hole].id = 0;
    f->used--;
}

static int timeline_flows_grow (struct flows *f)
{
    struct flow *old = f->slots;
    uint32_t cap = f->cap;

    f->slots = calloc (2 * (size_t)cap, sizeof (*old));
    if (!f->slots) {
        f->slots = old;
        return -ENOMEM;
    }
    f->cap = 2 * cap;
    for (uint32_t i = 0; i < cap; i++) {
        if (old[i].id)
            *timeline_flows_find (f, old[i].id) = old[i];
    }
    free (old);
    return 0;
}

static int timeline_flows_take (struct flows *f, uint64_t id, struct flow **ret)
{
    struct flow *flow = timeline_flows_find (f, id);

    if (flow->id == 0) {
        if (f->used == FLOWS_MAX)
            return -E2BIG;
        if (2 * (f->used + 1) > f->cap) {
            if (timeline_flows_grow (f) < 0)
                return -ENOMEM;
            flow = timeline_flows_find (f, id);
        }
        *flow = (struct flow){ .id = id, .launch = NONE, .start = NONE,
                               .end = NONE };
        f->used++;
    }
    *ret = flow;
    return 0;
}

/* ---- flows that are complete ---- */

static void unref (struct flows *f, uint64_t id)
{
    struct flow *flow = timeline_flows_find (f, id);

    if (flow->id && --flow->refs == 0)
        timeline_flows_drop (f, flow);
}

/* Make a flow an end of a step if it is farther out; 'at' is where its kernels
 * begin or end.  '*old' is the flow that it replaces.
 */
static bool timeline_flows_settle (struct flow_end *end, bool have,
                                   const struct flow *flow,
                                   bool first, uint64_t *old)
{
    int64_t at = first ? flow->start : flow->end;

    *old = 0;
    if (have && end->id == flow->id) {
        end->at = at;
        return false;
    }
    // of two at the same time the same one wins, in any order
    if (have && flow->launch == end->launch ? flow->id > end->id
        : have && first                     ? flow->launch > end->launch
                                    : have && flow->launch < end->launch)
        return false;
    if (have)
        *old = end->id;
    *end = (struct flow_end){ flow->id, flow->launch, at };
    return true;
}

static void timeline_flows_complete (struct flows *f, uint64_t id)
{
    const struct flow flow = *timeline_flows_find (f, id);
    uint32_t n = timeline_flows_begun (f, flow.launch);
    uint16_t refs = flow.refs;
    uint64_t old[4] = { 0 };
    unsigned nold = 0;

    f->any = true;
    // steps are consecutive: at most two overlap
    for (uint32_t i = n; i > 0 && i + 2 > n; i--) {
        struct flow_step *s = &f->steps[i - 1];

        if (flow.launch > s->host_end)
            continue;
        refs += timeline_flows_settle (&s->first, s->launched, &flow, true,
                                       &old[nold]);
        nold += old[nold] != 0;
        refs += timeline_flows_settle (&s->last, s->launched, &flow, false,
                                       &old[nold]);
        nold += old[nold] != 0;
        s->launched = true;
    }
    timeline_flows_find (f, id)->refs = refs;
    if (refs == 0)
        timeline_flows_drop (f, timeline_flows_find (f, id));
    for (unsigned i = 0; i < nold; i++)
        unref (f, old[i]);
}

int flows_launch (struct flows *f, uint64_t id, int64_t at)
{
    struct flow *flow = NULL;
    int rc = timeline_flows_take (f, id ? id : UINT64_MAX, &flow);

    if (rc < 0)
        return rc;
    if (flow->refs > 0)
        return 0;               // the first of several counts
    flow->launch = at;
    if (flow->start != NONE)
        timeline_flows_complete (f, flow->id);
    return 0;
}

int flows_kernel (struct flows *f, uint64_t id, int64_t start, int64_t end,
                  bool known)
{
    struct flow *flow = NULL;
    int rc = timeline_flows_take (f, id ? id : UINT64_MAX, &flow);

    if (rc < 0)
        return rc;
    flow->open += !known;
    if (flow->start == NONE || start < flow->start)
        flow->start = start;
    if (flow->end == NONE || end > flow->end)
        flow->end = end;
    if (flow->launch != NONE)
        timeline_flows_complete (f, flow->id);
    return 0;
}

void flows_extend (struct flows *f, uint64_t id, int64_t end)
{
    struct flow *flow = timeline_flows_find (f, id ? id : UINT64_MAX);

    if (flow->id == 0)
        return;                 // it was dropped, since it counts for no step
    flow->open -= flow->open > 0;
    if (flow->end >= end)
        return;
    flow->end = end;
    if (flow->launch != NONE && flow->start != NONE)
        timeline_flows_complete (f, flow->id);
}

uint32_t flows_seek (struct flows *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->nsteps; i++) {
        struct flow *flow = f->steps[i].launched
                                ? timeline_flows_find (f, f->steps[i].last.id)
                                : NULL;

        if (!flow || flow->id == 0 || flow->open == 0)
            continue;
        flow->sought = true;
        n++;
    }
    return n;
}

bool flows_is_sought (const struct flows *f, uint64_t id)
{
    const struct flow *flow = timeline_flows_find (f, id ? id : UINT64_MAX);

    return flow->id && flow->sought;
}
