/* aggregator/builder/conflicts.h - rows that several captures of a rank have
 */
#ifndef ROLLCALL_BUILDER_CONFLICTS_H
#define ROLLCALL_BUILDER_CONFLICTS_H

#include "select/capture_select.h"

#include <sqlite3.h>

/* Remove rows that do not count from the four tables: all rows of a capture,
 * or, for each step and table, those of all captures except the best one that
 * has any.  Whole captures are better than damaged ones, then newer ones (a
 * higher id) are better.  The sums of these captures are computed again
 * (row_sums/capture_sums.h).  Each table is read twice, and for its sums, for
 * any number of conflicts, and not at all without conflicts.
 */
int conflicts_drop (sqlite3 *db, const struct select_conflict *list, size_t n,
                    struct err *err);

#endif
