/* aggregator/jobs/jobs.h - which captures are of one job
 *
 * Captures in one directory need not be of one job: older ones stay there.  The
 * rules, their order and their sources are in doc/jobs.md. `rollcall analyze`
 * and the service use the same rules.
 *
 * This folder: the rules that divide captures into jobs.
 */
#ifndef ROLLCALL_JOBS_JOBS_H
#define ROLLCALL_JOBS_JOBS_H

#include "base/err.h"
#include "model/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOBS_NAME_MAX EVIDENCE_TEXT_MAX // of a job's id, with the NUL
#define JOBS_WHY_MAX 256
#define JOBS_NONE SIZE_MAX
// of verbs: clocks of one job's hosts may be off by any two time zones
#define JOBS_GAP_NS (26 * 3600 * INT64_C (1000000000))

struct jobs_capture {
    const struct capture *capture;      // as read, with its evidence; borrowed
    const struct group_list *groups;    // that its metadata lists; borrowed
    int64_t rank;               // as filed, or CAPTURE_NO_RANK
    size_t fixed;               // the job that it was assigned to before, which
                                // is not decided again; JOBS_NONE: not yet
};

struct jobs_job {
    char name[JOBS_NAME_MAX];   // the given id, or one made of the first start
                                // and the evidence
    bool given;                 // the name is a given id
    bool assumed;               // some capture is in it only because no
                                // evidence contradicts
    char why[JOBS_WHY_MAX];     // why it is not the same job as the one before
                                // it in the list: a sentence; "" for the first
    int64_t first_ns, last_ns;  // of its captures; 0: unknown
    size_t ncaptures, nranks;   // ranks: different ones
    size_t fixed;               // as in struct jobs_capture, or JOBS_NONE
};

struct jobs {
    struct jobs_job *jobs;      // the newest first, by last end
    size_t n;
    size_t *of;                 // of each capture: its index in jobs
    bool *assumed;              // of each capture: it may be of this job, but
                                // there is no evidence for it
};

/* Divide the captures.  'gap_ns': without evidence, a capture does not join a
 * job that ended so long before it began, or began so long after it ended (0: no
 * limit); from JOBS_GAP_NS on, the time of a file that may have been copied does
 * not count.  0 or -ENOMEM; always
 * call jobs_fini.
 */
int jobs_divide (const struct jobs_capture *captures, size_t n,
                 int64_t gap_ns, struct jobs *ret, struct err *err);
void jobs_fini (struct jobs *j);

/* The job that a user names by an index (1 is the newest) or by the beginning
 * of its name.  0, -ENOENT, or -EINVAL if it is ambiguous; 'err' lists the
 * jobs.
 */
int jobs_find (const struct jobs *j, const char *what, size_t *ret,
               struct err *err);

#endif
