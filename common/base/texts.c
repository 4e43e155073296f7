/* common/base/texts.c - intern texts as small numbers */
#include "base/texts.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_FIRST 4096u

/* A text.  Texts with the same hash and size differ by 'nth'. */
struct text {
    uint64_t hash;
    uint32_t nth, size;         // key, with the hash
    size_t at;                  // offset in bytes
};

static uint64_t mix (uint64_t h)
{
    h *= UINT64_C (0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* Hash eight bytes at a time, since a job has millions of texts. */
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

/* Find the record of a text.  NULL: there is none, and 'key' is the key for it.
 */
static const struct text *find (const struct texts *t, const char *s, size_t n,
                                struct text *key)
{
    const struct text *known;

    *key = (struct text){ texts_hash (s, n), 0, (uint32_t)n, t->used };
    while ((known = map_get (&t->map, key)) &&
           memcmp (t->bytes + known->at, s, n) != 0)
        key->nth++;
    return known;
}

static uint32_t number_of (const struct texts *t, const struct text *text)
{
    return (uint32_t)(text - (const struct text *)t->map.records);
}

uint32_t texts_find (const struct texts *t, const char *s, size_t n)
{
    struct text key;
    const struct text *known = find (t, s, n, &key);

    return known ? number_of (t, known) : TEXTS_NONE;
}

static bool make_room (struct texts *t, size_t n)
{
    size_t cap = t->cap ? t->cap : BYTES_FIRST;
    char *p;

    while (cap - t->used <= n)
        cap *= 2;
    if (cap == t->cap)
        return true;
    if (n >= UINT32_MAX || !(p = realloc (t->bytes, cap)))
        return false;
    t->bytes = p;
    t->cap = cap;
    return true;
}

uint32_t texts_intern (struct texts *t, const char *s, size_t n)
{
    struct text key, *text;
    const struct text *known = find (t, s, n, &key);
    bool is_new;

    if (known)
        return number_of (t, known);
    if (t->map.size == 0)
        t->map = (struct map)MAP (struct text, 2);
    if (!make_room (t, n) || !(text = map_put (&t->map, &key, &is_new)))
        return TEXTS_NONE;
    text->at = t->used;
    memcpy (t->bytes + t->used, s, n);
    t->bytes[t->used + n] = '\0';
    t->used += n + 1;
    return t->map.n - 1;
}

const char *texts_at (const struct texts *t, uint32_t number)
{
    return t->bytes + ((const struct text *)t->map.records)[number].at;
}

size_t texts_size (const struct texts *t, uint32_t number)
{
    return ((const struct text *)t->map.records)[number].size;
}

void texts_clear (struct texts *t)
{
    map_clear (&t->map);
    t->used = 0;
}

void texts_fini (struct texts *t)
{
    map_fini (&t->map);
    free (t->bytes);
    *t = (struct texts){ .used = 0 };
}
