/* aggregator/waits/wait_sums.h - sum up waits for table Wait */
#ifndef ROLLCALL_WAITS_WAIT_SUMS_H
#define ROLLCALL_WAITS_WAIT_SUMS_H

#include "base/texts.h"
#include "waits/clock_skew.h"

#include <sqlite3.h>

struct wait_sums;

struct wait_sum {
    uint32_t step, group;       // index in texts; CommGroup.id
    uint32_t late, waiting;     // ranks; these four are the key
    uint32_t ops;
    double wait_ms;
};

/* 'db' is borrowed; sums that exceed the memory go to a temporary table in it.
 */
struct wait_sums *wait_sums_create (sqlite3 *db);       // NULL: no memory
void wait_sums_destroy (struct wait_sums *p);   // p may be NULL

#define WAIT_SUMS_MAX (1u << 17)        // that are added at once

/* Sort the sums of a step of a group by ranks. */
void wait_sums_sort (struct wait_sum *list, size_t n);

/* Add the sums of a step of a group: 'late' made 'waiting' wait.  The steps of a
 * group follow one another.  'list' has each pair once.  'whole': these are all
 * sums of the step of the group, and sorted.  -ENOMEM, or as db_error.
 */
int wait_sums_add (struct wait_sums *p, const struct wait_sum *list, size_t n,
                   bool whole, struct err *err);

/* Write table Wait, sorted by step, group and ranks; and WaitTotal.  Groups in 'skew' get
 * their clocks' error.
 */
int wait_sums_write (struct wait_sums *p, const struct texts *steps,
                     const struct clock_skew *skew, struct err *err);

#endif
