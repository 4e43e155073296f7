/* common/base/map.c - numbers by keys of 64 bits: open addressing */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 64

void map_init (struct map *m)
{
    memset (m, 0, sizeof (*m));
}

void map_fini (struct map *m)
{
    free (m->slots);
    map_init (m);
}

/* The slot of a key, or the free one where it would be. */
static struct map_slot *map_find (const struct map *m, uint64_t key)
{
    uint64_t h = key * UINT64_C (0x9e3779b97f4a7c15);
    size_t i = (size_t)(h >> 32) & (m->cap - 1);

    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

static int map_grow (struct map *m)
{
    struct map bigger = { .n = m->n, .cap = m->cap ? 2 * m->cap : FIRST_CAP };

    bigger.slots = calloc (bigger.cap, sizeof (*bigger.slots));
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slots[i].used)
            *map_find (&bigger, m->slots[i].key) = m->slots[i];
    }
    free (m->slots);
    *m = bigger;
    return 0;
}

size_t *map_at (struct map *m, uint64_t key)
{
    struct map_slot *s;

    if (4 * (m->n + 1) > 3 * m->cap && map_grow (m) < 0)
        return NULL;
    s = map_find (m, key);
    if (!s->used) {
        *s = (struct map_slot){ key, MAP_NONE, 1 };
        m->n++;
    }
    return &s->value;
}

size_t map_get (const struct map *m, uint64_t key)
{
    const struct map_slot *s = m->cap ? map_find (m, key) : NULL;

    return s && s->used ? s->value : MAP_NONE;
}

uint64_t map_key (uint64_t a, uint64_t b)
{
    uint64_t h = (a + UINT64_C (0x9e3779b97f4a7c15)) ^ b *
                 UINT64_C (0xff51afd7ed558ccd);

    h ^= h >> 32;
    return h * UINT64_C (0x9e3779b97f4a7c15);
}
