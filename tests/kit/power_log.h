/* tests/kit/power_log.h - what the power recorder writes, in order
 *
 * One file for all processes, appended to.  Each record is this head, then
 * 'path' bytes of a path (of two for rename and link: each with its NUL), then
 * 'size' bytes that were written.
 */
#ifndef ROLLCALL_KIT_POWER_LOG_H
#define ROLLCALL_KIT_POWER_LOG_H

#include <stdint.h>

#define POWER_MAGIC 0x52575031u

enum power_op {
    POWER_OPEN = 1,             // fd, path; size_or_offset: created, truncated
    POWER_WRITE,                // fd, offset, data
    POWER_TRUNCATE,             // fd, offset: the new size
    POWER_SYNC,                 // fd: of a file or directory
    POWER_RENAME,
    POWER_LINK,
    POWER_UNLINK,
    POWER_MKDIR,
    POWER_RMDIR,
    POWER_ACK,                  // offset: the item; the moment it was sent
    POWER_SYNC_ALL,             // syncfs
};

#define POWER_MADE 1u           // POWER_OPEN: the file was not there before
#define POWER_CUT 2u            // O_TRUNC
#define POWER_DIR 4u            // it is a directory

struct power_record {
    uint32_t magic;
    uint32_t op;
    int32_t pid;
    int32_t fd;
    uint64_t offset;
    uint32_t path;              // bytes of path, with NULs
    uint32_t size;              // bytes of data
};

#endif
