/* common/options/nearest_name.c - suggest a known word for an unknown one */
#include "options/nearest_name.h"

#include <string.h>

#define WORD_MAX 63             // letters of a known word; a longer one is
                                // never near

/* How many letters must be changed, inserted, removed or exchanged with the
 * next one to turn 'a' into 'b'.
 */
static size_t distance (const char *a, size_t size, const char *b, size_t n)
{
    size_t rows[3][WORD_MAX + 1];

    for (size_t k = 0; k <= n; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];

        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            row[k] = above[k - 1] + (a[i - 1] != b[k - 1]);
            if (above[k] + 1 < row[k])
                row[k] = above[k] + 1;
            if (row[k - 1] + 1 < row[k])
                row[k] = row[k - 1] + 1;
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
                a[i - 2] == b[k - 1] && rows[(i + 1) % 3][k - 2] + 1 < row[k])
                row[k] = rows[(i + 1) % 3][k - 2] + 1;
        }
    }
    return rows[size % 3][n];
}

void nearest_consider (struct nearest *n, const char *word)
{
    size_t length = strlen (word), d;

    if (length > WORD_MAX || n->size > 2 * WORD_MAX)
        return;
    d = distance (n->meant, n->size, word, length);
    if (3 * d <= length && (!n->best || d < n->changes)) {
        n->best = word;
        n->changes = d;
    }
}
