/* common/object_store/md5_lanes.h - MD5 of several texts at once
 *
 * MD5 waits for itself: four in the lanes of a vector take hardly longer than
 * one.
 */
#ifndef ROLLCALL_OBJECT_STORE_MD5_LANES_H
#define ROLLCALL_OBJECT_STORE_MD5_LANES_H

#include "base/digest.h"

#define MD5_LANES 4

/* The MD5s of MD5_LANES texts of n bytes, which lie behind each other; n is a
 * multiple of 64.
 */
void md5_lanes (const void *data, size_t n, struct md5 out[MD5_LANES]);

#endif
