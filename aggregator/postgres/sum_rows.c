/* aggregator/postgres/sum_rows.c - rows of a table, summed by their keys */
#include "postgres/sum_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX (64u << 10)     // bytes of the fields of a key

void sum_rows_init (struct sum_rows *s, size_t nkeys, size_t nsums)
{
    *s = (struct sum_rows){ .nkeys = nkeys, .nsums = nsums };
    buf_init (&s->key.buf, KEY_MAX);
}

void sum_rows_fini (struct sum_rows *s)
{
    texts_fini (&s->keys);
    free (s->sums);
    free (s->known);
    buf_fini (&s->key.buf);
}

static int make_room (struct sum_rows *s)
{
    size_t cap = s->cap > 0 ? 2 * s->cap : 1024;
    double *sums = realloc (s->sums, cap * s->nsums * sizeof (*sums));
    bool *known;

    if (sums)
        s->sums = sums;
    known = sums ? realloc (s->known, cap * s->nsums * sizeof (*known)) : NULL;
    if (!known)
        return -ENOMEM;
    s->known = known;
    s->cap = cap;
    return 0;
}

int sum_rows_add (struct sum_rows *s, sqlite3_stmt *st, const char *types)
{
    uint32_t n = s->keys.map.n, at;

    if (n == s->cap && make_room (s) < 0)
        return -ENOMEM;
    buf_clear (&s->key.buf);
    copy_rows_columns (&s->key, st, types, s->nkeys);
    if (s->key.buf.failed)
        return -ENOMEM;
    at = texts_intern (&s->keys, (const char *)s->key.buf.data,
                       s->key.buf.size);
    if (at == TEXTS_NONE)
        return -ENOMEM;
    if (at == n) {
        memset (s->sums + at * s->nsums, 0, s->nsums * sizeof (*s->sums));
        memset (s->known + at * s->nsums, 0, s->nsums * sizeof (*s->known));
    }
    for (size_t i = 0; i < s->nsums; i++) {
        sqlite3_value *v = sqlite3_column_value (st, (int)(s->nkeys + i));

        if (sqlite3_value_type (v) == SQLITE_NULL)
            continue;
        s->sums[at * s->nsums + i] += sqlite3_value_double (v);
        s->known[at * s->nsums + i] = true;
    }
    return 0;
}

size_t sum_rows_count (const struct sum_rows *s)
{
    return s->keys.map.n;
}

void sum_rows_put (const struct sum_rows *s, size_t row, struct copy_rows *to)
{
    buf_put (&to->buf, texts_at (&s->keys, (uint32_t)row),
             texts_size (&s->keys, (uint32_t)row));
    for (size_t i = row * s->nsums; i < (row + 1) * s->nsums; i++) {
        if (s->known[i])
            copy_rows_real (to, s->sums[i]);
        else
            copy_rows_null (to);
    }
}
