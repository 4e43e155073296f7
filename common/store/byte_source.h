/* common/store/byte_source.h - bytes to be read, wherever they are */
#ifndef ROLLCALL_STORE_BYTE_SOURCE_H
#define ROLLCALL_STORE_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct byte_source {
    // read exactly n bytes at 'at': 0; -ENODATA: there are fewer; -EBADMSG:
    // they are damaged; -EIO, -ENOMEM
    int (*read) (const struct byte_source *from, void *out, size_t n,
                 uint64_t at);
    void *arg;                  // of the one who made it
    int fd;
    off_t offset;
    uint64_t size;
};

/* fd[offset..offset + size); the descriptor is borrowed. */
struct byte_source byte_source_of (int fd, off_t offset, uint64_t size);

#endif
