/* common/store/deflate.h - gzip files, written as a stream */
#ifndef ROLLCALL_STORE_DEFLATE_H
#define ROLLCALL_STORE_DEFLATE_H

#include <stddef.h>

struct deflate;

/* 'fd' is borrowed, and written to from where it stands.  NULL without memory.
 */
struct deflate *deflate_create (int fd);
void deflate_destroy (struct deflate *z);       // z may be NULL

/* 0, or what write(2) said, also of calls before. */
int deflate_write (struct deflate *z, const void *data, size_t size);

/* The end of the file; nothing may be written behind it. */
int deflate_finish (struct deflate *z);

#endif
