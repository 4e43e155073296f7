/* common/base/clock.c - the monotonic clock and the wall clock, in nanoseconds
 */
#include "base/clock.h"

#include <stdio.h>

#define SECONDS_MAX (INT64_MAX / NS_PER_S - 1)  // each way

int64_t clock_ns (const struct timespec *t)
{
    int64_t s = t->tv_sec < -SECONDS_MAX ? -SECONDS_MAX
                : t->tv_sec > SECONDS_MAX ? SECONDS_MAX : t->tv_sec;

    return s * NS_PER_S + t->tv_nsec;
}

static int64_t read_clock (clockid_t id)
{
    struct timespec ts = { 0, 0 };

    (void)clock_gettime (id, &ts);
    return clock_ns (&ts);
}

int64_t clock_mono_ns (void)
{
    return read_clock (CLOCK_MONOTONIC);
}

int64_t clock_wall_ns (void)
{
    return read_clock (CLOCK_REALTIME);
}

int64_t clock_missed_ns (int64_t *last_ns, int64_t now_ns, int64_t each_ns)
{
    int64_t ns = *last_ns > 0 ? now_ns - *last_ns : 0;

    *last_ns = now_ns;
    return ns > 2 * each_ns ? ns - each_ns : 0;
}

void clock_text (int64_t wall_ns, char out[CLOCK_TEXT_MAX])
{
    time_t sec = (time_t)(wall_ns / NS_PER_S);
    struct tm tm;
    size_t n = strftime (out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S",
                         gmtime_r (&sec, &tm));

    (void)snprintf (out + n, CLOCK_TEXT_MAX - n, ".%03dZ",
                    (int)(wall_ns % NS_PER_S / NS_PER_MS));
}
