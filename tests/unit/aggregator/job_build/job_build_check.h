/* tests/unit/aggregator/job_build/job_build_check.h - shipments of a job, and a disk
 * that does not give them
 */
#ifndef ROLLCALL_TESTS_JOB_BUILD_CHECK_H
#define ROLLCALL_TESTS_JOB_BUILD_CHECK_H

#include "aggregator/store/root_check.h"

#include "job_build/job_build_private.h"

#include <pthread.h>

/* A shipment without rows of a capture, as it was brought by the
 * agent of a host, in this order.
 */
struct shipped {
    const char *host, *own_host;        // of the agent; in the capture
    int64_t started_ns;
    const char *level;          // makes it another content
    const char *name;
};

extern int64_t ship_rank;       // of the next captures

/* Job "j" of a root has it. */
void ship (struct root *r, const struct shipped *s);

extern off_t bad_from;          // of a segment, whose disk gives no more bytes; or
                                // negative
extern ino_t bad_file;          // only of this one, if not 0
extern pthread_barrier_t *meeting;      // of the threads that get none; or NULL
extern _Thread_local bool met;          // ... but for this one

#endif
