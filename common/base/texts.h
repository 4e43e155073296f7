/* common/base/texts.h - intern texts as small numbers
 *
 * A text is a sequence of bytes; each is stored once, with a NUL after it.  Its
 * number counts texts in the order of their first appearance, as for records of
 * base/map.h.
 */
#ifndef ROLLCALL_BASE_TEXTS_H
#define ROLLCALL_BASE_TEXTS_H

#include "base/map.h"

#define TEXTS_NONE UINT32_MAX

/* A zeroed struct is empty. */
struct texts {
    struct map map;             // map.n is the number of texts
    char *bytes;                // of all texts; 'used' of 'cap' are used
    size_t used, cap;
};

uint64_t texts_hash (const char *s, size_t n);

/* Intern a text and return its number.  TEXTS_NONE: no memory, or it has 4 GiB.
 */
uint32_t texts_intern (struct texts *t, const char *s, size_t n);

/* Find a text and return its number.  TEXTS_NONE: it is unknown. */
uint32_t texts_find (const struct texts *t, const char *s, size_t n);

/* The text with a number, and its size.  The text is valid until another one is
 * interned.
 */
const char *texts_at (const struct texts *t, uint32_t number);
size_t texts_size (const struct texts *t, uint32_t number);

void texts_clear (struct texts *t);     // empties it; keeps its memory
void texts_fini (struct texts *t);

#endif
