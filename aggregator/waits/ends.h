/* aggregator/waits/ends.h - whether ops of several ranks end together
 *
 * Up to one offset of each rank's clock.
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

/* Sort the n ends, find offset_ms[who] (of each from the middle of all) and
 * residue_ms[who] (the median of what is left).  'device' says which of the two
 * off_ms is to be.  False without memory.
 */
bool ends_compare (struct end *v, size_t n, uint32_t nranks, bool device,
                   double *offset_ms, double *residue_ms, struct ends *ret);

/* How far ends may be apart: 1 % of the median op or 100 us of a device, 10 %
 * of it where the host's scheduler has its say.
 */
double ends_tolerance_ms (const struct ends *e, bool device);

/* Whether they are those of one group. */
bool ends_agree (const struct ends *e, bool device);

#endif
