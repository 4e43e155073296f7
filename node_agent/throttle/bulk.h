/* node_agent/throttle/bulk.h - throttle the thread that extracts, hashes and
 * compresses
 *
 * The thread gives way to the job.  While the job lives it runs as SCHED_IDLE,
 * or at nice 19 if its work has waited too long or the spool is half full (on a
 * busy node the idle class may never run), and within a budget of CPU time.
 * After the job it runs in the usual class.  While a capture is being written
 * it does not run at all.
 */
#ifndef ROLLCALL_THROTTLE_BULK_H
#define ROLLCALL_THROTTLE_BULK_H

#include <stdbool.h>
#include <stdint.h>

enum bulk_class { BULK_IDLE, BULK_NICE, BULK_NORMAL };

struct bulk_situation {
    bool job_alive;
    bool collecting;            // a capture is being written on this node
    int64_t waited_ns;          // how long the oldest work has waited
    int64_t limit_ns;           // how long it may wait
    uint64_t spool_used, spool_quota;
};

struct bulk_decision {
    enum bulk_class class;
    bool hold;                  // the thread has to pause
    bool budgeted;              // the budget applies
};

/* Decide what to do in a situation. A pure function. */
struct bulk_decision bulk_decide (const struct bulk_situation *s);

/* Whether a thread in SCHED_IDLE could leave it again: without privileges that
 * takes an RLIMIT_NICE of at least 1. Where it could not, it must not enter it.
 * Returns 0 or -errno.
 */
int bulk_probe_idle (void);

struct bulk;

/* 'budget_ppm' is the budget in millionths of the CPU time of the whole node.
 * NULL: no memory.
 */
struct bulk *bulk_create (int64_t budget_ppm);
void bulk_destroy (struct bulk *b);     // b may be NULL

/* For the loop: apply a decision from now on; end the work, which cancels what
 * is under way.
 */
void bulk_set (struct bulk *b, const struct bulk_decision *d);
void bulk_end (struct bulk *b);

/* For the thread: bulk_attach once at its start, bulk_pause between pieces of
 * work of at most a few milliseconds.  bulk_pause changes the class and waits
 * as long as it has to.  It returns 0, or -ECANCELED: the agent ends, and the
 * work must, too.
 */
void bulk_attach (struct bulk *b);
int bulk_pause (struct bulk *b);

/* How many ns bulk_pause would wait, for tests: the caller gives the monotonic
 * clock and the CPU time of the thread.  -1: until bulk_set is called.
 */
int64_t bulk_pause_ns (struct bulk *b, int64_t now_ns, int64_t cpu_ns);

#endif
