/* common/model/batch.c - some rows of one table, column by column
 *
 * This folder: the nouns that cross borders: tables and batches of rows,
 * captures and their evidence, roster, shipment, steps.
 */
#include "model/batch.h"

#include "base/cmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OVERHEAD 5u        // u32 length before, NUL behind
#define BYTES_FIRST 65536u
#define HASH_ODD UINT64_C (0x9e3779b97f4a7c15)  // 2^64 / golden ratio

int batch_init (struct batch *b, enum table_id table, struct err *err)
{
    const struct table *t = schema_table (table);

    memset (b, 0, sizeof (*b));
    b->table = table;
    b->generation = 1;
    b->bytes_used = TEXT_OVERHEAD;      // so that no reference is 0
    b->bytes_cap = BYTES_FIRST;
    b->bytes = malloc (BYTES_FIRST);
    if (!b->bytes)
        goto nomem;
    memset (b->bytes, 0, TEXT_OVERHEAD);        // they are packed, too
    for (unsigned c = 0; c < t->ncolumns; c++) {
        if (schema_is_text (&t->columns[c]))
            b->text[c] = malloc (BATCH_ROWS * sizeof (uint32_t));
        else
            b->real[c] = malloc (BATCH_ROWS * sizeof (double));
        if (!b->text[c] && !b->real[c])
            goto nomem;
    }
    return 0;
nomem:
    batch_fini (b);
    return err_set (err, ENOMEM, "no memory for rows of %s", t->name);
}

void batch_fini (struct batch *b)
{
    for (unsigned c = 0; c < TABLE_COLUMNS_MAX; c++) {
        free (b->text[c]);
        free (b->real[c]);
    }
    free (b->bytes);
    memset (b, 0, sizeof (*b));
}

void batch_clear (struct batch *b)
{
    b->nrows = 0;
    b->generation++;
    b->bytes_used = TEXT_OVERHEAD;
    b->failed = false;
    memset (b->cache, 0, sizeof (b->cache));
}

bool batch_full (const struct batch *b)
{
    return b->nrows >= BATCH_ROWS || b->bytes_used >= BATCH_TEXT_FULL;
}

static uint32_t text_slot (const char *s, size_t n)
{
    uint64_t tail = 0, before = 0, h;

    // ops of one step differ in their tails, so the last bytes matter most
    if (n >= 16)
        memcpy (&before, s + n - 16, 8);
    if (n >= 8) {
        memcpy (&tail, s + n - 8, 8);
    } else {
        for (size_t i = 0; i < n; i++)
            tail = tail << 8 | (uint8_t)s[i];
    }
    h = (tail ^ before * HASH_ODD ^ n) * HASH_ODD;
    return (uint32_t)(h >> 32) & (BATCH_CACHE - 1);
}

static bool bytes_reserve (struct batch *b, size_t n)
{
    size_t cap = b->bytes_cap;
    char *bytes;

    if (n > BATCH_TEXT_MAX || b->bytes_used + n > BATCH_TEXT_MAX)
        return false;
    while (cap < b->bytes_used + n)
        cap *= 2;
    if (cap == b->bytes_cap)
        return true;
    if (!(bytes = realloc (b->bytes, cap)))
        return false;
    b->bytes = bytes;
    b->bytes_cap = (uint32_t)cap;
    return true;
}

/* The text in a slot, if it is this one. */
static inline uint32_t known_text (const struct batch *b, uint32_t slot,
                                   const char *s, size_t n)
{
    uint32_t ref = b->cache[slot];
    size_t have = 0;

    return batch_text_at (b, ref, &have) && have == n &&
                   cmp_same (b->bytes + ref, s, n)
               ? ref : BATCH_NULL_TEXT;
}

uint32_t batch_known_text (const struct batch *b, const char *s, size_t n)
{
    return known_text (b, text_slot (s, n), s, n);
}

uint32_t batch_text (struct batch *b, const char *s, size_t n)
{
    uint32_t slot = text_slot (s, n);
    uint32_t ref = known_text (b, slot, s, n);
    uint32_t size = (uint32_t)n;

    if (ref != BATCH_NULL_TEXT)
        return ref;
    if (!bytes_reserve (b, n + TEXT_OVERHEAD)) {
        b->failed = true;
        return BATCH_NULL_TEXT;
    }
    ref = b->bytes_used + 4;
    memcpy (b->bytes + b->bytes_used, &size, sizeof (size));
    memcpy (b->bytes + ref, s, n);
    b->bytes[ref + n] = '\0';
    b->bytes_used += size + TEXT_OVERHEAD;
    b->cache[slot] = ref;
    return ref;
}

void batch_repeat_set (struct batch_repeat *r, const char *s, size_t n)
{
    *r = (struct batch_repeat){ .s = s, .n = n };
}

uint32_t batch_repeat_ref (struct batch *b, struct batch_repeat *r)
{
    if (r->generation[b->table] != b->generation) {
        r->ref[b->table] = r->s ? batch_text (b, r->s, r->n)
                                : BATCH_NULL_TEXT;
        r->generation[b->table] = b->generation;
    }
    return r->ref[b->table];
}

int batch_flush (struct batch *b, const struct row_sink *sink,
                 struct err *err)
{
    int rc = 0;

    if (b->failed)
        rc = err_set (err, ENOMEM, "no memory for the texts of %s",
                      schema_table (b->table)->name);
    else if (b->nrows > 0)
        rc = sink->rows (sink->arg, b, err);
    batch_clear (b);
    return rc;
}

static int drop_rows (void *arg, const struct batch *b, struct err *err)
{
    const atomic_bool *cancel = arg;

    (void)b;
    return atomic_load (cancel) ? err_set (err, EINTR, "interrupted") : 0;
}

static int drop_table (void *arg, enum table_id table, struct err *err)
{
    (void)arg;
    (void)table;
    (void)err;
    return 0;
}

struct row_sink row_sink_none (const atomic_bool *cancel)
{
    return (struct row_sink){ drop_rows, drop_table,
                              (void *)(uintptr_t)cancel };
}
