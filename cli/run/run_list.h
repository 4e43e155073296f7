/* cli/run/run_list.h - the runs of this machine: STATE/JOB/HOST */
#ifndef ROLLCALL_RUN_RUN_LIST_H
#define ROLLCALL_RUN_RUN_LIST_H

#include "base/err.h"
#include "summary/summary.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum runs_state {
    RUNS_UNDER_WAY,             // a daemon of it lives
    RUNS_OVER,                  // all that it had here was delivered
    RUNS_LEFT,                  // it ended without a result, some rank is not
                                // in it, or it is gone: what came is kept
    RUNS_PART,                  // the same of a run whose aggregator was on
                                // another host, as far as this one knows
};

struct runs_one {
    char job[NAME_MAX + 1];
    char dir[PATH_MAX];         // STATE/JOB/HOST
    enum runs_state state;
    int64_t ended_ns;           // when it was last written to, wall clock
    char db[PATH_MAX];          // its result, or ""
    bool replaced;              // 'db' is another job's by now
    bool gone;                  // 'db' cannot be read any more
    char roll[SUMMARY_ROLL_MAX];    // of the result: "4 of 4 present", or ""
    uint64_t bytes;             // of the files in 'dir'
};

/* Call 'fn' for each run below 'state', by job, until it returns a value other
 * than 0, which is returned.  -errno: 'state' cannot be read.
 */
int runs_each (const char *state,
               int (*fn) (void *arg, const struct runs_one *r), void *arg,
               struct err *err);

/* "over" also while the processes of a run with a result are ending. */
const char *runs_state_text (const struct runs_one *r);

/* Remove the directory of a run, and that of its job if it is then empty.
 * -EBUSY: it is being finished, or under way again; else -errno.
 */
int runs_remove (const struct runs_one *r, struct err *err);

#endif
