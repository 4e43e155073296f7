/* aggregator/waits/wait_totals.h - the pairs of ranks that waited longest in all
 *
 * Sums over all steps for table WaitTotal, which answers "who was waited for"
 * without sorting table Wait.
 */
#ifndef ROLLCALL_WAITS_WAIT_TOTALS_H
#define ROLLCALL_WAITS_WAIT_TOTALS_H

#include "waits/wait_sums.h"

#define WAIT_TOTALS_MAX 4096u   // rows of the table
#define WAIT_TOTALS_PAIRS (2 * WAIT_SUMS_MAX)   // of a group: 8 MiB

/* All zero is empty. */
struct wait_totals {
    struct wait_sum *group;     // of the current group, sorted by ranks
    size_t n, cap;
    struct wait_sum *best;      // of the groups before it
    size_t nbest;
    double least;               // what a total needs; 0: anything
    bool given_up;
};

/* Add the sums of a step of a group, sorted by ranks; the steps of a group must
 * follow one another.  -ENOMEM.
 */
int wait_totals_add (struct wait_totals *t, const struct wait_sum *list,
                     size_t n, struct err *err);

/* They cannot be known: the table stays empty.  So it does if a group has more
 * than WAIT_TOTALS_PAIRS pairs.
 */
void wait_totals_give_up (struct wait_totals *t);

/* Write the table, the longest first; -ENOMEM, or as db_error. */
int wait_totals_write (struct wait_totals *t, sqlite3 *db,
                       const struct clock_skew *skew, struct err *err);

void wait_totals_fini (struct wait_totals *t);

#endif
