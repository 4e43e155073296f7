/* common/base/space.h - room on file systems
 *
 * What is free where, and limits that are a number of bytes or a part of the
 * file system.  Agent and aggregator stop writing before a disk is full: a
 * full one may be the job's, too.
 */
#ifndef ROLLCALL_BASE_SPACE_H
#define ROLLCALL_BASE_SPACE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A limit that was not set (all zeros) has the default of whoever asks. */
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

/* The limit in bytes on a file system of this size.  One that is not set is
 * 'fallback', but never more than a tenth of the file system.
 */
uint64_t space_limit_bytes (const struct space_limit *limit,
                            uint64_t total_bytes, uint64_t fallback);

/* The file system that holds 'path', or would if it was made: directories that
 * are missing are looked for above.  0, or what statvfs(2) said.
 */
int space_of (const char *path, struct space *ret, struct err *err);

/* What is left free on every file system that is written to, unless an option
 * says otherwise: enough for logs, ledgers and the job's own last words.
 */
#define SPACE_FLOOR_DEFAULT (UINT64_C (1) << 30)

/* A floor, and whether it is reached.  When the free space has come below it
 * there must be a twentieth more before it counts as room again, so that
 * nothing starts and stops with each file.
 */
struct space_floor {
    struct space_limit limit;
    bool below;
};

/* Look again: 1 there is room, 0 there is not, negative when it cannot be told
 * (then nothing is changed).  With 0, 'why' gets a sentence that says how much
 * is free, where, and how much is wanted.
 */
int space_check_floor (struct space_floor *f, const char *path,
                       struct err *why);

#endif
