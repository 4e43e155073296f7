/* node_agent/ship/clock_sync.c - the offset of this host's clock */
#include "ship/clock_sync.h"

#define WALL_MAX (INT64_C (1) << 62)    // in 2116; differences cannot overflow

bool clock_sync_take (struct clock_sync *c, int64_t sent_ns, int64_t mono_ns,
                      int64_t wall_ns, int64_t peer_wall_ns)
{
    int64_t took = sent_ns > 0 && mono_ns > 0 ? mono_ns - sent_ns : -1;

    // an answer to another process's HELLO, or of a peer without a clock
    if (took < 0 || took > CLOCK_SYNC_SLOW_NS || peer_wall_ns <= 0 ||
        peer_wall_ns > WALL_MAX || wall_ns < 0)
        return false;
    if (c->known && took / 2 > c->error_ns &&
        mono_ns - c->measured_ns < CLOCK_SYNC_RENEW_NS)
        return false;
    c->known = true;
    c->offset_ns = peer_wall_ns - (wall_ns - took / 2);
    c->error_ns = took / 2;
    c->measured_ns = mono_ns;
    return true;
}

bool clock_sync_is_off (const struct clock_sync *c)
{
    int64_t least = c->offset_ns < 0 ? -c->offset_ns : c->offset_ns;

    return c->known && least - c->error_ns > CLOCK_SYNC_REPORT_NS;
}
