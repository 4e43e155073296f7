/* common/base/clock.c - the two clocks, in nanoseconds */
#include "base/clock.h"

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
