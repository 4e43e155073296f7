/* common/base/map.h - numbers by keys of 64 bits
 *
 * Keys are hashes or numbers of the caller's; two things of one key are one to
 * the map, so a caller that hashes compares what it finds.
 */
#ifndef ROLLCALL_BASE_MAP_H
#define ROLLCALL_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_NONE SIZE_MAX       // of a key that is not there, or just came

struct map_slot {
    uint64_t key;
    size_t value;
    int used;
};

struct map {
    struct map_slot *slots;
    size_t n, cap;              // cap is a power of two, or 0
};

void map_init (struct map *m);
void map_fini (struct map *m);

/* The value of a key, MAP_NONE when it has just come.  Valid until the next
 * call; NULL without memory.
 */
size_t *map_at (struct map *m, uint64_t key);

size_t map_get (const struct map *m, uint64_t key);     // or MAP_NONE

/* A key of two numbers, in their order. */
uint64_t map_key (uint64_t a, uint64_t b);

#endif
