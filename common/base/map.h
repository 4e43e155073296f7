/* common/base/map.h - records that are found by their keys
 *
 * A record is a struct of the caller's that begins with its key: some words of
 * 64 bits, without padding in them.  Records are one list, in the order in
 * which their keys came first; a record's number is its place there.
 *
 *     struct sum {
 *         int64_t kind, device;       // the key: two words
 *         double total;
 *     };
 *     struct map sums = MAP (struct sum, 2);
 *
 *     s = map_put (&sums, &(struct sum){ kind, device }, &is_new);
 *     if (!s)
 *         return -ENOMEM;
 *     s->total += x;
 *
 * Keys are compared as a whole: a caller whose key is a hash compares what it
 * finds.  Texts as keys: base/texts.h.
 */
#ifndef ROLLCALL_BASE_MAP_H
#define ROLLCALL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot;

struct map {
    uint32_t words;             // of a key; 0: an empty map of no type
    uint32_t n;                 // records
    size_t size;                // bytes of a record
    void *records;              // they may be sorted, before map_clear
    struct map_slot *slots;
    uint32_t cap, generation;   // cap: slots, a power of two, or 0
};

/* An empty map of records of a type, whose key is so many words. */
#define MAP(type, key_words) { .words = (key_words), .size = sizeof (type) }

/* The record of the key that 'key' begins with.  One that is new is zero behind
 * its key, and its number was m->n.  Valid until the next call: records move.
 * NULL without memory: the map is as it was.
 */
void *map_put (struct map *m, const void *key, bool *is_new);

/* NULL: there is none. */
void *map_get (const struct map *m, const void *key);

/* The record of a number below m->n. */
static inline void *map_at (const struct map *m, uint32_t number)
{
    return (char *)m->records + number * m->size;
}

void map_clear (struct map *m);         // in no time; it keeps its memory
void map_fini (struct map *m);          // m is empty then, and of its type

/* A key of two numbers, in their order. */
uint64_t map_key (uint64_t a, uint64_t b);

#endif
