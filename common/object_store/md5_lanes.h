/* common/object_store/md5_lanes.h - MD5 of several texts at once
 *
 * MD5 waits for itself: eight in the lanes of vectors take hardly longer than
 * one or two.
 */
#ifndef ROLLCALL_OBJECT_STORE_MD5_LANES_H
#define ROLLCALL_OBJECT_STORE_MD5_LANES_H

#include "base/digest.h"

#define MD5_LANES 8

struct md5_lanes {
    uint32_t state[4][MD5_LANES];
    uint64_t size;              // bytes of each
};

/* Hash MD5_LANES texts of the same size, piece by piece: n bytes of each, a
 * multiple of 64.
 */
void md5_lanes_init (struct md5_lanes *m);
void md5_lanes_add (struct md5_lanes *m, const uint8_t *const data[MD5_LANES],
                    size_t n);
void md5_lanes_end (struct md5_lanes *m, struct md5 out[MD5_LANES]);

#endif
