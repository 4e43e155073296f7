/* common/base/map.c - records that are found by their keys, by open addressing
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define CAP_FIRST 8u            // slots; at least half are kept free

struct map_slot {
    uint32_t hash, number;      // hash and number of its record
    uint32_t generation;        // the slot is free if it differs from the map's
};

static uint64_t word_at (const void *key, uint32_t i)
{
    uint64_t word;

    memcpy (&word, (const char *)key + i * sizeof (word), sizeof (word));
    return word;
}

static uint64_t add_word (uint64_t h, uint64_t word)
{
    return (h ^ word) * UINT64_C (0x9e3779b97f4a7c15);
}

/* Mix the bits, so that each bit of each word affects the upper half. */
static uint64_t mix (uint64_t h)
{
    return (h ^ h >> 32) * UINT64_C (0xd6e8feb86659fd93);
}

static inline uint32_t hash_of (const struct map *m, const void *key)
{
    uint64_t h = 0;
    uint32_t i = 0;

    do
        h = add_word (h, word_at (key, i));
    while (++i < m->words);
    return (uint32_t)(mix (h) >> 32);
}

static inline bool has_key (const struct map *m, uint32_t number,
                            const void *key)
{
    const void *record = map_at (m, number);
    uint32_t i = 0;

    do {
        if (word_at (record, i) != word_at (key, i))
            return false;
    } while (++i < m->words);
    return true;
}

/* The slot of the key, or the free slot for it. */
static inline struct map_slot *slot_of (const struct map *m, const void *key,
                                        uint32_t hash)
{
    uint32_t generation = m->generation, mask = m->cap - 1;

    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_slot *s = &m->slots[i];

        if (s->generation != generation ||
            (s->hash == hash && has_key (m, s->number, key)))
            return s;
    }
}

static bool map_grow (struct map *m)
{
    uint32_t cap = m->cap ? 2 * m->cap : CAP_FIRST;
    struct map_slot *slots = cap ? calloc (cap, sizeof (*slots)) : NULL;
    void *records = slots ? realloc (m->records, cap / 2 * m->size) : NULL;

    if (records)
        m->records = records;
    if (!records) {
        free (slots);
        return false;
    }
    for (uint32_t i = 0; i < m->cap; i++) {
        uint32_t at = m->slots[i].hash & (cap - 1);

        if (m->slots[i].generation != m->generation)
            continue;
        while (slots[at].generation)
            at = (at + 1) & (cap - 1);
        slots[at] = (struct map_slot){ m->slots[i].hash, m->slots[i].number,
                                       1 };
    }
    free (m->slots);
    m->slots = slots;
    m->cap = cap;
    m->generation = 1;
    return true;
}

void *map_put (struct map *m, const void *key, bool *is_new)
{
    uint32_t hash = hash_of (m, key);
    struct map_slot *s;
    char *record;

    if (m->n >= m->cap / 2 && !map_grow (m))
        return NULL;
    s = slot_of (m, key, hash);
    *is_new = s->generation != m->generation;
    if (!*is_new)
        return map_at (m, s->number);
    *s = (struct map_slot){ hash, m->n, m->generation };
    record = map_at (m, m->n++);
    memcpy (record, key, m->words * sizeof (uint64_t));
    memset (record + m->words * sizeof (uint64_t), 0,
            m->size - m->words * sizeof (uint64_t));
    return record;
}

void *map_get (const struct map *m, const void *key)
{
    const struct map_slot *s = m->n ? slot_of (m, key, hash_of (m, key))
                                    : NULL;

    return s && s->generation == m->generation ? map_at (m, s->number) : NULL;
}

void map_clear (struct map *m)
{
    m->n = 0;
    if (m->cap == 0 || ++m->generation != 0)
        return;
    // the generation has wrapped, so old slots would seem used
    memset (m->slots, 0, m->cap * sizeof (*m->slots));
    m->generation = 1;
}

void map_fini (struct map *m)
{
    free (m->records);
    free (m->slots);
    *m = (struct map){ .words = m->words, .size = m->size };
}

uint64_t map_key (uint64_t a, uint64_t b)
{
    return mix (add_word (add_word (0, a), b));
}
