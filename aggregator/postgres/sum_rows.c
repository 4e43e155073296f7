/* aggregator/postgres/sum_rows.c - rows of a table, summed by their keys */
#include "postgres/sum_rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A key as words: which columns are NULL, then each integer, or number of a text. */
struct sum_key {
    uint64_t nulls, columns[SUM_KEYS_MAX];
};

static double *sums_of (const struct sum_rows *s, void *record)
{
    return (double *)((uint64_t *)record + 1 + s->of.keys);
}

/* ---- reading ---- */

/* Most texts of a column are the one before. */
static uint32_t number_of (struct sum_rows *s, size_t column, const char *text,
                           size_t n)
{
    uint32_t *last = &s->last[column];

    if (*last >= s->texts.map.n || texts_size (&s->texts, *last) != n ||
        memcmp (texts_at (&s->texts, *last), text, n) != 0)
        *last = texts_intern (&s->texts, text, n);
    return *last;
}

/* False: no memory. */
static bool take_key (struct sum_rows *s, const struct page_scan *row,
                      struct sum_key *key)
{
    const struct sum_columns *of = &s->of;

    key->nulls = 0;
    for (size_t i = 0; i < of->keys; i++) {
        const char *text;
        int64_t v = 0;
        bool is_known;
        size_t n;

        if (of->key_types[i] == 'i') {
            is_known = page_scan_is_int (row, of->at[i], &v);
        } else if ((is_known = (text = page_scan_text (row, of->at[i], &n)))) {
            v = number_of (s, i, text, n);
            if (v == TEXTS_NONE)
                return false;
        }
        key->columns[i] = (uint64_t)v;
        key->nulls |= (uint64_t)!is_known << i;
    }
    return true;
}

static int add (struct sum_rows *s, const struct page_scan *row)
{
    const struct sum_columns *of = &s->of;
    struct sum_key key;
    bool is_new;
    void *record;
    double *sums;

    if (!take_key (s, row, &key) || !(record = map_put (&s->map, &key, &is_new)))
        return -ENOMEM;
    sums = sums_of (s, record);
    for (size_t i = 0; i < of->sums; i++) {
        double v = page_scan_real (row, of->at[of->keys + i]);

        if (is_new || isnan (sums[i]))
            sums[i] = v;
        else if (!isnan (v))
            sums[i] += v;
    }
    return 0;
}

int sum_rows_read (struct sum_rows *s, const struct page_source *pages,
                   uint32_t root, struct sum_columns of, struct err *err)
{
    struct page_scan row;
    int rc = page_scan_begin (&row, pages, root, INT64_MIN, INT64_MAX, err);

    *s = (struct sum_rows){ .of = of };
    s->map = (struct map){ .words = (uint32_t)of.keys + 1,
                           .size = (1 + of.keys + of.sums) * sizeof (uint64_t) };
    while (rc == 0 && (rc = page_scan_next (&row, err)) == 1)
        rc = add (s, &row);
    page_scan_end (&row);
    return rc;
}

void sum_rows_fini (struct sum_rows *s)
{
    texts_fini (&s->texts);
    map_fini (&s->map);
}

/* ---- writing ---- */

size_t sum_rows_count (const struct sum_rows *s)
{
    return s->map.n;
}

/* 'sums' of NULL are NULLs. */
static void put_sums (const struct sum_rows *s, const double *sums,
                      struct copy_rows *to)
{
    for (size_t i = 0; i < s->of.sums; i++) {
        double v = sums ? sums[i] : (double)NAN;

        if (s->of.sum_types[i] == 'i' && fabs (v) < 0x1p63)
            copy_rows_int (to, (int64_t)v);
        else
            copy_rows_real (to, v);
    }
}

void sum_rows_put (const struct sum_rows *s, size_t row, struct copy_rows *to)
{
    void *record = map_at (&s->map, (uint32_t)row);
    const uint64_t *key = record;

    for (size_t i = 0; i < s->of.keys; i++) {
        uint64_t v = key[1 + i];

        if (key[0] >> i & 1)
            copy_rows_null (to);
        else if (s->of.key_types[i] == 'i')
            copy_rows_int (to, (int64_t)v);
        else
            copy_rows_text (to, texts_at (&s->texts, (uint32_t)v),
                            texts_size (&s->texts, (uint32_t)v));
    }
    put_sums (s, sums_of (s, record), to);
}

void sum_rows_put_of (const struct sum_rows *s, int64_t key,
                      struct copy_rows *to)
{
    const struct sum_key k = { .columns = { (uint64_t)key } };
    void *record = map_get (&s->map, &k);

    put_sums (s, record ? sums_of (s, record) : NULL, to);
}
