/* node_agent/identity/recall.h - what rollcall knew of a capture that it laid
 * somewhere
 *
 * Many captures do not say of which rank they are: a launcher or an agent did.
 * Marks say it (model/job_mark.h): that of the capture, which `archive get`
 * writes, and that of a directory above it, which counts more, since a user may
 * correct with it what the other says.
 */
#ifndef ROLLCALL_IDENTITY_RECALL_H
#define ROLLCALL_IDENTITY_RECALL_H

#include "model/capture.h"
#include "model/job_mark.h"

struct recalled {
    char job[JOB_MARK_ID_MAX];          // that was given; "": none
    char host[CAPTURE_NAME_MAX];        // "": unknown
    char host_key[EVIDENCE_KEY_MAX];
    int64_t rank;                       // CAPTURE_NO_RANK: unknown
    int64_t world_size;                 // the launcher's; 0: unknown
    unsigned broken;                    // a mark that is none: 1 in the
                                        // capture, 2 beside it, 3 above; or 0
};

/* Find out for the capture 'name' in the open directory 'above'.  What cannot be
 * read is unknown.
 */
void recall_capture (struct job_marks *m, int above, const char *name,
                     struct recalled *ret);

/* Fill in what the capture does not say itself, as an agent would: all but its
 * host, and the size of its world, which is a claim of the launcher.
 */
void recall_fill (const struct recalled *r, struct capture *c);

/* One sentence on the broken mark of the capture at 'path', or false. */
bool recall_broken (const struct recalled *r, const char *path,
                    struct err *ret);

#endif
