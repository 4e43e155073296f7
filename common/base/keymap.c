/* common/base/keymap.c - small numbers for pairs of numbers */
#include "base/keymap.h"

#include <errno.h>
#include <stdlib.h>

#define CAP_FIRST 64u

static uint32_t slot_of (const struct keymap *m, int64_t a, int64_t b)
{
    uint64_t h = ((uint64_t)a + UINT64_C (0x9e3779b97f4a7c15)) *
                 UINT64_C (0xbf58476d1ce4e5b9);

    h = (h ^ (h >> 29) ^ (uint64_t)b) * UINT64_C (0x94d049bb133111eb);
    h ^= h >> 32;
    return (uint32_t)h & (m->cap - 1);
}

static int keymap_grow (struct keymap *m)
{
    struct keymap more = { .cap = m->cap ? 2 * m->cap : CAP_FIRST,
                           .n = m->n, .generation = 1 };

    if (more.cap == 0)
        return -ENOMEM;
    more.slots = calloc (more.cap, sizeof (*more.slots));
    if (!more.slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->cap; i++) {
        const struct keymap_slot *s = &m->slots[i];
        uint32_t at;

        if (s->generation != m->generation)
            continue;
        at = slot_of (&more, s->a, s->b);
        while (more.slots[at].generation == 1)
            at = (at + 1) & (more.cap - 1);
        more.slots[at] = *s;
        more.slots[at].generation = 1;
    }
    free (m->slots);
    *m = more;
    return 0;
}

void keymap_clear (struct keymap *m)
{
    m->n = 0;
    if (++m->generation == 0) { // it went round: old slots would count
        for (uint32_t i = 0; i < m->cap; i++)
            m->slots[i].generation = 0;
        m->generation = 1;
    }
}

void keymap_fini (struct keymap *m)
{
    free (m->slots);
    *m = (struct keymap){ .slots = NULL };
}

int keymap_find (struct keymap *m, int64_t a, int64_t b, uint32_t *value,
                 bool *is_new)
{
    uint32_t at;

    if (m->n >= m->cap / 2 && keymap_grow (m) < 0)
        return -ENOMEM;
    for (at = slot_of (m, a, b); m->slots[at].generation == m->generation;
         at = (at + 1) & (m->cap - 1)) {
        if (m->slots[at].a == a && m->slots[at].b == b) {
            *value = m->slots[at].value;
            *is_new = false;
            return 0;
        }
    }
    *value = m->n;
    *is_new = true;
    m->slots[at] = (struct keymap_slot){ a, b, m->n++, m->generation };
    return 0;
}
