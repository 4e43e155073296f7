/* aggregator/store/gc.h - collect what nothing refers to
 *
 * Segments are not changed.  One with enough bytes that nobody needs is emptied:
 * what is alive in it, contents and other records, is appended again like what
 * arrives, and committed with its new places; then the ledger forgets the
 * segment, and then the file is removed.  So whenever it is killed, every
 * content has a place, and what was removed stays so.
 *
 * Contents count as needed if an item has them, or a list of chunks that an item
 * has; and so do contents that the ledger was asked for since it began, by a
 * transfer for example.  Chunks of contents that never became complete go when
 * their segment has not been written to for a grace.
 */
#ifndef ROLLCALL_STORE_GC_H
#define ROLLCALL_STORE_GC_H

#include "store/lease.h"
#include "store/store.h"

#define GC_GRACE_S (24 * 3600)          // an agent may come back until then
#define GC_LEAST_PERCENT 20             // of a segment: for less, too much
                                        // would be copied
#define GC_STEP_BYTES ((uint64_t)4 << 20)       // copied in one commit

struct gc_options {
    int64_t grace_s;
    int64_t least_percent;
    int64_t now_ns;             // since 1970
    bool plan;                  // only find out what there is
};

#define GC_DEFAULTS { .grace_s = GC_GRACE_S, .least_percent = GC_LEAST_PERCENT }

struct gc_report {
    uint64_t unused;            // bytes that nothing refers to
    uint64_t freed;             // of these, in segments that go or went
    uint64_t copied;            // that are alive in them
    size_t segments, removed;   // that go; whose files are removed
    size_t damaged;             // that stay, until they are repaired
    size_t away;                // ... until the object store gives what is alive
                                // in them
    char held[LEASE_TEXT_MAX];  // who keeps everything, with -EAGAIN
};

struct gc;

/* Begin.  The caller has the root's lock, and nothing uncommitted is appended,
 * now and at each step; or only plans.  Files of segments that an earlier one
 * emptied are removed, if there is no lease.  -ENOMEM, or as ledger and store.
 */
int gc_begin (struct ledger *ledger, struct store *store,
              const struct gc_options *opt, struct gc **ret, struct err *err);

/* Do some: some ms, and at most one commit.  1: there is more; 0: it is done;
 * -EAGAIN: a lease keeps what would be removed: call again, or end; another
 * error ends it, with nothing lost.
 */
int gc_step (struct gc *g, struct err *err);
struct gc_report gc_report (const struct gc *g);
void gc_end (struct gc *g);             // g may be NULL

/* All of it. */
int gc_run (struct ledger *ledger, struct store *store,
            const struct gc_options *opt, struct gc_report *ret,
            struct err *err);

/* Add the stored bytes of a job's contents that were not counted since
 * ledger_marks_begin.
 */
int gc_count_job (struct ledger *ledger, const struct store *store,
                  const char *job, uint64_t *bytes, struct err *err);

#endif
