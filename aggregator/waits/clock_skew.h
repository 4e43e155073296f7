/* aggregator/waits/clock_skew.h - estimate the offsets of the ranks' clocks
 *
 * All ranks end a synchronising op at about the same time.  So the median
 * difference between a rank's ends and its groups' median ends is about its
 * clock's offset.  The offset is only reported, not used to correct times.
 */
#ifndef ROLLCALL_WAITS_CLOCK_SKEW_H
#define ROLLCALL_WAITS_CLOCK_SKEW_H

#include "waits/arrival.h"

#include "base/err.h"

#include <stdbool.h>

/* How far the ends of ops are apart, in one step of a group.  All zero is empty;
 * each thread has its own.
 */
struct clock_ends {
    uint32_t group;
    size_t nops;                // of which there are 'ends'
    struct clock_offset {
        uint32_t rank, size;    // of its group
        double ms;              // from the ops' median end
    } *offsets;
    size_t noffsets;
    double *ends;               // of each op: last - first, in ms
    double *sorted;
    size_t offsets_room, room;  // room is that of 'sorted'
};

/* Add the rows of an op that all ranks of the group have; -ENOMEM.  Of all ops
 * only as many are kept as count below.
 */
int clock_ends_add (struct clock_ends *c, const struct op_row *a, size_t n,
                    struct err *err);
void clock_ends_clear (struct clock_ends *c);   // keeps its memory
void clock_ends_fini (struct clock_ends *c);

struct clock_skew;

struct clock_skew *clock_skew_create (void);    // NULL: no memory
void clock_skew_destroy (struct clock_skew *s); // s may be NULL

/* Add the ends of some ops; -ENOMEM.  The first hundred or so ops of each rank
 * are enough.
 */
int clock_skew_add (struct clock_skew *s, const struct clock_ends *c,
                    struct err *err);

/* The times of this rank's ops were already corrected by a known offset, up to
 * a residue; neither is estimated.  -ENOMEM.
 */
int clock_skew_put_right (struct clock_skew *s, uint32_t rank, double offset_ms,
                          double residue_ms, struct err *err);

/* Compute the medians, after the last op. */
void clock_skew_settle (struct clock_skew *s);

/* The offset of a rank's clock in ms; NaN: not known. */
double clock_skew_of (const struct clock_skew *s, uint32_t rank);

/* The residue; NaN if the rank's times were not corrected. */
double clock_skew_residue (const struct clock_skew *s, uint32_t rank);

/* How far apart the clocks of two ranks in a group are: the difference of their
 * offsets or, if times were corrected, the larger residue; never negative.  NaN
 * if their clocks were not compared.
 */
double clock_skew_between (const struct clock_skew *s, uint32_t group,
                           uint32_t a,
                           uint32_t b);

/* The median over ops of last end - first end, in ms; NaN without ops. */
double clock_skew_of_ends (const struct clock_skew *s);

#endif
