/* node_agent/throttle/bulk.h - the thread that extracts, hashes and compresses
 *
 * It gives way to the job: SCHED_IDLE while the job lives, nice 19 when its
 * work has waited too long or the spool is half full (on a busy node the idle
 * class may never run), the usual class when the job has ended; within a
 * budget of CPU time while the job lives; and not at all while a capture is
 * being collected.  It has no part in any ledger.
 */
#ifndef ROLLCALL_THROTTLE_BULK_H
#define ROLLCALL_THROTTLE_BULK_H

#include <stdbool.h>
#include <stdint.h>

enum bulk_class { BULK_IDLE, BULK_NICE, BULK_NORMAL };

struct bulk_situation {
    bool job_alive;
    bool collecting;            // a capture is being written on this node
    int64_t waited_ns;          // how long the oldest work has
    int64_t limit_ns;           // how long it may
    uint64_t spool_used, spool_quota;
};

struct bulk_decision {
    enum bulk_class class;
    bool hold;                  // do nothing at all
    bool budgeted;              // keep to the budget
};

/* What to do in a situation; depends on nothing else. */
struct bulk_decision bulk_decide (const struct bulk_situation *s);

/* Whether a thread that went to SCHED_IDLE could come back: without
 * privileges that takes an RLIMIT_NICE of at least 1.  Where it could not, it
 * must not go.  0 or -errno.
 */
int bulk_probe_idle (void);

struct bulk;

/* 'budget_ppm': CPU time, in millionths of all of the node's.  NULL: no memory.
 */
struct bulk *bulk_create (int64_t budget_ppm);
void bulk_destroy (struct bulk *b);     // b may be NULL

/* For the loop: from now on; and the end, which breaks off what is under way.
 */
void bulk_set (struct bulk *b, const struct bulk_decision *d);
void bulk_end (struct bulk *b);

/* For the thread: once at its start, and between pieces of work of at most
 * some milliseconds, where it takes its class and rests as long as it has to.
 * 0, or -ECANCELED: the agent is ending, and so is the work.
 */
void bulk_attach (struct bulk *b);
int bulk_pause (struct bulk *b);

/* The pause that bulk_pause would make, with the clocks in the caller's hands:
 * the monotonic one, and that of the thread's CPU time.  -1: until bulk_set.
 */
int64_t bulk_pause_ns (struct bulk *b, int64_t now_ns, int64_t cpu_ns);

#endif
