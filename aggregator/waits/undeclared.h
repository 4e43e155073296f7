/* aggregator/waits/undeclared.h - find the group of ops without a declared one
 *
 * Such a group is not the world by default: two groups of equal shape would
 * give wrong waits.  All ranks form one group only if they did the same ops,
 * and their synchronising ops end together after each rank's clock is corrected
 * by one offset.
 */
#ifndef ROLLCALL_WAITS_UNDECLARED_H
#define ROLLCALL_WAITS_UNDECLARED_H

#include "select/capture_select.h"

#include <sqlite3.h>

/* The offset of a capture's clock from those of the others. */
struct undeclared_clock {
    double offset_ms;           // NaN: nothing is to be put right
    double residue_ms;          // how far it is off all the same (median)
};

/* If no group is declared, assign one to the ops (CommGroup, CommGroupMember,
 * and group_name in the tables), or record in Job why not. clocks[i], of
 * capture i + 1, is set for all captures; it has an offset only if the ops got
 * a group and each process has its own clock, or the clocks contradict the
 * ends.  0, -ENOMEM or as db_error.
 */
int undeclared_settle (sqlite3 *db, const struct select_item *items, size_t n,
                       struct undeclared_clock *clocks, struct err *err);

#endif
