/* aggregator/builder/split_plan.c - which part of a result has which ranks */
#include "builder/split.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "base/texts.h"
#include "base/vec.h"
#include "publish/rows_digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* All captures of a rank are one unit; each without a rank is one, too. */
static int make_units (struct split *d, struct texts *hosts)
{
    for (size_t i = 0; i < d->nitems; i++) {
        const struct select_item *item = &d->items[i];
        uint64_t block = (uint64_t)item->first_row >> ROWS_BLOCK_BITS;
        const char *host = item->capture.host;
        struct split_unit *u;

        if (d->nunits > 0 && d->units[d->nunits - 1].block == block)
            continue;
        if (!(u = vec_add (&d->units, &d->nunits, sizeof (*u))))
            return -ENOMEM;
        u->block = block;
        u->rank = item->rank;
        u->host = texts_intern (hosts, host, strlen (host));
        if (u->host == TEXTS_NONE)
            return -ENOMEM;
    }
    return 0;
}

static int by_block (const void *unit, const void *block)
{
    uint64_t a = ((const struct split_unit *)unit)->block;
    uint64_t b = *(const uint64_t *)block;

    return (a > b) - (a < b);
}

struct split_unit *split_unit_at (const struct split *d, int64_t row)
{
    uint64_t block = (uint64_t)row >> ROWS_BLOCK_BITS;
    size_t i = cmp_place (&block, d->units, d->nunits, sizeof (*d->units),
                          by_block);

    return i < d->nunits && d->units[i].block == block ? &d->units[i] : NULL;
}

int64_t split_first_row (const struct split_unit *u)
{
    return (int64_t)(u->block << ROWS_BLOCK_BITS);
}

int64_t split_last_row (const struct split_unit *u)
{
    return (int64_t)((u->block + 1) << ROWS_BLOCK_BITS) - 1;
}

static uint64_t bytes_of (const struct row_span *s)
{
    uint64_t rows = 0;

    for (unsigned t = 0; t < PARTS_TABLES - 1; t++)
        rows += s->rows[t];
    return rows * SPLIT_ROW_BYTES;
}

static void add_bytes (struct split *d, const struct row_span *spans)
{
    for (size_t i = 0; i < d->nitems; i++) {
        struct split_unit *u = split_unit_at (d, spans[i].first);

        if (u)
            u->bytes += bytes_of (&spans[i]);
    }
}

static int compare_hosts (const void *pa, const void *pb)
{
    const struct split_unit *a = *(struct split_unit *const *)pa;
    const struct split_unit *b = *(struct split_unit *const *)pb;

    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

/* Fill one part after the other, with hosts in the order of their first ranks.
 */
static void fill_parts (struct split *d, struct split_unit **order,
                        uint64_t limit)
{
    uint64_t used = 0;
    size_t end;

    d->n = 1;
    for (size_t i = 0; i < d->nunits; i = end) {
        uint64_t host = 0;

        for (end = i; end < d->nunits && order[end]->host == order[i]->host;)
            host += order[end++]->bytes;
        for (size_t k = i; k < end; k++) {
            uint64_t next = order[k]->bytes;

            if (host <= limit)  // all of it at once
                next = k == i ? host : 0;
            if (used > 0 && used + next > limit) {
                used = 0;
                d->n++;
            }
            order[k]->part = d->n;
            used += next;
        }
    }
}

static int spread_units (struct split *d, uint64_t limit)
{
    struct split_unit **order = calloc (d->nunits + 1, sizeof (*order));

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < d->nunits; i++)
        order[i] = &d->units[i];
    qsort (order, d->nunits, sizeof (struct split_unit *), compare_hosts);
    fill_parts (d, order, limit);
    free (order);
    return 0;
}

static void choose_id (char id[PARTS_ID_SIZE])
{
    uint64_t number = 0;

    if (getrandom (&number, sizeof (number), 0) != (ssize_t)sizeof (number))
        number = (uint64_t)clock_wall_ns ();
    (void)snprintf (id, PARTS_ID_SIZE, "%016llx", (unsigned long long)number);
}

int split_plan (struct split *d, const struct select_item *items, size_t n,
                const struct row_span *spans, int64_t limit, struct err *err)
{
    struct texts hosts = { 0 };
    uint64_t all = 0, least;
    int rc;

    *d = (struct split){ .items = items, .nitems = n };
    for (size_t i = 0; i < n; i++)
        all += bytes_of (&spans[i]);
    if (all <= (uint64_t)limit)
        return 0;
    least = all / (PARTS_MAX / 2 - 1);
    rc = make_units (d, &hosts);
    texts_fini (&hosts);
    if (rc == 0)
        add_bytes (d, spans);
    if (rc == 0)
        rc = spread_units (d, (uint64_t)limit < least ? least
                                                      : (uint64_t)limit);
    if (d->n < 2)
        d->n = 0;               // one part is no gain
    choose_id (d->id);
    return rc < 0 ? err_set (err, ENOMEM, "no memory to divide a result") : 0;
}

void split_fini (struct split *d)
{
    free (d->units);
    *d = (struct split){ .n = 0 };
}
