/* node_agent/ship/clock_sync.h - how wrong this host's clock is
 *
 * HELLO carries the agent's monotonic clock, WELCOME gives it back with the
 * aggregator's wall clock: half of the time that the answer took is the most
 * by which the comparison can be wrong.  The quickest answer of the last
 * minutes counts.  Time is the caller's.
 */
#ifndef ROLLCALL_SHIP_CLOCK_SYNC_H
#define ROLLCALL_SHIP_CLOCK_SYNC_H

#include "base/clock.h"

#include <stdbool.h>

#define CLOCK_SYNC_RENEW_NS (300 * NS_PER_S)    // clocks drift by 10 ms in that
#define CLOCK_SYNC_SLOW_NS (30 * NS_PER_S)      // an answer that says nothing
#define CLOCK_SYNC_TOLD_NS NS_PER_S             // people are told of more

struct clock_sync {
    bool known;
    int64_t offset_ns;          // the aggregator's wall clock minus ours
    int64_t error_ns;           // at most so wrong
    int64_t measured_ns;        // monotonic
};

/* An answer to a HELLO of 'sent_ns' (our monotonic clock) came when our clocks
 * were 'mono_ns' and 'wall_ns', and said 'peer_wall_ns'.  True if this is what
 * counts now.
 */
bool clock_sync_take (struct clock_sync *c, int64_t sent_ns, int64_t mono_ns,
                      int64_t wall_ns, int64_t peer_wall_ns);

/* Whether the clocks differ by more than CLOCK_SYNC_TOLD_NS for certain. */
bool clock_sync_is_off (const struct clock_sync *c);

#endif
