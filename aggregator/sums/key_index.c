/* aggregator/sums/key_index.c - keys of a few numbers, as small numbers */
#include "sums/key_index.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64u

static uint64_t hash (const struct key *k)
{
    uint64_t h = 0;

    for (unsigned i = 0; i < 3; i++) {
        h = (h ^ k->word[i]) * UINT64_C (0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h * UINT64_C (0xd6e8feb86659fd93) >> 32;
}

/* Where the key is, or the free place for it. */
static uint32_t *slot_of (const struct keys *k, const struct key *key)
{
    uint32_t i = (uint32_t)hash (key) & (k->nslots - 1);

    while (k->slots[i] != 0 &&
           memcmp (&k->items[k->slots[i] - 1], key, sizeof (*key)) != 0)
        i = (i + 1) & (k->nslots - 1);
    return &k->slots[i];
}

static int key_index_grow (struct keys *k)
{
    struct keys bigger = { .n = k->n,
                           .nslots = k->nslots ? 2 * k->nslots : SLOTS_MIN };

    bigger.slots = calloc (bigger.nslots, sizeof (*bigger.slots));
    bigger.items = realloc (k->items,
                            bigger.nslots / 2 * sizeof (*bigger.items));
    if (bigger.items)
        k->items = bigger.items;
    if (!bigger.slots || !bigger.items) {
        free (bigger.slots);
        return -1;
    }
    for (uint32_t i = 0; i < k->n; i++)
        *slot_of (&bigger, &k->items[i]) = i + 1;
    free (k->slots);
    *k = bigger;
    return 0;
}

uint32_t keys_intern (struct keys *k, const struct key *key)
{
    uint32_t *slot;

    if (2 * (k->n + 1) > k->nslots && key_index_grow (k) < 0)
        return KEYS_NONE;
    slot = slot_of (k, key);
    if (*slot == 0) {
        k->items[k->n] = *key;
        *slot = ++k->n;
    }
    return *slot - 1;
}

void keys_clear (struct keys *k)
{
    if (k->nslots > 0)
        memset (k->slots, 0, k->nslots * sizeof (*k->slots));
    k->n = 0;
}

void keys_fini (struct keys *k)
{
    free (k->items);
    free (k->slots);
    *k = (struct keys){ .n = 0 };
}
