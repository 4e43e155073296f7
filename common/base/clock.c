/* common/base/clock.c - the monotonic clock and the wall clock, in nanoseconds
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock (clockid_t id)
{
    struct timespec ts = { 0, 0 };

    (void)clock_gettime (id, &ts);
    return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t clock_mono_ns (void)
{
    return read_clock (CLOCK_MONOTONIC);
}

int64_t clock_wall_ns (void)
{
    return read_clock (CLOCK_REALTIME);
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
