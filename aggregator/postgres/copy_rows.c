/* aggregator/postgres/copy_rows.c - rows of SQLite into COPY, in binary form */
#include "postgres/copy_rows.h"

#include "base/utf8.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define FLUSH_BYTES (64u << 10) // sent at once
#define ROW_MAX (64u << 20)     // a text of a result is smaller
#define EPOCH_US INT64_C (946684800000000)      // 2000-01-01, since 1970

static void put16 (struct copy_rows *c, uint16_t v)
{
    v = htobe16 (v);
    buf_put (&c->buf, &v, sizeof (v));
}

static void put32 (struct copy_rows *c, uint32_t v)
{
    v = htobe32 (v);
    buf_put (&c->buf, &v, sizeof (v));
}

/* The most frequent field, in one step. */
static void put64 (struct copy_rows *c, uint64_t v)
{
    uint8_t *to = buf_extend (&c->buf, 4 + sizeof (v));

    if (!to)
        return;
    v = htobe64 (v);
    memcpy (to, "\0\0\0\10", 4);
    memcpy (to + 4, &v, sizeof (v));
}

void copy_rows_null (struct copy_rows *c)
{
    put32 (c, UINT32_MAX);
}

void copy_rows_new (struct copy_rows *c, size_t fields)
{
    c->rows++;
    put16 (c, (uint16_t)fields);
}

void copy_rows_int (struct copy_rows *c, int64_t v)
{
    put64 (c, (uint64_t)v);
}

void copy_rows_time (struct copy_rows *c, int64_t ns)
{
    copy_rows_int (c, ns / 1000 - (ns % 1000 < 0) - EPOCH_US);
}

void copy_rows_real (struct copy_rows *c, double v)
{
    uint64_t bits;

    if (isnan (v)) {
        copy_rows_null (c);
        return;
    }
    memcpy (&bits, &v, sizeof (bits));
    put64 (c, bits);
}

void copy_rows_text (struct copy_rows *c, const char *text, size_t size)
{
    size_t at = c->buf.size;
    uint64_t bad;
    char *to;

    size = strnlen (text, size);
    put32 (c, (uint32_t)size);
    if (utf8_plain (text, size) == size) {
        buf_put (&c->buf, text, size);
        return;
    }
    if (!(to = buf_extend (&c->buf, 4 * size + 1)))
        return;
    memcpy (to + 3 * size, text, size);         // with a NUL after it
    to[4 * size] = '\0';
    size = utf8_repair (to + 3 * size, size, to, &bad);
    c->buf.size = at;
    put32 (c, (uint32_t)size);
    c->buf.size += size;
}

/* A value is taken from the row once: each sqlite3_column_* looks it up. */
static void put_column (struct copy_rows *c, sqlite3_value *v, char type)
{
    if (sqlite3_value_type (v) == SQLITE_NULL)
        copy_rows_null (c);
    else if (type == 'i')
        copy_rows_int (c, sqlite3_value_int64 (v));
    else if (type == 'f')
        copy_rows_real (c, sqlite3_value_double (v));
    else
        copy_rows_text (c, (const char *)sqlite3_value_text (v),
                        (size_t)sqlite3_value_bytes (v));
}

void copy_rows_columns (struct copy_rows *c, sqlite3_stmt *st,
                        const char *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_column (c, sqlite3_column_value (st, (int)i), types[i]);
}

void copy_rows_again (struct copy_rows *c, const struct buf *begins)
{
    c->rows++;
    c->buf.failed |= begins->failed;
    buf_put (&c->buf, begins->data, begins->size);
}

static void put_value (struct copy_rows *c, const struct page_scan *row,
                       unsigned column, char type)
{
    const char *text;
    int64_t v;
    size_t n;

    if (column == COPY_ROWID) {
        copy_rows_int (c, row->rowid);
    } else if (type == 'f') {
        copy_rows_real (c, page_scan_real (row, column));
    } else if (type == 'i') {
        if (page_scan_is_int (row, column, &v))
            copy_rows_int (c, v);
        else
            copy_rows_null (c);
    } else if ((text = page_scan_text (row, column, &n))) {
        copy_rows_text (c, text, n);
    } else {
        copy_rows_null (c);
    }
}

void copy_rows_page (struct copy_rows *c, const struct page_scan *row,
                     const unsigned char *at, const char *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_value (c, row, at[i], types[i]);
}

static int send (struct copy_rows *c, struct err *err)
{
    int rc = c->buf.failed ? err_set (err, ENOMEM, "no memory for rows")
                           : pg_copy_put (c->to, c->buf.data, c->buf.size, err);

    buf_clear (&c->buf);
    return rc;
}

int copy_rows_flush (struct copy_rows *c, struct err *err)
{
    return c->buf.size < FLUSH_BYTES && !c->buf.failed ? 0 : send (c, err);
}

/* ---- the whole ---- */

void copy_rows_begin (struct copy_rows *c, struct pg *p)
{
    static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

    *c = (struct copy_rows){ .to = p };
    buf_init (&c->buf, FLUSH_BYTES + ROW_MAX);
    buf_put (&c->buf, head, sizeof (head));     // its last NUL, too: 19 bytes
}

int copy_rows_end (struct copy_rows *c, int rc, struct err *err)
{
    put16 (c, UINT16_MAX);
    if (rc == 0)
        rc = send (c, err);
    buf_fini (&c->buf);
    return rc < 0 ? rc : pg_copy_end (c->to, (uint64_t)c->rows, err);
}
