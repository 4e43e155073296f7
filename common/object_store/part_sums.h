/* common/object_store/part_sums.h - the hashes that go with each part; shared by
 * the parts of this folder
 */
#ifndef ROLLCALL_OBJECT_STORE_PART_SUMS_H
#define ROLLCALL_OBJECT_STORE_PART_SUMS_H

#include "object_store/md5_lanes.h"
#include "object_store/object_store.h"

#define PART_GROUP OBJECT_SUMS_MAX      // parts that are hashed at once

_Static_assert (PART_GROUP == MD5_LANES, "a part in each lane");

struct part_sum {
    struct md5 md5;
    struct digest sha256;
};

struct object_sums {
    struct part_hasher *hasher;
    struct part_sum *list;              // of the first n parts
    size_t n;
};

/* Of one thread at a time.  NULL: no memory. */
struct part_hasher;
struct part_hasher *part_hasher_create (void);
void part_hasher_destroy (struct part_hasher *h);       // h may be NULL

/* Hash n parts of a file, at most PART_GROUP, from the i-th on, all of whole size;
 * or the last one, of 'size' bytes.  -EBADMSG: the file ends before; -ENOMEM, or
 * the system's error.
 */
int part_hash (struct part_hasher *h, int fd, size_t i, size_t n,
               struct part_sum *out, struct err *err);
int part_hash_short (int fd, size_t i, size_t size, struct part_sum *out,
                     struct err *err);

/* Read n bytes of the i-th part, from 'at' in it on; errors as part_hash. */
int part_read (int fd, size_t i, uint64_t at, void *out, size_t n,
               struct err *err);

#endif
