/* aggregator/fsck/object_bytes.h - whether an object has the bytes of a segment,
 * if its etag is another one than when it was compared
 *
 * That alone is no fault: a store may give another one when it is moved, encrypts
 * anew, or has got the object in other parts.
 */
#ifndef ROLLCALL_FSCK_OBJECT_BYTES_H
#define ROLLCALL_FSCK_OBJECT_BYTES_H

#include "object_store/object_store.h"

struct object_bytes {
    size_t only_there;          // chunks that the object alone has
    size_t wrong;               // of these: they are other bytes there
    bool damaged;               // what is here is: nothing is known of the object
};

/* Compare with what is here, or, if the segment was let go, read the chunks that are
 * only there, and compare their records and hashes.  1: it has all of them, or there
 * is nothing to compare with; 0: it has other bytes, or ret->damaged; or an error of
 * the root or of object_store.h.
 */
int object_bytes_compare (struct object_store *s, const char *root,
                          const char *key, int64_t segment, uint64_t size,
                          struct object_bytes *ret, struct err *err);

#endif
