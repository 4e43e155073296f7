/* common/store/inflate.h - gzip files, as a stream (the only door to zlib.h)
 *
 * Memory is bounded (zlib's window and one input buffer), however far the
 * content expands: what to do about its size is the reader's business.
 */
#ifndef ROLLCALL_STORE_INFLATE_H
#define ROLLCALL_STORE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct inflate;

/* Whether the file begins as gzip does; its position stays. */
bool inflate_is_gzip (int fd);

/* 'fd' is borrowed, and read from where it stands.  NULL without memory. */
struct inflate *inflate_open (int fd);
void inflate_close (struct inflate *z);         // z may be NULL

/* Like read(2): up to 'size' bytes of the content, 0 at its end, -errno.
 * -EBADMSG: not gzip, or damaged; -ENODATA: the file ends too early.  What came
 * before either was good.  'arg' is the struct inflate.
 */
ssize_t inflate_read (void *arg, void *buf, size_t size);

#endif
