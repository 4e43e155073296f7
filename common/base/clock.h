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

/* A process that is stopped, swapped out or busy hears nobody, so that silence
 * means nothing: how much of the time since the last call it did not listen, if it
 * calls this every 'each_ns'.  What is left counts as one 'each_ns', so that a
 * process that is always slow still notices who is gone.  *last_ns: the time of the
 * last call, 0 at first.
 */
int64_t clock_missed_ns (int64_t *last_ns, int64_t now_ns, int64_t each_ns);

/* Write a date as text that strcmp orders: 2026-01-31T12:00:00.000Z */
#define CLOCK_TEXT_MAX 40
void clock_text (int64_t wall_ns, char out[CLOCK_TEXT_MAX]);

#endif
