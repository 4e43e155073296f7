/* aggregator/sums/texts.h - texts that repeat, as small numbers */
#ifndef ROLLCALL_SUMS_TEXTS_H
#define ROLLCALL_SUMS_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#define TEXTS_NONE UINT32_MAX

/* All zero is empty. */
struct texts {
    char **items;               // by number
    uint32_t *slots;            // number + 1; 0: free
    uint32_t n, nslots;         // nslots: a power of two, or 0
};

uint64_t texts_hash (const char *s, size_t n);

/* The number of a text, which is the order of their first appearance;
 * TEXTS_NONE: no memory.
 */
uint32_t texts_intern (struct texts *t, const char *s, size_t n);

/* The same, but TEXTS_NONE for one that is not there. */
uint32_t texts_find (const struct texts *t, const char *s, size_t n);

void texts_fini (struct texts *t);

#endif
