/* aggregator/sums/texts.c - texts that repeat, as small numbers */
#include "sums/texts.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix (uint64_t h)
{
    h *= UINT64_C (0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* Eight bytes at a time: a job has millions of them. */
uint64_t texts_hash (const char *s, size_t n)
{
    uint64_t h = n * UINT64_C (0x9e3779b97f4a7c15), word;

    for (; n >= sizeof (word); n -= sizeof (word), s += sizeof (word)) {
        memcpy (&word, s, sizeof (word));
        h = mix (h ^ word);
    }
    word = 0;
    memcpy (&word, s, n);
    return mix (mix (h ^ word));
}

/* Where the text is, or the free place for it. */
static uint32_t *slot_of (const struct texts *t, const char *s, size_t n)
{
    uint32_t i = (uint32_t)texts_hash (s, n) & (t->nslots - 1);

    while (t->slots[i] != 0) {
        const char *item = t->items[t->slots[i] - 1];

        if (strncmp (item, s, n) == 0 && item[n] == '\0')
            break;
        i = (i + 1) & (t->nslots - 1);
    }
    return &t->slots[i];
}

static int texts_grow (struct texts *t)
{
    struct texts bigger = { .n = t->n, .nslots = t->nslots ? 2 * t->nslots
                                                            : 64 };

    bigger.slots = calloc (bigger.nslots, sizeof (*bigger.slots));
    bigger.items = realloc (t->items, bigger.nslots / 2 * sizeof (char *));
    if (bigger.items)
        t->items = bigger.items;
    if (!bigger.slots || !bigger.items) {
        free (bigger.slots);
        return -1;
    }
    for (uint32_t i = 0; i < t->n; i++)
        *slot_of (&bigger, t->items[i], strlen (t->items[i])) = i + 1;
    free (t->slots);
    *t = bigger;
    return 0;
}

uint32_t texts_find (const struct texts *t, const char *s, size_t n)
{
    uint32_t found = t->nslots ? *slot_of (t, s, n) : 0;

    return found ? found - 1 : TEXTS_NONE;
}

uint32_t texts_intern (struct texts *t, const char *s, size_t n)
{
    uint32_t *slot;

    if (2 * (t->n + 1) > t->nslots && texts_grow (t) < 0)
        return TEXTS_NONE;
    slot = slot_of (t, s, n);
    if (*slot == 0) {
        if (!(t->items[t->n] = strndup (s, n)))
            return TEXTS_NONE;
        *slot = ++t->n;
    }
    return *slot - 1;
}

void texts_fini (struct texts *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        free (t->items[i]);
    free (t->items);
    free (t->slots);
    *t = (struct texts){ .n = 0 };
}
