/* common/store/deflate.h - write gzip files as a stream */
#ifndef ROLLCALL_STORE_DEFLATE_H
#define ROLLCALL_STORE_DEFLATE_H

#include <stddef.h>

struct deflate;

/* Write to 'fd', which is borrowed, from its current offset.  NULL: no memory.
 */
struct deflate *deflate_create (int fd);
void deflate_destroy (struct deflate *z);       // z may be NULL

/* Returns 0, or the first error of write(2), which all later calls return, too.
 */
int deflate_write (struct deflate *z, const void *data, size_t size);

/* Complete the file.  Nothing may be written afterwards. */
int deflate_finish (struct deflate *z);

#endif
