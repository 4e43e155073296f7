/* node_agent/agent/exit_rule.c - when an agent has no purpose any more */
#include "agent/exit_rule.h"

#include "base/clock.h"

#include <stddef.h>

#define ALONE_LIMIT_NS (60 * NS_PER_S)  // a run's agent that no wrapper joins
#define UNHEARD_LIMIT_NS (60 * NS_PER_S)        // of the aggregator, at first
#define SILENT_LIMIT_NS (20 * NS_PER_S) // of it, when all is delivered

/* One that never heard of the aggregator does not know whether all is
 * delivered: there may have been nothing to deliver.
 */
const char *life_useless (const struct life *l)
{
    bool heard = l->heard_ns > 0, waiting = l->ended_ns > 0 || l->once;
    int64_t silent = l->now_ns - (heard ? l->heard_ns : l->began_ns);

    if (l->run && !l->joined && l->now_ns - l->began_ns > ALONE_LIMIT_NS)
        return "no wrapper has joined";
    if (waiting && !heard && silent > UNHEARD_LIMIT_NS)
        return "the aggregator cannot be reached";
    if (l->done && heard &&
        silent > (l->served ? UNHEARD_LIMIT_NS : SILENT_LIMIT_NS))
        return "all was delivered, but the aggregator is gone: whether it "
               "still has it is not known, and what is still here stays";
    if (l->once && silent > UNHEARD_LIMIT_NS)
        return "the aggregator is gone; what was not delivered stays on disk";
    if (l->ended_ns > 0 && silent > SILENT_LIMIT_NS &&
        l->now_ns - l->ended_ns > l->deadline_ns + SILENT_LIMIT_NS)
        return "the aggregator is gone; what was not delivered stays on disk";
    return NULL;
}
