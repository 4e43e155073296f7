/* common/options/nearest_name.h - suggest a known word for an unknown one
 *
 *   struct nearest n = { .meant = "wiats", .size = 5 };
 *
 *   nearest_consider (&n, "waits");     // for each known word
 *   if (n.best) ...                     // "did you mean waits?"
 */
#ifndef ROLLCALL_OPTIONS_NEAREST_NAME_H
#define ROLLCALL_OPTIONS_NEAREST_NAME_H

#include <stddef.h>

struct nearest {
    const char *meant;          // borrowed
    size_t size;                // bytes of it
    const char *best;           // the nearest word; NULL: none is near
    size_t changes;             // how many letters of 'best' differ
};

/* Consider a known word, which is borrowed.  It is near if two of three letters
 * agree; of equally near ones the first wins.
 */
void nearest_consider (struct nearest *n, const char *word);

#endif
