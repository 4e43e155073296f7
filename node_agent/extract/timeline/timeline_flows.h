/* node_agent/extract/timeline/timeline_flows.h - find the range of steps on the
 * device
 *
 * Private to this folder.  The range begins with the kernels of the first
 * launch within the step that has one, and ends with those of the last.  A
 * launch and its kernel are the two halves of a flow with one id; they may come
 * in any order and far apart, and a launch may have several kernels.
 *
 * A complete flow can only change the first or the last launch of its step, so
 * it is dropped unless it does.  Only flows with a missing half are kept, and
 * two for each step.  Their number is limited by the delay of the device behind
 * the host, not by the size of the file.
 */
#ifndef ROLLCALL_EXTRACT_TIMELINE_TIMELINE_FLOWS_H
#define ROLLCALL_EXTRACT_TIMELINE_TIMELINE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#define FLOWS_MAX (1u << 18)            // incomplete flows: 20 MiB
#define TIMELINE_STEPS_MAX (1u << 16)
#define FLOW_STEP_ID_MAX 24u

struct flow_end {
    uint64_t id;
    int64_t launch;             // ns on the host
    int64_t at;                 // start of its first kernel, or end of the last
                                // one
};

struct flow_step {
    char id[FLOW_STEP_ID_MAX];  // "13"
    int64_t host_start, host_end;
    bool launched;              // there is a launch with a kernel
    struct flow_end first, last;
    int64_t start, end;         // on the device; set by flows_ranges
};

struct flow;                    // a flow that is incomplete, or counts

struct flows {
    struct flow_step *steps;    // by host_start
    uint32_t nsteps;
    struct flow *slots;
    uint32_t cap, used;
    bool any;                   // there was a complete flow, in a step or not
};

int flows_init (struct flows *f);       // 0 or -ENOMEM
void flows_fini (struct flows *f);      // f may be zeroed

/* Add a step, unless it is known: 1 if it is new; 0; -ENOMEM; -E2BIG: there are
 * too many.
 */
int flows_step (struct flows *f, const char *id, int64_t start, int64_t end);

/* Add one half of a flow.  If the end of a kernel is not known yet, it is its
 * start, and 'known' is false.  Returns 0; -ENOMEM; -E2BIG: more than
 * FLOWS_MAX.
 */
int flows_launch (struct flows *f, uint64_t id, int64_t at);
int flows_kernel (struct flows *f, uint64_t id, int64_t start, int64_t end,
                  bool known);

/* Set the end of a kernel of this flow. */
void flows_extend (struct flows *f, uint64_t id, int64_t end);

/* Count the flows that are the last of a step and have a kernel with unknown
 * end.  From now on these are sought.
 */
uint32_t flows_seek (struct flows *f);
bool flows_is_sought (const struct flows *f, uint64_t id);

/* Drop everything but the host ranges of steps. */
void flows_clear (struct flows *f);

/* Set start and end of all steps; those of the host if there are no flows at
 * all.
 */
void flows_ranges (struct flows *f);

/* Whether the device has the step.  It has not if only other steps have flows.
 */
static inline bool flows_has (const struct flows *f, uint32_t step)
{
    return f->steps[step].launched || !f->any;
}

#endif
