/* aggregator/job_build/job_member.h - a job's shipments, read by several
 * processes
 *
 * Those that see the root read its segments; the others get the bytes of
 * shipments through rank 0.
 */
#ifndef ROLLCALL_JOB_BUILD_JOB_MEMBER_H
#define ROLLCALL_JOB_BUILD_JOB_MEMBER_H

#include "builder/build_member.h"

extern const struct build_member job_member;    // how others than rank 0 read

#endif
