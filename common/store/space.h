/* common/store/space.h - free space on file systems
 *
 * Free space, and limits in bytes or as a share of the file system.  Agent and
 * aggregator stop writing before a disk is full, since the job may use it, too.
 */
#ifndef ROLLCALL_STORE_SPACE_H
#define ROLLCALL_STORE_SPACE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A limit that is not set is all zeros: the caller has a default. */
struct space_limit {
    bool set;
    int64_t bytes;              // counts unless 'ppm' is set
    int32_t ppm;                // of the file system's size, in millionths
};

struct space {
    uint64_t free_bytes;        // for users without privileges
    uint64_t total_bytes;
    uint64_t free_inodes;       // UINT64_MAX where they are not limited
    uint64_t id;                // of the file system
};

/* "10GB", "1GiB", "5%", "0.5%"; 0 or -EINVAL, which leaves *ret alone. */
int space_parse_limit (const char *text, struct space_limit *ret);

/* The limit in bytes on a file system of this size.  If it is not set:
 * 'fallback', but at most a tenth of the file system.
 */
uint64_t space_limit_bytes (const struct space_limit *limit,
                            uint64_t total_bytes, uint64_t fallback);

/* The file system of 'path', or, if that does not exist, of its nearest
 * existing parent.  0, or an error of statvfs(2).
 */
int space_of (const char *path, struct space *ret, struct err *err);

/* The default floor of free space: enough for logs, ledgers and the job's last
 * output.
 */
#define SPACE_FLOOR_DEFAULT (UINT64_C (1) << 30)

/* A floor, and whether it is reached.  After the free space fell below it, a
 * twentieth more is required until there is room again, so that work does not
 * start and stop with each file.
 */
struct space_floor {
    struct space_limit limit;
    bool below;
};

/* Check again: 1 there is room, 0 there is not, negative if that is unknown
 * (nothing changes then).  With 0, 'why' says how much is free, where, and how
 * much is required.
 */
int space_check_floor (struct space_floor *f, const char *path,
                       struct err *why);

#endif
