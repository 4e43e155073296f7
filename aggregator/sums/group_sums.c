/* aggregator/sums/group_sums.c - what GROUP BY does, for few groups */
#include "sums/group_sums.h"

#include "store/db.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_MEMORY "no memory for sums"

struct group_sum {
    uint32_t texts[GROUP_KEYS_MAX];     // its key; TEXTS_NONE: NULL
    int64_t rows;
    double values[GROUP_VALUES_MAX];
    bool known[GROUP_VALUES_MAX];       // not all of them were NULL
};

_Static_assert (sizeof (((struct group_sum *)0)->texts) == sizeof (struct key),
                "a key of key_index.h has the numbers of all texts");

/* ---- rows ---- */

/* Room for the n-th, whose number is one less. */
static int make_room (struct group_sums *g, uint32_t n)
{
    uint32_t room = g->room ? 2 * g->room : 64;
    struct group_sum *more;

    if (n <= g->room)
        return 0;
    if (!(more = realloc (g->sums, room * sizeof (*more))))
        return -ENOMEM;
    g->sums = more;
    g->room = room;
    return 0;
}

static int group_sums_find (struct group_sums *g, const struct group_sum *row,
                            struct group_sum **ret)
{
    uint32_t n = g->keys.n, at;
    struct key key;

    memcpy (&key, row->texts, sizeof (key));
    at = keys_intern (&g->keys, &key);
    if (at == KEYS_NONE || make_room (g, at + 1) < 0)
        return -ENOMEM;
    if (at == n)
        g->sums[at] = *row;
    *ret = &g->sums[at];
    return 0;
}

static int read_texts (struct group_sums *g, sqlite3_stmt *rows,
                       struct group_sum *row)
{
    for (int i = 0; i < g->nkeys; i++) {
        const char *text = (const char *)sqlite3_column_text (rows, i);
        size_t n = text ? (size_t)sqlite3_column_bytes (rows, i) : 0;

        row->texts[i] = text ? texts_intern (&g->texts, text, n) : TEXTS_NONE;
        if (text && row->texts[i] == TEXTS_NONE)
            return -ENOMEM;
    }
    return 0;
}

static int group_sums_add (struct group_sums *g, sqlite3_stmt *rows,
                           struct err *err)
{
    struct group_sum row = { .rows = 0 }, *sum;

    if (read_texts (g, rows, &row) < 0 || group_sums_find (g, &row, &sum) < 0)
        return err_set (err, ENOMEM, NO_MEMORY);
    sum->rows++;
    for (int i = 0; i < g->nvalues; i++) {
        if (sqlite3_column_type (rows, g->nkeys + i) == SQLITE_NULL)
            continue;
        sum->values[i] += sqlite3_column_double (rows, g->nkeys + i);
        sum->known[i] = true;
    }
    return 0;
}

static int read_rows (struct group_sums *g, sqlite3_stmt *rows,
                      struct err *err)
{
    int rc = 0;

    while (rc == 0 && (rc = db_next (rows, "cannot read rows", err)) > 0)
        rc = group_sums_add (g, rows, err);
    (void)sqlite3_reset (rows);
    return rc;
}

/* ---- groups ---- */

static const char *text_of (const struct group_sums *g, uint32_t text)
{
    return text == TEXTS_NONE ? NULL : g->texts.items[text];
}

static int group_sums_compare (const void *pa, const void *pb, void *arg)
{
    const struct group_sum *a = pa, *b = pb;
    const struct group_sums *g = arg;

    for (int i = 0; i < g->nkeys; i++) {
        const char *x = text_of (g, a->texts[i]), *y = text_of (g, b->texts[i]);

        if (a->texts[i] != b->texts[i])
            return !x ? -1 : !y ? 1 : strcmp (x, y);
    }
    return 0;
}

static int write_sum (const struct group_sums *g, const struct group_sum *s,
                      sqlite3_stmt *insert, struct err *err)
{
    int at = 2;

    for (int i = 0; i < g->nkeys; i++)
        db_bind_text (insert, at++, text_of (g, s->texts[i]));
    (void)sqlite3_bind_int64 (insert, at++, s->rows);
    for (int i = 0; i < g->nvalues; i++, at++) {
        if (s->known[i])
            (void)sqlite3_bind_double (insert, at, s->values[i]);
        else
            (void)sqlite3_bind_null (insert, at);
    }
    return db_run (insert, err);
}

int group_sums_run (struct group_sums *g, sqlite3_stmt *rows,
                    sqlite3_stmt *insert, struct err *err)
{
    int rc = read_rows (g, rows, err);

    if (rc == 0 && g->keys.n > 0)
        qsort_r (g->sums, g->keys.n, sizeof (*g->sums), group_sums_compare, g);
    for (uint32_t i = 0; i < g->keys.n && rc == 0; i++)
        rc = write_sum (g, &g->sums[i], insert, err);
    keys_clear (&g->keys);
    texts_fini (&g->texts);
    return rc;
}

void group_sums_fini (struct group_sums *g)
{
    texts_fini (&g->texts);
    keys_fini (&g->keys);
    free (g->sums);
    g->sums = NULL;
    g->room = 0;
}
