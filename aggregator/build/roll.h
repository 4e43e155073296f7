/* aggregator/build/roll.h - which captures count, and for which rank
 *
 * Before rows are read: captures of no rank, and ranks that two hosts claim.
 * After: steps that two captures of one rank both have, and the roster.
 */
#ifndef ROLLCALL_BUILD_ROLL_H
#define ROLLCALL_BUILD_ROLL_H

#include "model/capture.h"
#include "model/roster.h"

/* One capture on its way into a build. */
struct roll_item {
    struct capture capture;     // as looked at; then as read
    int64_t rank;               // that its rows get; -1: they do not count
    bool skip;                  // its rows are not to be read
    uint64_t weight;            // bytes to be read, for sharing the work
    size_t source;              // the caller's index of it
};

/* Sort by rank and age, and settle identities.  On return items[i] is the
 * capture with id i + 1.
 */
void roll_plan (struct roll_item *items, size_t n);

/* How many ranks are expected if nobody said: from the captures' metadata, or
 * else the highest rank seen (then *known_by is "guess").
 */
int64_t roll_world_size (const struct roll_item *items, size_t n,
                         const char **known_by);

/* Rows to be taken out again: of the capture with this id, of this step. */
struct roll_conflict {
    int64_t capture;
    const char *step;           // its id, borrowed from the item; "" nameless
};

/* The (rank, step) pairs that two captures have: the newer one wins, and both
 * say so in their reasons.  The list is the caller's to free; -ENOMEM.
 */
int roll_conflicts (struct roll_item *items, size_t n,
                    struct roll_conflict **ret, size_t *nret);

/* Enter every capture into the roster, whose expected ranks are there. */
int roll_fill_roster (const struct roll_item *items, size_t n,
                      struct roster *r);

#endif
