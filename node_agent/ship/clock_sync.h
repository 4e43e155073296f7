/* node_agent/ship/clock_sync.h - the offset of this host's clock
 *
 * HELLO carries the agent's monotonic clock, WELCOME returns it with the
 * aggregator's wall clock: the error is at most half of the round trip.  The
 * quickest answer of the last minutes counts.  The caller gives the time.
 */
#ifndef ROLLCALL_SHIP_CLOCK_SYNC_H
#define ROLLCALL_SHIP_CLOCK_SYNC_H

#include "base/clock.h"

#include <stdbool.h>

#define CLOCK_SYNC_RENEW_NS (300 * NS_PER_S)    // clocks drift by 10 ms in that
#define CLOCK_SYNC_SLOW_NS (30 * NS_PER_S)      // slower answers are ignored
#define CLOCK_SYNC_REPORT_NS NS_PER_S             // a larger offset is reported

struct clock_sync {
    bool known;
    int64_t offset_ns;          // the aggregator's wall clock minus ours
    int64_t error_ns;           // the largest possible error
    int64_t measured_ns;        // monotonic
};

/* The answer to a HELLO of 'sent_ns' (our monotonic clock) arrived at 'mono_ns'
 * and 'wall_ns' of our clocks, and has 'peer_wall_ns'.  True if it is now the
 * one that counts.
 */
bool clock_sync_take (struct clock_sync *c, int64_t sent_ns, int64_t mono_ns,
                      int64_t wall_ns, int64_t peer_wall_ns);

/* Whether the clocks differ by more than CLOCK_SYNC_REPORT_NS for certain. */
bool clock_sync_is_off (const struct clock_sync *c);

#endif
