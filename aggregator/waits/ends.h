/* aggregator/waits/ends.h - whether ops of several ranks end together
 *
 * Each rank's clock is assumed to have one constant offset.
 */
#ifndef ROLLCALL_WAITS_ENDS_H
#define ROLLCALL_WAITS_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The time of one op on one rank. */
struct end {
    uint64_t key;               // key of the op: equal on all ranks
    uint32_t who;               // 0 ... of the ranks
    double start_ms, end_ms;    // on the rank's own clock
};

/* The result of comparing ends. */
struct ends {
    size_t common;              // ops that all ranks have
    double median_ms;           // how long such an op takes
    double off_ms;              // how far ends are apart: on a device at most,
                                // else in the median op of the worst rank
    size_t early;               // ops that a rank ended before the last arrived
};

/* Sort the n ends, compute offset_ms[who] (relative to the median of all ranks)
 * and residue_ms[who] (the median of what remains).  'device' selects how to
 * compute off_ms.  False without memory.
 */
bool ends_compare (struct end *v, size_t n, uint32_t nranks, bool device,
                   double *offset_ms, double *residue_ms, struct ends *ret);

/* How far apart ends may be: for a device 1 % of the median op or 100 us; 10 %
 * of it if the host's scheduler is involved.
 */
double ends_tolerance_ms (const struct ends *e, bool device);

/* Whether these may be the ends of one group. */
bool ends_agree (const struct ends *e, bool device);

#endif
