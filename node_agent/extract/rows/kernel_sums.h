/* node_agent/extract/rows/kernel_sums.h - sum how long a device computes,
 * communicates, and does both or neither
 *
 * Intervals are added in the order of their starts.  Only the ends of open ones
 * are kept, so there may be any number.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_KERNEL_SUMS_H
#define ROLLCALL_EXTRACT_ROWS_KERNEL_SUMS_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_sums {
    bool any;
    int64_t start;              // ns, start of the first interval
    int64_t at;                 // everything up to here is counted
    int64_t open[2];            // where open computing and communicating end
    int64_t computing, communicating, both, either;     // ns
};

/* Add an interval, to a struct that begins as zeros; 'communicates' is its
 * kind.  False: it starts before the last one did.
 */
bool kernel_sums_add (struct kernel_sums *k, int64_t start, int64_t end,
                      bool communicates);

/* Count the open intervals up to their ends. */
void kernel_sums_end (struct kernel_sums *k);

#endif
