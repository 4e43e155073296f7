/* aggregator/uploads/cache.h - the root as a bounded cache of its objects
 *
 * The bytes of contents are punched out of the oldest segments that the store
 * has: what is read from them then comes from there (store/segment.h).  Heads,
 * lists and items stay.
 */
#ifndef ROLLCALL_UPLOADS_CACHE_H
#define ROLLCALL_UPLOADS_CACHE_H

#include "object_store/object_store.h"
#include "store/store.h"

#define CACHE_SIZE_MIN 1000000  // bytes; with less, nothing would be kept

struct cache {
    const char *root, *id;      // and its id
    struct object_store *store;
    uint64_t most;              // bytes that segments may have here; 0: no limit
    const atomic_bool *stop;
};

struct cache_state {
    uint64_t local;             // bytes that the segments have here
    uint64_t evicted;           // segments that were let go, by this process
    uint64_t linked;            // that stay, because a backup has them, too
};

/* Let segments go, the oldest first, until there is room.  Before one goes, its
 * object is looked at once more, and the hash of each chunk here.  0; 1: an
 * object is not there any more, or is another: it is in 'lost', and has to be
 * uploaded again; -EOPNOTSUPP: this file system has no holes; errors of
 * object_store.h and of the root.
 */
int cache_trim (const struct cache *c, struct cache_state *ret,
                struct store_extent *lost, struct err *err);

/* What the segments have here, without asking the store. */
int cache_count (const char *root, uint64_t *ret, struct err *err);

/* A segment without a mark, whose file has holes: 0: they are zeros, and all is
 * here; 1: what is missing is in the store, was compared, and is marked so;
 * -EBADMSG: it is not there, or differs.
 */
int cache_adopt (const struct cache *c, const struct store_extent *e, int fd,
                 struct err *err);

#endif
