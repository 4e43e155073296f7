/* common/sqlite_pages/page_cell.c - encode values as SQLite records in leaf cells
 *
 * Integers get their width, and reals with integer values become integers, as
 * in SQLite's sqlite3VdbeIntegerAffinity and OP_MakeRecord, so that cells are
 * equal to SQLite's own byte by byte.
 */
#include "sqlite_pages/page_private.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define HEAD_MAX (2 * VARINT_MAX + 2 + (PAGE_COLUMNS_MAX + 1) * 5u)  // sizes,
                                // types: of what is in front of the values
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

static inline unsigned int_type (int64_t v)
{
    uint64_t bits = (uint64_t)(v ^ v >> 63);

    if ((uint64_t)v <= 1)
        return SERIAL_ZERO + (unsigned)v;
    return int_types[bits ? 64 - __builtin_clzll (bits) : 0];
}

/* The type of a real, or of the integer that it is, and its bits. */
static inline unsigned real_type (double v, bool stays, int64_t *bits)
{
    unsigned type;

    if (v > -0x1p63 && v < 0x1p63 && (double)(*bits = (int64_t)v) == v) {
        type = int_type (*bits);
        if (!(type == SERIAL_INT8 && stays))
            return type;
    }
    memcpy (bits, &v, sizeof (*bits));
    return isnan (v) ? SERIAL_NULL : SERIAL_REAL;
}

/* Space for what is in front of the values, the values, and the excess bytes
 * that writing a number touches.
 */
static size_t bytes_of (const struct page_value *values, unsigned n)
{
    size_t size = HEAD_MAX + (n + 1) * NUMBER_MAX;

    for (unsigned i = 0; i < n; i++)
        size += values[i].kind >= PAGE_TEXT ? values[i].size : 0;
    return size;
}

static int cell_room (struct page_cell *c, size_t size, struct err *err)
{
    uint8_t *room;

    if (size > PAYLOAD_MAX)
        return err_set (err, EFBIG, "a row of %zu bytes", size);
    if (!(room = realloc (c->room, 2 * size)))
        return err_set (err, ENOMEM, "no memory for a row of %zu bytes", size);
    c->room = room;
    c->cap = 2 * size;
    return 0;
}

static inline unsigned put_number (uint8_t **at, unsigned type, int64_t bits)
{
    uint32_t size = serial_bytes (type);
    // of a type without bytes nothing counts
    uint64_t big = htobe64 ((uint64_t)bits << (64 - 8 * size) % 64);

    memcpy (*at, &big, NUMBER_MAX);
    *at += size;
    return type;
}

/* A value's bytes; returns its type. */
static inline uint64_t put_value (uint8_t **at, const struct page_value *v)
{
    int64_t bits = v->number;
    unsigned type;

    if (v->kind >= PAGE_TEXT) {
        if (v->size > 0)
            memcpy (*at, v->bytes, v->size);
        *at += v->size;
        return (v->kind == PAGE_TEXT ? SERIAL_TEXT : SERIAL_BLOB) +
               2 * (uint64_t)v->size;
    }
    if (v->kind == PAGE_NULL)
        return SERIAL_NULL;
    if (v->kind == PAGE_INT)
        type = int_type (bits);
    else
        type = real_type (v->real, v->kind == PAGE_REAL, &bits);
    return put_number (at, type, bits);
}

/* "Record Format": the types in front of the values.  False: there is not room
 * for all of them.
 */
static bool make_record (struct page_cell *c, const struct page_value *values,
                         unsigned n, const struct page_value *rowid,
                         size_t *size)
{
    size_t left = HEAD_MAX + (n + 1) * NUMBER_MAX;
    uint8_t types[HEAD_MAX], *at;
    uint32_t ntypes = 0, own = 1;

    if (left > c->cap)
        return false;
    left = c->cap - left;       // for texts
    at = c->room + HEAD_MAX;
    for (unsigned i = 0; i < n + (rowid != NULL); i++) {
        const struct page_value *v = i < n ? &values[i] : rowid;

        if (v->kind >= PAGE_TEXT) {
            if (v->size > left)
                return false;
            left -= v->size;
        }
        ntypes += varint_put (types + ntypes, put_value (&at, v));
    }
    if (ntypes + own > 127)     // the header's size counts itself
        own = 2;
    c->at = c->room + HEAD_MAX - ntypes - own;
    (void)varint_put (c->at, ntypes + own);
    memcpy (c->at + own, types, ntypes);
    *size = (size_t)(at - c->at);
    return true;
}

/* "B-tree Pages": the sizes in front of the record, its overflow behind. */
int page_cell_make (struct page_cell *c, struct page_tree *t, int64_t rowid,
                    const struct page_value *values, unsigned n,
                    struct err *err)
{
    const struct page_value id = page_int (rowid), *last = t->index ? &id
                                                                   : NULL;
    uint8_t front[2 * VARINT_MAX];
    uint32_t local, nfront;
    size_t size = 0;
    int rc = 0;

    if (n > PAGE_COLUMNS_MAX)
        return err_set (err, E2BIG, "a row of %u columns", n);
    if (!make_record (c, values, n, last, &size)) {
        if ((rc = cell_room (c, bytes_of (values, n), err)) < 0)
            return rc;
        (void)make_record (c, values, n, last, &size);
    }
    local = payload_local (t->file->page_size, !t->index, size);
    c->spill = (struct page_range){ 0, 0 };
    if (local < size) {
        rc = page_file_spill (t->file, c->at + local, size - local, &c->spill,
                              err);
        put4 (c->at + local, c->spill.first);
        local += 4;
    }
    nfront = varint_put (front, size);
    if (!t->index)
        nfront += varint_put (front + nfront, (uint64_t)rowid);
    c->at -= nfront;
    memcpy (c->at, front, nfront);
    c->size = nfront + local;
    return rc;
}

bool page_cell_next (struct page_cell *c, int64_t rowid)
{
    unsigned type = int_type (rowid);
    uint32_t size = serial_bytes (type);
    uint64_t big;

    if (type != int_type (rowid - 1) || c->spill.n > 0 || size == 0)
        return false;
    big = htobe64 ((uint64_t)rowid << (64 - 8 * size));
    memcpy (c->at + c->size - size, &big, size);
    return true;
}
