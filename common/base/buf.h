/* common/base/buf.h - a byte buffer that grows up to a maximum
 *
 * After a failure (no memory, or the maximum is reached) every further call has
 * no effect and 'failed' stays set, so check it once at the end.
 */
#ifndef ROLLCALL_BASE_BUF_H
#define ROLLCALL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *data;
    size_t size;                // bytes in use
    size_t cap;                 // bytes allocated
    size_t max;                 // upper limit of size
    bool failed;
};

void buf_init (struct buf *b, size_t max_bytes);
void buf_fini (struct buf *b);          // frees it; it stays usable
void buf_clear (struct buf *b);         // drops content and failure

/* Append 'n' bytes and return where they are, to be written.  NULL after a
 * failure.
 */
void *buf_extend (struct buf *b, size_t n);

void buf_put (struct buf *b, const void *data, size_t n);
void buf_printf (struct buf *b, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* The content as a C string, valid until the next change: its NUL does not count
 * as a byte of it.  "" after a failure.
 */
const char *buf_text (struct buf *b);

/* Take away each complete line, and call 'fn' with it, a NUL for its end. */
void buf_take_lines (struct buf *b, void (*fn) (void *arg, char *line),
                     void *arg);

#endif
