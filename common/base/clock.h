/* common/base/clock.h - the monotonic clock and the wall clock, in nanoseconds
 *
 * Deadlines use the monotonic clock, dates the wall clock.
 */
#ifndef ROLLCALL_BASE_CLOCK_H
#define ROLLCALL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C (1000000)
#define NS_PER_S INT64_C (1000000000)

int64_t clock_mono_ns (void);
int64_t clock_wall_ns (void);       // since the Unix epoch

/* The time of a file, which may be any: before 1677 and after 2262 it is limited
 * to what fits.
 */
int64_t clock_ns (const struct timespec *t);

/* Write a date as text that strcmp orders: 2026-01-31T12:00:00.000Z */
#define CLOCK_TEXT_MAX 40
void clock_text (int64_t wall_ns, char out[CLOCK_TEXT_MAX]);

#endif
