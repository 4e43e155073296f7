/* aggregator/service/build_schedule.h - when a service builds a job
 *
 * A job is not built for each item: captures arrive in bursts, and each build
 * reads all data of the job.  All times are of one clock, in ns; the struct
 * begins as zeros.
 */
#ifndef ROLLCALL_SERVICE_BUILD_SCHEDULE_H
#define ROLLCALL_SERVICE_BUILD_SCHEDULE_H

#include "base/clock.h"

#include <stdbool.h>

// build after this silence: captures arrive in bursts, one from each rank
#define BUILD_SCHEDULE_SETTLE_NS (2 * NS_PER_S)
// without a silence, build after this time, so that the result of a job that
// runs for days is not older than half a minute
#define BUILD_SCHEDULE_LATEST_NS (30 * NS_PER_S)
// after a build, wait three times as long as it took: so builds take at most a
// quarter of the time, however large the job is
#define BUILD_SCHEDULE_REST 3
// when to repeat a failed build; usually a person has to fix something first,
// such as a full disk: each pause is twice as long, and the last ones are so long
#define BUILD_SCHEDULE_RETRY_NS (10 * NS_PER_S)
#define BUILD_SCHEDULE_RETRY_MAX_NS (60 * NS_PER_S)

struct build_schedule {
    int64_t first_ns, last_ns;  // arrivals without a build, 0: none
    bool quiet;                 // do not wait: see build_schedule_given
    int64_t began_ns;           // start of the running build
    int64_t rest_until_ns;
    int64_t retry_ns;           // the pause after the last build, which failed;
                                // 0: it did not
};

void build_schedule_arrived (struct build_schedule *p, int64_t now_ns);

/* Captures that arrived since 'came_ns' were assigned to the job: build without
 * waiting for quiet.
 */
void build_schedule_given (struct build_schedule *p, int64_t came_ns);

/* When the next build should begin, INT64_MAX: never. */
int64_t build_schedule_due_ns (const struct build_schedule *p);

/* A build of everything that has arrived begins, or ends; a failed one becomes
 * due again.
 */
void build_schedule_began (struct build_schedule *p, int64_t now_ns);
void build_schedule_ended (struct build_schedule *p, bool good, int64_t now_ns);

#endif
