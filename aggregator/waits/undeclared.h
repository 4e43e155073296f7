/* aggregator/waits/undeclared.h - find the group of ops without a declared one
 *
 * It is not assumed to be the world: two groups of equal shape would give wrong
 * waits.  All ranks form one group only if they ran the same ops, and if their
 * synchronising ops end together once each rank's clock is corrected by a
 * constant offset.
 */
#ifndef ROLLCALL_WAITS_UNDECLARED_H
#define ROLLCALL_WAITS_UNDECLARED_H

#include "select/capture_select.h"

#include <sqlite3.h>

/* The offset of a capture's clock from the others'. */
struct undeclared_clock {
    double offset_ms;           // NaN: no correction is needed
    double residue_ms;          // what remains after the correction (median)
};

/* If no group is declared, assign one to the ops (CommGroup, CommGroupMember,
 * and group_name in the tables), or record in Job why not.  clocks[i] belongs
 * to capture i + 1 and is always set; it has an offset only if the ops got a
 * group, and either each process has its own clock or the ends contradict the
 * clocks. 0, -ENOMEM or as db_error.
 */
int undeclared_settle (sqlite3 *db, const struct select_item *items, size_t n,
                       struct undeclared_clock *clocks, struct err *err);

#endif
