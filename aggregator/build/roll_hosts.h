/* aggregator/build/roll_hosts.h - captures of one rank from two hosts */
#ifndef ROLLCALL_BUILD_ROLL_HOSTS_H
#define ROLLCALL_BUILD_ROLL_HOSTS_H

#include "build/roll.h"

/* Whether two captures came from two hosts.  What a profiler calls its host (in
 * a container, say) is not what the agent there does: names that captures have
 * themselves are compared with each other, and else those of agents.  A host
 * that is not known is no other one.
 */
bool roll_other_host (const struct roll_item *a, const struct roll_item *b);

/* True if the captures of a rank came from more than one host, unless only
 * those of one gave anything: none is used then, and each says why.
 */
bool roll_fail_two_hosts (struct roll_item *items, size_t n);

#endif
