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
    int nkeys, nvalues;         // columns of 'rows'
    struct texts texts;
    struct map sums;
};

/* Step through 'rows': the texts that are its keys, then numbers.  Then, for
 * each group in the order of its texts (NULL first), bind its keys from ?2 on,
 * the number of its rows, and the sums (NULL if all of them are), to 'insert',
 * and run it.
 */
int group_sums_run (struct group_sums *g, sqlite3_stmt *rows,
                    sqlite3_stmt *insert, struct err *err);
void group_sums_fini (struct group_sums *g);

#endif
