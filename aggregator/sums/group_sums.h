/* aggregator/sums/group_sums.h - GROUP BY for many rows of few groups
 *
 * SQLite sorts all rows by texts, which takes most of the time; here only the
 * groups are sorted.
 */
#ifndef ROLLCALL_SUMS_GROUP_SUMS_H
#define ROLLCALL_SUMS_GROUP_SUMS_H

#include "base/err.h"
#include "base/texts.h"

#include <sqlite3.h>

#define GROUP_KEYS_MAX 6
#define GROUP_VALUES_MAX 4

/* Begins as zeros, except for the first two; reusable. */
struct group_sums {
    int nkeys, nvalues;
    struct texts texts;
    struct map sums;
};

/* A text of a row, without a NUL behind it; s is NULL for NULL. */
struct group_text {
    const char *s;
    size_t n;
};

/* Add a row: its nkeys texts, and nvalues numbers (NaN: NULL).  -ENOMEM. */
int group_sums_add (struct group_sums *g, const struct group_text *keys,
                    const double *values, struct err *err);

/* After the last row: sort the groups by their texts (NULL first). */
void group_sums_sort (struct group_sums *g);

/* For each group bind its keys from ?2 on, the number of its rows, and the sums
 * (NULL if all of them are), to 'insert', and run it.  Empty afterwards.
 */
int group_sums_write (struct group_sums *g, sqlite3_stmt *insert,
                      struct err *err);
void group_sums_fini (struct group_sums *g);

#endif
