/* common/store/space.h - free space on file systems
 *
 * It is limited in bytes or as a share of the file system.  Agent and
 * aggregator stop writing before a disk is full, since the job may use it, too.
 */
#ifndef ROLLCALL_STORE_SPACE_H
#define ROLLCALL_STORE_SPACE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A limit.  If it is not set it is zeroed, and the caller has a default. */
struct space_limit {
    bool set;
    int64_t bytes;              // the limit, unless 'ppm' is set
    int32_t ppm;                // of the file system's size, in millionths
};

struct space {
    uint64_t free_bytes;        // for users without privileges
    uint64_t total_bytes;
    uint64_t free_inodes;       // UINT64_MAX if they are not limited
    uint64_t id;                // of the file system
};

/* Parse "10GB", "1GiB", "5%" or "0.5%".  Returns 0, or -EINVAL with *ret
 * unchanged.
 */
int space_parse_limit (const char *text, struct space_limit *ret);

/* The limit in bytes on a file system of this size.  If it is not set, it is
 * 'fallback', but at most a tenth of the file system.
 */
uint64_t space_limit_bytes (const struct space_limit *limit,
                            uint64_t total_bytes, uint64_t fallback);

/* Get the file system of 'path' or, if that does not exist, of its nearest
 * existing parent.  Returns 0, or an error of statvfs(2).
 */
int space_of (const char *path, struct space *ret, struct err *err);

#define SPACE_TEXT_MAX 32
#define SPACE_FEW_INODES 64     // fewer count as none: a build makes some files

/* What is free, as one says it: "79.0 GB free", or, if that is what lacks, "room
 * for 3 more files".
 */
void space_text (const struct space *s, char out[SPACE_TEXT_MAX]);

/* The default minimum of free space: enough for logs, ledgers and the last
 * output of the job.
 */
#define SPACE_FLOOR_DEFAULT (UINT64_C (1) << 30)

/* A minimum of free space.  After the free space fell below it, 5 % more is
 * required until there is room again, so that work does not start and stop with
 * each file.
 */
struct space_floor {
    struct space_limit limit;
    bool below;
};

/* Check the minimum.  1: there is room; 0: there is not, and 'why' says how
 * much is free, where, and how much is required; negative: unknown, and nothing
 * has changed.
 */
int space_check_floor (struct space_floor *f, const char *path,
                       struct err *why);

#endif
