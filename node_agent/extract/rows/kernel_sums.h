/* node_agent/extract/rows/kernel_sums.h - how long a device computes,
 * communicates and does neither
 *
 * For intervals that come in the order of their starts: nothing is kept of them
 * but where the open ones end, so that there may be any number.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_KERNEL_SUMS_H
#define ROLLCALL_EXTRACT_ROWS_KERNEL_SUMS_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_sums {
    bool any;
    int64_t start;              // ns, of the first
    int64_t at;                 // up to here all is counted
    int64_t open[2];            // where computing, communicating ends
    int64_t computing, communicating, both, either;     // ns
};

/* All zero at first.  'communicates' tells the two kinds apart.  False if it
 * starts before the last one did.
 */
bool kernel_sums_add (struct kernel_sums *k, int64_t start, int64_t end,
                      bool communicates);

/* Count what is open, up to its end. */
void kernel_sums_end (struct kernel_sums *k);

#endif
