/* common/base/nearest_name.h - which known word was meant by one that is not
 * known
 *
 *     struct nearest n = { .meant = "wiats", .size = 5 };
 *     nearest_consider (&n, "waits");        // for each known word
 *     if (n.best) ...                     // "did you mean waits?"
 */
#ifndef ROLLCALL_BASE_NEAREST_NAME_H
#define ROLLCALL_BASE_NEAREST_NAME_H

#include <stddef.h>

struct nearest {
    const char *meant;          // borrowed
    size_t size;                // of it, in bytes
    const char *best;           // of what was offered; NULL: nothing is near
    size_t changes;             // letters by which 'best' differs
};

/* A word is near if of three letters two are right; of equals the first is
 * kept.  'word' is borrowed.
 */
void nearest_consider (struct nearest *n, const char *word);

#endif
