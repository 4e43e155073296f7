/* node_agent/throttle/bucket.c - a token bucket
 *
 * This folder: limits of an agent: bytes in a second, CPU time, priority.
 */
#include "throttle/bucket.h"

#include "base/clock.h"

void bucket_init (struct bucket *b, int64_t rate, int64_t most, int64_t now_ns)
{
    *b = (struct bucket){ .rate = rate, .most = most, .level = most,
                          .at_ns = now_ns };
}

static void refill (struct bucket *b, int64_t now_ns)
{
    double gained = (double)(now_ns - b->at_ns) / NS_PER_S * (double)b->rate;

    if (gained < 1)
        return;                 // rounding must not lose a slow rate
    b->level = gained >= (double)(b->most - b->level)
                   ? b->most : b->level + (int64_t)gained;
    b->at_ns = now_ns;
}

void bucket_spend (struct bucket *b, int64_t amount, int64_t now_ns)
{
    if (b->rate == 0)
        return;
    refill (b, now_ns);
    b->level -= amount;
}

int64_t bucket_wait_ns (struct bucket *b, int64_t now_ns)
{
    if (b->rate == 0)
        return 0;
    refill (b, now_ns);
    if (b->level > 0)
        return 0;
    return (int64_t)((double)(1 - b->level) / (double)b->rate * NS_PER_S) + 1;
}
