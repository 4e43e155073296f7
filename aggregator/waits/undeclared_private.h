/* aggregator/waits/undeclared_private.h - search for an undeclared group
 *
 * undeclared.c        the search
 * undeclared_write.c  the group, or why there is none
 */
#ifndef ROLLCALL_WAITS_UNDECLARED_PRIVATE_H
#define ROLLCALL_WAITS_UNDECLARED_PRIVATE_H

#include "waits/ends.h"
#include "waits/undeclared.h"

#include <math.h>

/* A capture whose ops name no group. */
struct side {
    size_t item;                // its index in items and clocks
    int64_t rank;
    uint32_t who, round;        // index of the rank, and of this capture among
                                // those of the rank
    uint64_t count, sum;        // of its ops before the last step
    uint64_t last_count;        // of the ops of the last step
    uint64_t all;
};

struct settling {
    sqlite3 *db;
    const struct select_item *items;
    size_t n;
    struct side *sides;
    uint32_t nsides, *side_of;  // the side of an item, or UINT32_MAX
    uint32_t nranks, nrounds;   // sides are sorted by rank, then round
    uint32_t round;             // the current one
    struct end *ends;
    size_t nends;
    uint64_t every;             // one of this many ops is compared
    double origin_us;           // time of the first op, subtracted so that
                                // doubles stay exact
    bool device, own, mixed;    // kind of the ops; kinds of the clocks
    char last[64];              // the step in which the profiler stopped; or ""
    uint64_t nsteps;            // 0, 1 or more were seen
    double *offset, *residue;   // of each rank, in this round
    double most;                // the largest offset so far
    struct ends found;          // the worst of all rounds; 'common' is the sum
    char why[256];
};

/* The capture of a rank, by its index, in the current round. */
static inline struct side *settling_side (const struct settling *s,
                                          uint32_t who)
{
    return &s->sides[who * s->nrounds + s->round];
}

static inline void settling_forget (struct undeclared_clock *clocks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        clocks[i] = (struct undeclared_clock){ NAN, NAN };
}

/* All ranks form one group: write it, set its name in their ops, and record
 * that.  Drop the offsets of clocks that need no correction.
 */
int settling_accept (struct settling *s, struct undeclared_clock *clocks,
                     struct err *err);

/* They do not: record s->why. */
int settling_refuse (struct settling *s, struct err *err);

#endif
