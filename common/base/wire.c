/* common/base/wire.c - little-endian values in byte strings */
#include "base/wire.h"

#include <string.h>

static void put_le (struct buf *b, uint64_t v, unsigned bytes)
{
    uint8_t *at = buf_extend (b, bytes);

    for (unsigned i = 0; at && i < bytes; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

void wire_put_u8 (struct buf *b, uint8_t v)
{
    put_le (b, v, 1);
}

void wire_put_u16 (struct buf *b, uint16_t v)
{
    put_le (b, v, 2);
}

void wire_put_u32 (struct buf *b, uint32_t v)
{
    put_le (b, v, 4);
}

void wire_put_u64 (struct buf *b, uint64_t v)
{
    put_le (b, v, 8);
}

void wire_put_i64 (struct buf *b, int64_t v)
{
    put_le (b, (uint64_t)v, 8);
}

void wire_put_text (struct buf *b, const char *s)
{
    size_t n = s ? strlen (s) : 0;

    if (n > UINT32_MAX) {
        b->failed = true;
        return;
    }
    wire_put_u32 (b, (uint32_t)n);
    buf_put (b, s, n);
}

struct wire wire_reader (const void *data, size_t size)
{
    const uint8_t *at = data;

    return (struct wire){ .at = at, .end = size ? at + size : at };
}

const void *wire_bytes (struct wire *w, size_t n)
{
    const uint8_t *at = w->at;

    if (w->failed || n > (size_t)(w->end - w->at)) {
        w->failed = true;
        return NULL;
    }
    w->at += n;
    return at;
}

static uint64_t get_le (struct wire *w, unsigned bytes)
{
    const uint8_t *at = wire_bytes (w, bytes);
    uint64_t v = 0;

    for (unsigned i = 0; at && i < bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

uint8_t wire_u8 (struct wire *w)
{
    return (uint8_t)get_le (w, 1);
}

uint16_t wire_u16 (struct wire *w)
{
    return (uint16_t)get_le (w, 2);
}

uint32_t wire_u32 (struct wire *w)
{
    return (uint32_t)get_le (w, 4);
}

uint64_t wire_u64 (struct wire *w)
{
    return get_le (w, 8);
}

int64_t wire_i64 (struct wire *w)
{
    return (int64_t)get_le (w, 8);
}

void wire_text (struct wire *w, char *out, size_t max)
{
    uint32_t n = wire_u32 (w);
    const char *at = n < max ? wire_bytes (w, n) : NULL;

    out[0] = '\0';
    if (!at || memchr (at, '\0', n)) {
        w->failed = true;
        return;
    }
    memcpy (out, at, n);
    out[n] = '\0';
}

bool wire_ended (const struct wire *w)
{
    return !w->failed && w->at == w->end;
}
