/* aggregator/sums/group_sums.c - GROUP BY for few groups */
#include "sums/group_sums.h"

#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_MEMORY "no memory for sums"
#define KEY_WORDS (GROUP_KEYS_MAX / 2)  // key of map.h: two texts per word

struct group_sum {
    uint32_t texts[GROUP_KEYS_MAX];     // its key; TEXTS_NONE: NULL
    int64_t rows;
    double values[GROUP_VALUES_MAX];
    bool known[GROUP_VALUES_MAX];       // some values were not NULL
};

/* ---- rows ---- */

int group_sums_add (struct group_sums *g, const struct group_text *keys,
                    const double *values, struct err *err)
{
    uint32_t texts[GROUP_KEYS_MAX] = { 0 };
    struct group_sum *sum = NULL;
    bool is_new, full = false;

    if (g->sums.size == 0)
        g->sums = (struct map)MAP (struct group_sum, KEY_WORDS);
    for (int i = 0; i < g->nkeys; i++) {
        texts[i] = keys[i].s ? texts_intern (&g->texts, keys[i].s, keys[i].n)
                             : TEXTS_NONE;
        full |= keys[i].s && texts[i] == TEXTS_NONE;
    }
    if (full || !(sum = map_put (&g->sums, texts, &is_new)))
        return err_set (err, ENOMEM, NO_MEMORY);
    sum->rows++;
    for (int i = 0; i < g->nvalues; i++) {
        if (isnan (values[i]))
            continue;
        sum->values[i] += values[i];
        sum->known[i] = true;
    }
    return 0;
}

/* ---- groups ---- */

static const char *text_of (const struct group_sums *g, uint32_t text)
{
    return text == TEXTS_NONE ? NULL : texts_at (&g->texts, text);
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
        (void)sqlite3_bind_text (insert, at++, text_of (g, s->texts[i]), -1,
                                 SQLITE_STATIC);
    (void)sqlite3_bind_int64 (insert, at++, s->rows);
    for (int i = 0; i < g->nvalues; i++, at++) {
        if (s->known[i])
            (void)sqlite3_bind_double (insert, at, s->values[i]);
        else
            (void)sqlite3_bind_null (insert, at);
    }
    return db_run (insert, err);
}

void group_sums_sort (struct group_sums *g)
{
    if (g->sums.n > 0)
        qsort_r (g->sums.records, g->sums.n, g->sums.size, group_sums_compare,
                 g);
}

int group_sums_write (struct group_sums *g, sqlite3_stmt *insert,
                      struct err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < g->sums.n && rc == 0; i++)
        rc = write_sum (g, map_at (&g->sums, i), insert, err);
    map_clear (&g->sums);
    texts_clear (&g->texts);
    return rc;
}

void group_sums_fini (struct group_sums *g)
{
    texts_fini (&g->texts);
    map_fini (&g->sums);
}
