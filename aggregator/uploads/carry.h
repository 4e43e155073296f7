/* aggregator/uploads/carry.h - one segment on its way to the store */
#ifndef ROLLCALL_UPLOADS_CARRY_H
#define ROLLCALL_UPLOADS_CARRY_H

#include "store/object_mark.h"
#include "uploads/cache.h"
#include "uploads/early_sums.h"

struct carried {
    const char *root, *id;
    struct object_store *store;
    const struct cache *cache;
    struct early_sums *early;
    // below: all 0 at first
    int64_t segment;
    struct object_mark mark;
    char other[OBJECT_ETAG_MAX];        // see carry
};

/* Write a sealed segment to the store, unless it is there, and mark it: 0: it is
 * there, and was compared; 1: it was collected.  -EEXIST: it is damaged here, or
 * somebody has removed or cut its file; or its object has other bytes, and 'other' is
 * the etag of that (else ""): to try again is of no use.  Others: errors of the
 * root, and of object_store.h.
 */
int carry (struct carried *c, const struct store_extent *e, struct err *err);

/* Whether its mark says that all of it is there, as an earlier life compared: the
 * store is not asked.
 */
bool carry_knows (const char *root, const char *url,
                  const struct store_extent *e);

#endif
