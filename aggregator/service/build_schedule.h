/* aggregator/service/build_schedule.h - when a service builds a job
 *
 * Not for every item: captures come in bursts, and every build reads all data
 * of the job.  The caller gives the times, of one clock; the struct begins as
 * zeros.
 */
#ifndef ROLLCALL_SERVICE_BUILD_SCHEDULE_H
#define ROLLCALL_SERVICE_BUILD_SCHEDULE_H

#include "base/clock.h"

#include <stdbool.h>

// a job this quiet is built: captures come in bursts, one from each rank
#define BUILD_SCHEDULE_SETTLE_NS (2 * NS_PER_S)
// one that is never quiet is built all the same: whoever looks at a job that
// runs for days is not to be further behind than half a minute
#define BUILD_SCHEDULE_LATEST_NS (30 * NS_PER_S)
// and then not for three times as long as the build took, so that building a
// job takes a quarter of the time at most, however large it has become
#define BUILD_SCHEDULE_REST 3
// one that failed (a full disk, say) is tried again, but a person has to mend
// something first
#define BUILD_SCHEDULE_RETRY_NS (10 * NS_PER_S)

struct build_schedule {
    int64_t first_ns, last_ns;  // arrivals without a build, 0: none
    bool quiet;                 // it is: see build_schedule_given
    int64_t began_ns;           // the build that is under way
    int64_t rest_until_ns;
};

void build_schedule_arrived (struct build_schedule *p, int64_t now_ns);

/* Captures that arrived since 'came_ns' were assigned to the job: build without
 * waiting for quiet.
 */
void build_schedule_given (struct build_schedule *p, int64_t came_ns);

/* When the next build should begin, INT64_MAX: never. */
int64_t build_schedule_due_ns (const struct build_schedule *p);

/* A build of everything that has arrived begins, ends; a failed one is due
 * again.
 */
void build_schedule_began (struct build_schedule *p, int64_t now_ns);
void build_schedule_ended (struct build_schedule *p, bool good, int64_t now_ns);

#endif
