/* aggregator/sums/key_index.h - keys of a few numbers, as small numbers
 *
 * What texts.h is for texts: the number of a key is the order of its first
 * appearance.
 */
#ifndef ROLLCALL_SUMS_KEY_INDEX_H
#define ROLLCALL_SUMS_KEY_INDEX_H

#include <stdint.h>

#define KEYS_NONE UINT32_MAX

struct key {
    uint64_t word[3];
};

/* All zero is empty. */
struct keys {
    struct key *items;          // by number
    uint32_t *slots;            // number + 1; 0: free
    uint32_t n, nslots;         // nslots: a power of two, or 0
};

/* KEYS_NONE: no memory.  The key is new if n has grown. */
uint32_t keys_intern (struct keys *k, const struct key *key);

void keys_clear (struct keys *k);       // keeps its memory
void keys_fini (struct keys *k);

#endif
