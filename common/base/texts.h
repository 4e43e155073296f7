/* common/base/texts.h - intern texts as small numbers
 *
 * A text is some bytes; each is kept once, with a NUL behind it.  Its number is
 * the order of its first appearance, as with records of base/map.h.
 */
#ifndef ROLLCALL_BASE_TEXTS_H
#define ROLLCALL_BASE_TEXTS_H

#include "base/map.h"

#define TEXTS_NONE UINT32_MAX

/* All zero is empty. */
struct texts {
    struct map map;             // map.n: so many
    char *bytes;                // of all, used of cap
    size_t used, cap;
};

uint64_t texts_hash (const char *s, size_t n);

/* The number of a text; TEXTS_NONE: no memory, or it has 4 GiB. */
uint32_t texts_intern (struct texts *t, const char *s, size_t n);

/* The same, but TEXTS_NONE for an unknown text. */
uint32_t texts_find (const struct texts *t, const char *s, size_t n);

/* The text of a number, and its size; valid until another one is interned. */
const char *texts_at (const struct texts *t, uint32_t number);
size_t texts_size (const struct texts *t, uint32_t number);

void texts_clear (struct texts *t);     // it keeps its memory
void texts_fini (struct texts *t);

#endif
