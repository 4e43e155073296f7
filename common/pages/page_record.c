/* common/pages/page_record.c - values as SQLite's records
 *
 * "Record Format" of the file format: a header with its own size and the type
 * of each value, then the values.  How an integer finds its width, and a real
 * that is one becomes one, is as in SQLite's sqlite3VdbeIntegerAffinity and
 * OP_MakeRecord, so that a page is as SQLite's own to the byte.
 */
#include "pages/page_private.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define HEAD_MAX (5 + (PAGE_COLUMNS_MAX + 1) * 5u)
#define NUMBER_MAX 8u           // bytes; all are written, however many it takes

/* By the bits of an integer without its sign. */
static const uint8_t int_types[65] = {
#define TIMES8(t) t, t, t, t, t, t, t, t
    TIMES8 (SERIAL_INT1),       // 0 to 7
    TIMES8 (SERIAL_INT2),       // 8 to 15
    TIMES8 (SERIAL_INT3),       // 16 to 23
    TIMES8 (SERIAL_INT4),       // 24 to 31
    TIMES8 (SERIAL_INT6), TIMES8 (SERIAL_INT6),         // 32 to 47
    TIMES8 (SERIAL_INT8), TIMES8 (SERIAL_INT8), SERIAL_INT8
#undef TIMES8
};

static unsigned int_type (int64_t v)
{
    uint64_t bits = (uint64_t)(v < 0 ? ~v : v);

    if (bits <= 1 && v >= 0)
        return SERIAL_ZERO + (unsigned)v;
    return int_types[bits ? 64 - __builtin_clzll (bits) : 0];
}

/* The type of a number, and its bits. */
static unsigned number_type (const struct page_value *v, int64_t *bits)
{
    unsigned type = SERIAL_REAL;

    if (v->kind == PAGE_INT) {
        *bits = v->number;
        return int_type (v->number);
    }
    if (isnan (v->real))
        return SERIAL_NULL;
    if (v->real > -0x1p63 && v->real < 0x1p63) {
        *bits = (int64_t)v->real;
        if ((double)*bits == v->real)
            type = int_type (*bits);
        if (type != SERIAL_REAL &&
            !(type == SERIAL_INT8 && v->kind == PAGE_REAL))
            return type;
    }
    memcpy (bits, &v->real, sizeof (*bits));
    return SERIAL_REAL;
}

/* Room for the values, and for what a number's bytes may be too many. */
static int record_room (struct page_record *r, const struct page_value *values,
                        unsigned n, struct err *err)
{
    size_t size = HEAD_MAX + (n + 1) * NUMBER_MAX;
    uint8_t *bytes;

    for (unsigned i = 0; i < n; i++)
        size += values[i].kind >= PAGE_TEXT ? values[i].size : 0;
    if (size <= r->cap)
        return 0;
    if (size > PAYLOAD_MAX)
        return err_set (err, EFBIG, "a row of %zu bytes", size);
    if (!(bytes = realloc (r->bytes, 2 * size)))
        return err_set (err, ENOMEM, "no memory for a row of %zu bytes", size);
    r->bytes = bytes;
    r->cap = 2 * size;
    return 0;
}

/* A value's bytes; returns its type. */
static uint64_t put_value (uint8_t **at, const struct page_value *v)
{
    uint64_t type = SERIAL_NULL, big;
    int64_t bits = 0;
    uint32_t size;

    if (v->kind == PAGE_NULL)
        return SERIAL_NULL;
    if (v->kind >= PAGE_TEXT) {
        size = v->size;
        if (size > 0)
            memcpy (*at, v->bytes, size);
        type = (v->kind == PAGE_TEXT ? SERIAL_TEXT : SERIAL_BLOB) +
               2 * (uint64_t)size;
    } else {
        type = number_type (v, &bits);
        if ((size = serial_bytes (type)) > 0) {
            big = htobe64 ((uint64_t)bits << (64 - 8 * size));
            memcpy (*at, &big, NUMBER_MAX);
        }
    }
    *at += size;
    return type;
}

int page_record_make (struct page_record *r, const struct page_value *values,
                      unsigned n, const int64_t *rowid, struct err *err)
{
    uint8_t head[HEAD_MAX], *at;
    uint32_t nhead = 0, own = 1;
    int rc;

    if (n > PAGE_COLUMNS_MAX)
        return err_set (err, E2BIG, "a row of %u columns", n);
    if ((rc = record_room (r, values, n, err)) < 0)
        return rc;
    at = r->bytes + HEAD_MAX;
    for (unsigned i = 0; i < n; i++)
        nhead += varint_put (head + nhead, put_value (&at, &values[i]));
    if (rowid) {
        struct page_value v = page_int (*rowid);

        nhead += varint_put (head + nhead, put_value (&at, &v));
    }
    if (nhead + own > 127)      // the header's size counts itself
        own = 2;
    r->payload = r->bytes + HEAD_MAX - nhead - own;
    memcpy (r->bytes + HEAD_MAX - nhead, head, nhead);
    (void)varint_put (r->bytes + HEAD_MAX - nhead - own, nhead + own);
    r->size = (size_t)(at - r->payload);
    return 0;
}
