/* common/store/byte_source.c - bytes to be read, wherever they are
 *
 * This folder: files and databases that survive a crash: atomic replacement,
 * held directories, gzip, sorted records, SQLite with errors as sentences, free
 * space.
 */
#include "store/byte_source.h"

#include "store/fileio.h"

static int read_file (const struct byte_source *from, void *out, size_t n,
                      uint64_t at)
{
    return fileio_pread_all (from->fd, out, n, from->offset + (off_t)at);
}

struct byte_source byte_source_of (int fd, off_t offset, uint64_t size)
{
    return (struct byte_source){ .read = read_file, .fd = fd,
                                 .offset = offset, .size = size };
}
