/* aggregator/row_sums/group_sums.h - GROUP BY for many rows of few groups
 *
 * SQLite would sort all rows by their texts, which takes most of its time.
 * Here only the groups are sorted.
 */
#ifndef ROLLCALL_ROW_SUMS_GROUP_SUMS_H
#define ROLLCALL_ROW_SUMS_GROUP_SUMS_H

#include "base/err.h"
#include "base/texts.h"

#define GROUP_TEXTS_MAX 6
#define GROUP_VALUES_MAX 5

/* Zero all but the first three members to begin; reusable. */
struct group_sums {
    int ntexts;                 // of the key
    int nsums, nvalues;         // values: sums, then maxima
    struct texts texts;
    struct map sums;
    uint32_t last;              // number of the last row's group, plus 1
};

struct group_sum {
    uint32_t texts[GROUP_TEXTS_MAX];    // TEXTS_NONE: NULL
    double number;              // the key's last part; NaN: NULL
    uint32_t next;              // the group of the row behind, plus 1
    int64_t rows;
    double values[GROUP_VALUES_MAX];    // NaN: NULL in all rows
};

/* Get the number of a text.  TEXTS_NONE: no memory. */
static inline uint32_t group_sums_intern (struct group_sums *g, const char *s,
                                          size_t n)
{
    return texts_intern (&g->texts, s, n);
}

/* Add a row with 'ntexts' texts, a number (0 if keys have none) and 'nvalues'
 * values (NaN: NULL).  0 or -ENOMEM.
 */
int group_sums_add (struct group_sums *g, const uint32_t *texts, double number,
                    const double *values, struct err *err);

/* Call after the last row: sort the groups by their keys (NULL first).  Then
 * 'sums' has a struct group_sum of each, until group_sums_clear.
 */
void group_sums_sort (struct group_sums *g);

void group_sums_clear (struct group_sums *g);
void group_sums_fini (struct group_sums *g);

#endif
