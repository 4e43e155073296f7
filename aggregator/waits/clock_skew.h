/* aggregator/waits/clock_skew.h - estimate the offsets of the ranks' clocks
 *
 * All ranks end a synchronising op at about the same time.  So a rank's median
 * difference from its groups' median end is about its clock's offset; it is
 * reported, and no time is corrected by it.
 */
#ifndef ROLLCALL_WAITS_CLOCK_SKEW_H
#define ROLLCALL_WAITS_CLOCK_SKEW_H

#include "waits/arrival.h"

#include "base/err.h"

#include <stdbool.h>

struct clock_skew;

struct clock_skew *clock_skew_create (void);    // NULL: no memory
void clock_skew_destroy (struct clock_skew *s); // s may be NULL

/* Add the rows of an op that all ranks of its group have; -ENOMEM.  The first
 * hundred or so ops of each rank are enough.
 */
int clock_skew_add (struct clock_skew *s, const struct arrival *a, size_t n,
                    struct err *err);

/* The times of a rank's ops were already corrected by this offset, up to a
 * residue: both are given, not estimated.  -ENOMEM.
 */
int clock_skew_put_right (struct clock_skew *s, uint32_t rank, double offset_ms,
                          double residue_ms, struct err *err);

/* After the last op: compute the medians. */
void clock_skew_settle (struct clock_skew *s);

/* The offset of a rank's clock in ms; NaN: not known. */
double clock_skew_of (const struct clock_skew *s, uint32_t rank);

/* The residue; NaN if nothing was corrected. */
double clock_skew_residue (const struct clock_skew *s, uint32_t rank);

/* Between two ranks of a group: the difference of their offsets, or, if they
 * were corrected, the larger residue; never negative.  NaN if clocks were not
 * compared.
 */
double clock_skew_between (const struct clock_skew *s, uint32_t group,
                           uint32_t a,
                           uint32_t b);

/* The median over ops of last end - first end, in ms; NaN: no op. */
double clock_skew_of_ends (const struct clock_skew *s);

#endif
