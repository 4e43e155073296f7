/* common/base/clock.h - the two clocks, in nanoseconds
 *
 * Deadlines use the monotonic clock; dates that people read use the other.
 */
#ifndef ROLLCALL_BASE_CLOCK_H
#define ROLLCALL_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_MS INT64_C (1000000)
#define NS_PER_S INT64_C (1000000000)

int64_t clock_mono_ns (void);
int64_t clock_wall_ns (void);       // since the Unix epoch

#endif
