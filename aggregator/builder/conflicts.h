/* aggregator/builder/conflicts.h - rows that two captures of a rank both have
 */
#ifndef ROLLCALL_BUILDER_CONFLICTS_H
#define ROLLCALL_BUILDER_CONFLICTS_H

#include "select/capture_select.h"

#include <sqlite3.h>

/* Take the rows that do not count out of the four tables: all rows of a
 * capture, or, step by step and table by table, those of all captures but the
 * best one that has any: whole before damaged, then newer (with a higher id).
 * Each table is read twice, however many there are; not at all for none.
 */
int conflicts_drop (sqlite3 *db, const struct select_conflict *list, size_t n,
                    struct err *err);

#endif
