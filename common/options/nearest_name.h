/* common/options/nearest_name.h - suggest a known word for an unknown one
 *
 *     struct nearest n = { .meant = "wiats", .size = 5 };
 *     nearest_consider (&n, "waits");        // for each known word
 *     if (n.best) ...                     // "did you mean waits?"
 */
#ifndef ROLLCALL_OPTIONS_NEAREST_NAME_H
#define ROLLCALL_OPTIONS_NEAREST_NAME_H

#include <stddef.h>

struct nearest {
    const char *meant;          // borrowed
    size_t size;                // of it, in bytes
    const char *best;           // of what was offered; NULL: nothing is near
    size_t changes;             // letters by which 'best' differs
};

/* A word is near if two of three letters are right; of equal ones the first
 * wins.  'word' is borrowed.
 */
void nearest_consider (struct nearest *n, const char *word);

#endif
