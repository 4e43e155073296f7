/* common/base/buf.c - a byte buffer that grows up to a maximum
 *
 * This folder: what every program needs: bytes, numbers and texts, errors, log,
 * event loop, maps, state tables, threads, counters, fault points, LZ4 and
 * digests.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST 256           // bytes of the first allocation

void buf_init (struct buf *b, size_t max_bytes)
{
    memset (b, 0, sizeof (*b));
    b->max = max_bytes;
}

void buf_fini (struct buf *b)
{
    free (b->data);
    buf_init (b, b->max);
}

void buf_clear (struct buf *b)
{
    b->size = 0;
    b->failed = false;
}

/* Make room for 'n' bytes, and a NUL behind them. */
static bool buf_reserve (struct buf *b, size_t n)
{
    size_t cap = b->cap ? b->cap : BUF_FIRST;
    uint8_t *data;

    if (b->failed || n > b->max || b->size > b->max - n) {
        b->failed = true;
        return false;
    }
    while (cap <= b->size + n)
        cap *= 2;
    if (cap > b->cap) {
        if (!(data = realloc (b->data, cap))) {
            b->failed = true;
            return false;
        }
        b->data = data;
        b->cap = cap;
    }
    return true;
}

void *buf_extend (struct buf *b, size_t n)
{
    void *at;

    if (!buf_reserve (b, n))
        return NULL;
    at = b->data + b->size;
    b->size += n;
    return at;
}

void buf_put (struct buf *b, const void *data, size_t n)
{
    void *at = buf_extend (b, n);

    if (at && n > 0)
        memcpy (at, data, n);
}

void buf_printf (struct buf *b, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start (ap, fmt);
    n = vsnprintf (NULL, 0, fmt, ap);
    va_end (ap);
    if (n < 0 || !buf_reserve (b, (size_t)n)) {
        b->failed = true;
        return;
    }
    va_start (ap, fmt);
    (void)vsnprintf ((char *)b->data + b->size, (size_t)n + 1, fmt, ap);
    va_end (ap);
    b->size += (size_t)n;
}

const char *buf_text (struct buf *b)
{
    if (b->size == 0 || !buf_reserve (b, 0))
        return "";
    b->data[b->size] = '\0';
    return (const char *)b->data;
}

void buf_take_lines (struct buf *b, void (*fn) (void *arg, char *line),
                     void *arg)
{
    char *text = (char *)b->data, *end;
    size_t used = 0;

    while (used < b->size && (end = memchr (text + used, '\n', b->size - used))) {
        *end = '\0';
        fn (arg, text + used);
        used = (size_t)(end + 1 - text);
    }
    b->size -= used;
    if (used > 0)
        memmove (text, text + used, b->size);
}
