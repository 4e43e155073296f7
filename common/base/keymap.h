/* common/base/keymap.h - small numbers for pairs of numbers
 *
 * A hash table that is emptied in no time, for what is counted once for each
 * op, and for each kind of thing in a capture.
 */
#ifndef ROLLCALL_BASE_KEYMAP_H
#define ROLLCALL_BASE_KEYMAP_H

#include <stdbool.h>
#include <stdint.h>

struct keymap_slot {
    int64_t a, b;
    uint32_t value, generation;
};

/* All zero at first. */
struct keymap {
    struct keymap_slot *slots;
    uint32_t cap, n;            // cap: a power of two, or 0
    uint32_t generation;
};

void keymap_clear (struct keymap *m);
void keymap_fini (struct keymap *m);

/* The value of a pair.  A pair that is new gets the number of those before it,
 * and *is_new.  -ENOMEM, or 0.
 */
int keymap_find (struct keymap *m, int64_t a, int64_t b, uint32_t *value,
                 bool *is_new);

#endif
