/* common/store/inflate.h - read gzip files as a stream
 *
 * Memory is bounded (the window of zlib and an input buffer), whatever the size
 * of the content; the reader has to limit that.  Only inflate.c and deflate.c
 * use zlib.h.
 */
#ifndef ROLLCALL_STORE_INFLATE_H
#define ROLLCALL_STORE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct inflate;

/* Whether the file begins as gzip does.  Its offset is unchanged. */
bool inflate_is_gzip (int fd);

/* Read 'fd', which is borrowed, from its current offset.  NULL: no memory. */
struct inflate *inflate_open (int fd);
void inflate_close (struct inflate *z);         // z may be NULL

/* Read up to 'size' bytes of the content, as read(2) does; 0 at its end.
 * -EBADMSG: it is no gzip, or damaged; -ENODATA: the file ends too early; or
 * -errno.  All bytes before that are valid.  'arg' is the struct inflate.
 */
ssize_t inflate_read (void *arg, void *buf, size_t size);

#endif
