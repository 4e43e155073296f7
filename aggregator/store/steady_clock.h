/* aggregator/store/steady_clock.h - whether this host's wall clock can be
 * believed
 *
 * It should go on as the monotonic one does.  When and what it showed last is in
 * ROOT/clock.json, so that a jump during a restart is seen, too.
 */
#ifndef ROLLCALL_STORE_STEADY_CLOCK_H
#define ROLLCALL_STORE_STEADY_CLOCK_H

#include "base/err.h"

#include <stdint.h>

#define STEADY_CLOCK_NAME "clock.json"
#define STEADY_CLOCK_JUMP_S (24 * 3600) // larger differences are jumps
#define STEADY_CLOCK_WAIT_S (72 * 3600) // for so long somebody, or a time
                                        // server, can correct it: a weekend
#define STEADY_CLOCK_OFF_S (30 * 24 * 3600)     // a host can be off for so long
                                        // without waiting anew

struct steady_clock {           // begins as zeros
    int64_t wall_ns, mono_ns;   // when it was last looked at; mono_ns 0: by an
                                // earlier process, or never
    int64_t jumped_ns;          // what it showed after the last jump, 0: none
};

/* Look at the clocks of a root, and note what they show.  Whether no jump was
 * seen, or the last one is STEADY_CLOCK_WAIT_S ago: 0; else -EAGAIN.  To have been
 * off for a day is like a jump.  A root without a note has a steady clock; a note
 * that cannot be read or written is ignored.
 */
int steady_clock_look (struct steady_clock *c, const char *root,
                       int64_t wall_ns, int64_t mono_ns, struct err *err);

#endif
