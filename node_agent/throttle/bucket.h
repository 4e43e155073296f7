/* node_agent/throttle/bucket.h - a token bucket
 *
 * It limits bytes, or nanoseconds of CPU time, to a rate with bursts.  The
 * amount spent may exceed the level: then the next use has to wait until the
 * debt is paid.  The caller gives the time, in ns of a monotonic clock.
 */
#ifndef ROLLCALL_THROTTLE_BUCKET_H
#define ROLLCALL_THROTTLE_BUCKET_H

#include <stdint.h>

struct bucket {
    int64_t rate;               // amount in a second; 0: no limit
    int64_t most;               // the largest level, after a pause
    int64_t level;              // what may be spent; negative: a debt
    int64_t at_ns;              // when 'level' was computed
};

/* Begin with a full bucket. */
void bucket_init (struct bucket *b, int64_t rate, int64_t most,
                  int64_t now_ns);

void bucket_spend (struct bucket *b, int64_t amount, int64_t now_ns);

/* How many ns until something may be spent again; 0: now. */
int64_t bucket_wait_ns (struct bucket *b, int64_t now_ns);

#endif
