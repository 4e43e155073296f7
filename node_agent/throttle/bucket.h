/* node_agent/throttle/bucket.h - so much in a second, and not more at a time
 *
 * Of bytes, or of nanoseconds of CPU time.  What is spent may exceed what is
 * there; then the next has to wait until it is paid.  Time is the caller's.
 */
#ifndef ROLLCALL_THROTTLE_BUCKET_H
#define ROLLCALL_THROTTLE_BUCKET_H

#include <stdint.h>

struct bucket {
    int64_t rate;               // a second; 0: no limit
    int64_t most;               // that gathers while nothing is spent
    int64_t level;              // negative: owed
    int64_t at_ns;              // when 'level' was right
};

/* Full, from now on. */
void bucket_init (struct bucket *b, int64_t rate, int64_t most,
                  int64_t now_ns);

void bucket_spend (struct bucket *b, int64_t amount, int64_t now_ns);

/* How long until something may be spent again; 0: now. */
int64_t bucket_wait_ns (struct bucket *b, int64_t now_ns);

#endif
