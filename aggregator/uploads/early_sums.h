/* aggregator/uploads/early_sums.h - what the upload of a segment needs to hash, while
 * it fills
 *
 * The thread of the uploads hashes parts of the open segment when it has nothing to
 * carry, from what is committed: nothing of it is on the way of what arrives.  They
 * are in memory only; what is not there is hashed by the upload.
 */
#ifndef ROLLCALL_UPLOADS_EARLY_SUMS_H
#define ROLLCALL_UPLOADS_EARLY_SUMS_H

#include "object_store/object_store.h"
#include "store/store.h"

struct early_sums {             // of one segment
    int64_t segment;            // 0: none
    struct object_sums *sums;   // NULL: they failed; the upload says why
};

/* How many parts of the open segment have to be hashed now: several at once take
 * less time, so they wait for each other until the segment is nearly full.
 */
size_t early_sums_due (const struct early_sums *e,
                       const struct store_extent *now);

/* Hash those: how many it did. */
size_t early_sums_add (struct early_sums *e, const char *root,
                       const struct store_extent *now);

/* What there is of a segment, or NULL; and forget all. */
const struct object_sums *early_sums_of (const struct early_sums *e,
                                         int64_t segment);
void early_sums_forget (struct early_sums *e);

#endif
