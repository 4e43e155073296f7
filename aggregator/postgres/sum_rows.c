/* aggregator/postgres/sum_rows.c - rows of a table, summed by their keys */
#include "postgres/sum_rows.h"

#include "base/vec.h"
#include "sqlite_pages/page_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX (64u << 20)     // bytes of the fields of a key

static void put_key (struct copy_rows *key, const struct page_scan *row,
                     unsigned column, char type)
{
    struct page_value v = page_scan_value (row, column);

    if (type == 't' && v.kind == PAGE_TEXT)
        copy_rows_text (key, v.bytes, v.size);
    else if (type == 'i' && v.kind == PAGE_INT)
        copy_rows_int (key, v.number);
    else
        copy_rows_null (key);
}

static int add (struct sum_rows *s, const struct facts_table *t,
                const struct page_scan *row, struct copy_rows *key)
{
    const size_t nsums = t->sums;
    const uint32_t n = s->keys.map.n;
    uint32_t at = TEXTS_NONE;
    double *sum, v;

    buf_clear (&key->buf);
    for (size_t i = 0; i < t->keys; i++)
        put_key (key, row, t->at[i], t->types[i]);
    if (!key->buf.failed)
        at = texts_intern (&s->keys, (const char *)key->buf.data, key->buf.size);
    if (at == TEXTS_NONE ||
        (at == n && !vec_next (&s->sums, n, nsums * sizeof (*s->sums))))
        return -ENOMEM;
    sum = s->sums + at * nsums;
    for (size_t i = 0; i < nsums; i++) {
        v = page_scan_real (row, t->at[t->keys + i]);
        if (at == n || isnan (sum[i]))
            sum[i] = v;
        else if (!isnan (v))
            sum[i] += v;
    }
    return 0;
}

static int scan (struct sum_rows *s, const struct facts_table *t,
                 const struct page_source *source, struct err *err)
{
    struct copy_rows key = { .rows = 0 };
    struct page_scan row;
    uint32_t root;
    int rc = page_source_root (source, t->summed, &root, err);

    if (rc < 0 || root == 0)
        return rc;
    buf_init (&key.buf, KEY_MAX);
    rc = page_scan_begin (&row, source, root, INT64_MIN, INT64_MAX, err);
    while (rc == 0 && (rc = page_scan_next (&row, err)) == 1)
        rc = add (s, t, &row, &key);
    page_scan_end (&row);
    buf_fini (&key.buf);
    return rc;
}

int sum_rows_read (struct sum_rows *s, sqlite3 *db, const struct facts_table *t,
                   struct err *err)
{
    struct page_source *source;
    int rc = page_source_of (db, NULL, &source, err);

    if (rc < 0)
        return rc;
    rc = scan (s, t, source, err);
    page_source_close (source);
    return rc;
}

void sum_rows_fini (struct sum_rows *s)
{
    texts_fini (&s->keys);
    free (s->sums);
}

size_t sum_rows_count (const struct sum_rows *s)
{
    return s->keys.map.n;
}

static void put_sums (const struct sum_rows *s, const struct facts_table *t,
                      uint32_t row, struct copy_rows *to)
{
    const size_t nsums = t->sums;
    const char *types = t->types + strlen (t->types) - nsums;

    for (size_t i = 0; i < nsums; i++) {
        double v = row == TEXTS_NONE ? (double)NAN : s->sums[row * nsums + i];

        if (types[i] == 'i' && fabs (v) < 0x1p63)
            copy_rows_int (to, (int64_t)v);
        else
            copy_rows_real (to, v);
    }
}

void sum_rows_put (const struct sum_rows *s, const struct facts_table *t,
                   size_t row, struct copy_rows *to)
{
    buf_put (&to->buf, texts_at (&s->keys, (uint32_t)row),
             texts_size (&s->keys, (uint32_t)row));
    put_sums (s, t, (uint32_t)row, to);
}

void sum_rows_put_of (const struct sum_rows *s, const struct facts_table *t,
                      int64_t key, struct copy_rows *to)
{
    struct copy_rows k = { .rows = 0 };
    uint32_t row;

    buf_init (&k.buf, KEY_MAX);
    copy_rows_int (&k, key);
    row = k.buf.failed ? TEXTS_NONE
                       : texts_find (&s->keys, (const char *)k.buf.data, k.buf.size);
    put_sums (s, t, row, to);
    buf_fini (&k.buf);
}
