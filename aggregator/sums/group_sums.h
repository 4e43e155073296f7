/* aggregator/sums/group_sums.h - GROUP BY for many rows of few groups
 *
 * SQLite would sort all rows by their texts, which takes most of its time.
 * Here only the groups are sorted.
 */
#ifndef ROLLCALL_SUMS_GROUP_SUMS_H
#define ROLLCALL_SUMS_GROUP_SUMS_H

#include "base/err.h"
#include "base/texts.h"

#include <sqlite3.h>

#define GROUP_KEYS_MAX 6
#define GROUP_VALUES_MAX 4

/* Zero all but the first two members to begin; reusable. */
struct group_sums {
    int nkeys, nvalues;
    struct texts texts;
    struct map sums;
};

/* A text of a row, not NUL-terminated; s is NULL for NULL. */
struct group_text {
    const char *s;
    size_t n;
};

/* Add a row of nkeys texts and nvalues numbers (NaN: NULL).  0 or -ENOMEM. */
int group_sums_add (struct group_sums *g, const struct group_text *keys,
                    const double *values, struct err *err);

/* Call after the last row: sort the groups by their texts (NULL first). */
void group_sums_sort (struct group_sums *g);

/* Run 'insert' for each group, with the keys bound from ?2 on, then the number
 * of rows, then the sums (NULL if all values are).  Empties 'g'.
 */
int group_sums_write (struct group_sums *g, sqlite3_stmt *insert,
                      struct err *err);
void group_sums_fini (struct group_sums *g);

#endif
