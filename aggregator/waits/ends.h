/* aggregator/waits/ends.h - whether ops of several ranks end together
 *
 * Given one constant offset of each rank's clock.
 */
#ifndef ROLLCALL_WAITS_ENDS_H
#define ROLLCALL_WAITS_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One rank's time of an op. */
struct end {
    uint64_t key;               // of the op: equal on all ranks
    uint32_t who;               // 0 ... of the ranks
    double start_ms, end_ms;    // by the rank's own clock
};

/* What came of it. */
struct ends {
    size_t common;              // ops that all of them have
    double median_ms;           // how long such an op takes
    double off_ms;              // how far ends are apart, at most of a device,
                                // else in the median op of the worst rank
    size_t early;               // ops that one ended before the last one came
};

/* Sort the n ends, compute offset_ms[who] (from the middle of all) and
 * residue_ms[who] (the median remainder).  'device' selects which off_ms to
 * compute.  False without memory.
 */
bool ends_compare (struct end *v, size_t n, uint32_t nranks, bool device,
                   double *offset_ms, double *residue_ms, struct ends *ret);

/* How far ends may be apart: 1 % of the median op or 100 us for a device, 10 %
 * of it if the host's scheduler is involved.
 */
double ends_tolerance_ms (const struct ends *e, bool device);

/* Whether these are the ends of one group. */
bool ends_agree (const struct ends *e, bool device);

#endif
