/* common/base/map.h - records that are found by their keys
 *
 * A record is a struct of the caller that begins with its key: one or more
 * words of 64 bits, without padding.  Records form one list, in the order in
 * which their keys were first put; the number of a record is its place there.
 *
 *   struct sum {
 *       int64_t kind, device;       // the key: two words
 *       double total;
 *   };
 *   struct map sums = MAP (struct sum, 2);
 *
 *   s = map_put (&sums, &(struct sum){ kind, device }, &is_new);
 *   if (!s)
 *       return -ENOMEM;
 *   s->total += x;
 *
 * Keys are compared as a whole: a caller whose key is a hash has to compare the
 * records itself.  For texts as keys see base/texts.h.
 */
#ifndef ROLLCALL_BASE_MAP_H
#define ROLLCALL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot;

struct map {
    uint32_t words;             // of a key; 0: an empty map without a type
    uint32_t n;                 // records
    size_t size;                // bytes of a record
    void *records;              // the caller may sort them if map_clear is next
    struct map_slot *slots;
    uint32_t cap, generation;   // cap: slots, a power of two, or 0
};

/* An empty map for records of a type, with a key of so many words. */
#define MAP(type, key_words) { .words = (key_words), .size = sizeof (type) }

/* Find or add the record with the key at the beginning of 'key'.  A new record
 * is zero after its key; its number was m->n.  The pointer is valid until the
 * next call, which may move records.  NULL: no memory, and the map is
 * unchanged.
 */
void *map_put (struct map *m, const void *key, bool *is_new);

/* Find a record; NULL: there is none. */
void *map_get (const struct map *m, const void *key);

/* The record with this number, which is less than m->n. */
static inline void *map_at (const struct map *m, uint32_t number)
{
    return (char *)m->records + number * m->size;
}

void map_clear (struct map *m);         // empties it in constant time; keeps
                                        // its memory
void map_fini (struct map *m);          // frees it; it is empty, with its type

/* Combine two numbers to a key; their order matters. */
uint64_t map_key (uint64_t a, uint64_t b);

#endif
