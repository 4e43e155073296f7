/* node_agent/extract/timeline/timeline_flows.h - a step's range on the device
 *
 * Private to the reader of timelines.  The range begins with the kernels of
 * the first launch within the step that has one, and ends with those of the
 * last.  A launch and its kernel are two halves of a flow with one id, which
 * may come in any order and far apart; a launch may have several kernels.
 *
 * A flow that is complete can only move the first or the last launch of its
 * step, so it is forgotten unless it did: what is kept are the flows of which
 * only one half has come, and two for each step.  That is bounded by how far
 * the device lags behind the host, not by the file's size.
 */
#ifndef ROLLCALL_EXTRACT_TIMELINE_TIMELINE_FLOWS_H
#define ROLLCALL_EXTRACT_TIMELINE_TIMELINE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#define FLOWS_MAX (1u << 18)            // that are not complete: 20 MiB
#define TIMELINE_STEPS_MAX (1u << 16)
#define FLOW_STEP_ID_MAX 24u

struct flow_end {
    uint64_t id;
    int64_t launch;             // ns on the host
    int64_t at;                 // where its first kernel begins, or the last
                                // one ends
};

struct flow_step {
    char id[FLOW_STEP_ID_MAX];  // "13"
    int64_t host_start, host_end;
    bool launched;              // there is a launch with a kernel
    struct flow_end first, last;
    int64_t start, end;         // on the device; set by flows_ranges
};

struct flow;                    // one that is not complete, or counts

struct flows {
    struct flow_step *steps;    // by host_start
    uint32_t nsteps;
    struct flow *slots;
    uint32_t cap, used;
    bool any;                   // there was a whole one, in a step or not
};

int flows_init (struct flows *f);       // 0 or -ENOMEM
void flows_fini (struct flows *f);      // also of a zeroed one

/* Note a step once; 1 when it is new, 0, -ENOMEM, or -E2BIG. */
int flows_step (struct flows *f, const char *id, int64_t start, int64_t end);

/* One half of a flow; 0, -ENOMEM, or -E2BIG above FLOWS_MAX.  Of a kernel the
 * end may not be known yet: then it is its start.
 */
int flows_launch (struct flows *f, uint64_t id, int64_t at);
int flows_kernel (struct flows *f, uint64_t id, int64_t start, int64_t end,
                  bool known);

/* A kernel of this flow ends there. */
void flows_extend (struct flows *f, uint64_t id, int64_t end);

/* How many flows that are the last of a step have a kernel whose end is not
 * known; from now on these are sought.
 */
uint32_t flows_seek (struct flows *f);
bool flows_is_sought (const struct flows *f, uint64_t id);

/* Forget all but the steps' host ranges. */
void flows_clear (struct flows *f);

/* Set start and end of all steps: of the host if there are no flows at all. */
void flows_ranges (struct flows *f);

/* Whether the device has the step: not, if others have flows and it has none.
 */
static inline bool flows_has (const struct flows *f, uint32_t step)
{
    return f->steps[step].launched || !f->any;
}

#endif
