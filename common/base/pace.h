/* common/base/pace.h - how long to wait until a piece of work is done again
 *
 * Work that is repeated for as long as a process lives, such as a search of a
 * directory, may use a share of the time only: after each piece there is a pause
 * of so many times as long.
 */
#ifndef ROLLCALL_BASE_PACE_H
#define ROLLCALL_BASE_PACE_H

#include <stdint.h>

struct pace {
    int64_t last_ns;            // what the last piece took; 0: there was none
};

/* The pause after a piece that took 'took_ns': 'times' as long, but within
 * 'least_ns' and 'most_ns'.  One piece that takes longer than those beside it
 * does not count: the machine may have stood still, or a server hung, and with
 * that the pause would grow to minutes.
 */
int64_t pace_pause (struct pace *p, int64_t took_ns, int64_t times,
                    int64_t least_ns, int64_t most_ns);

#endif
