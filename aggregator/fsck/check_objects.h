/* aggregator/fsck/check_objects.h - compare a root with its objects in a store
 *
 * A hole is a segment that counts as stored, and is not there, or has another size
 * or other bytes.  What has another etag than when it was compared is compared again
 * (fsck/object_bytes.h); what has the same is not read.  An orphan is an object of
 * this root without a segment here; if the root is an older copy, it may be the last
 * one of what came later, so only 'delete_orphans' deletes it.
 */
#ifndef ROLLCALL_FSCK_CHECK_OBJECTS_H
#define ROLLCALL_FSCK_CHECK_OBJECTS_H

#include "fsck/check_root.h"
#include "object_store/object_store.h"

struct check_objects_options {
    struct object_options store;        // where it is, if that is not said: as
                                // its service has noted
    bool repair;                // holes are uploaded again by the next service;
                                // uploads that nobody goes on with are aborted
    bool delete_orphans;
    bool take_over;             // the objects are this root's from now on
};

struct check_objects_report {
    size_t objects;             // that are as they have to be
    uint64_t bytes;             // in them
    size_t others;              // of them: with another etag than before, which
                                // 'repair' notes; until then each check reads them
    size_t holes, orphans, uploads;     // uploads: that nobody goes on with
    size_t unmarked;            // objects that the next service looks at
};

/* Check a root that no aggregator serves (else -EBUSY).  0 if it could be
 * checked, whatever was found; sentences go to report->say.  -ENOTUNIQ: what would
 * be changed is another root's (store/object_owner.h); other errors are those of
 * object_store.h and of the root.
 */
int check_objects (const char *root, const struct check_objects_options *opt,
                   struct check_report *report,
                   struct check_objects_report *ret, struct err *err);

#endif
