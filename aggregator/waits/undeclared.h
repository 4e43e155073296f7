/* aggregator/waits/undeclared.h - the group of ops whose traces declare none
 *
 * Such a group is not the world by default: two groups of equal shape would
 * give waits that nobody had.  It has the ranks that are there only if all of
 * them did the same ops, and those of them that complete together end together
 * once each rank's clock is put right by one offset.
 */
#ifndef ROLLCALL_WAITS_UNDECLARED_H
#define ROLLCALL_WAITS_UNDECLARED_H

#include "select/capture_select.h"

#include <sqlite3.h>

/* How far the clock of a capture is ahead of those of the others. */
struct undeclared_clock {
    double offset_ms;           // NaN: nothing is to be put right
    double residue_ms;          // how far it is off all the same (median)
};

/* If no group is declared: give the ops one (CommGroup, CommGroupMember, and
 * group_name in the tables), or say in Job why not.  clocks[i], of capture
 * i + 1, is set for all captures; it has an offset only where the ops have got
 * a group, and the clocks are each process' own, or contradict the ends.
 * 0, -ENOMEM or as db_error.
 */
int undeclared_settle (sqlite3 *db, const struct select_item *items, size_t n,
                       struct undeclared_clock *clocks, struct err *err);

#endif
