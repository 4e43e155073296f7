/* common/base/buf.h - bytes that grow, up to a stated maximum
 *
 * After one failure (no memory, or the maximum reached) every further call is
 * a no-op and 'failed' stays set: check it once at the end.
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
    size_t max;                 // never more than this
    bool failed;
};

void buf_init (struct buf *b, size_t max_bytes);
void buf_fini (struct buf *b);          // leaves it empty and usable
void buf_clear (struct buf *b);         // forgets content and failure

/* Make room for 'n' more bytes and return where they go, or NULL (failed). */
void *buf_extend (struct buf *b, size_t n);

void buf_put (struct buf *b, const void *data, size_t n);
void buf_printf (struct buf *b, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* The content as a C string (a NUL is kept behind it); "" after a failure. */
const char *buf_text (struct buf *b);

#endif
