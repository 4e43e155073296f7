/* aggregator/waits/clock_skew.h - how far the ranks' clocks seem to be apart
 *
 * All ranks end an op in which each needs every other at about the same time.
 * By how much a rank's ends differ from its groups' median is its clock's
 * offset, about; it is told, and nothing is corrected by it.
 */
#ifndef ROLLCALL_WAITS_CLOCK_SKEW_H
#define ROLLCALL_WAITS_CLOCK_SKEW_H

#include "waits/arrival.h"

#include "base/err.h"

#include <stdbool.h>

struct clock_skew;

struct clock_skew *clock_skew_create (void);    // NULL: no memory
void clock_skew_destroy (struct clock_skew *s); // s may be NULL

/* Take the rows of an op that all ranks of its group have; -ENOMEM.  Of each
 * rank some hundred ops are enough, whichever come first.
 */
int clock_skew_add (struct clock_skew *s, const struct arrival *a, size_t n,
                    struct err *err);

/* The times of a rank's ops were put right by this offset before they came
 * here, up to a residue: both are known, not found.  -ENOMEM.
 */
int clock_skew_put_right (struct clock_skew *s, uint32_t rank, double offset_ms,
                          double residue_ms, struct err *err);

/* After the last op: make medians of what was noted. */
void clock_skew_settle (struct clock_skew *s);

/* The offset of a rank's clock in ms; NaN: not known. */
double clock_skew_of (const struct clock_skew *s, uint32_t rank);

/* What is left of it; NaN where nothing was put right. */
double clock_skew_residue (const struct clock_skew *s, uint32_t rank);

/* Between two ranks of a group: the difference of their offsets, or, of those
 * that were put right, the larger residue; never negative.  NaN where no clock
 * was asked.
 */
double clock_skew_between (const struct clock_skew *s, uint32_t group,
                           uint32_t a,
                           uint32_t b);

/* The median over ops of last end - first end, in ms; NaN: no op. */
double clock_skew_of_ends (const struct clock_skew *s);

#endif
