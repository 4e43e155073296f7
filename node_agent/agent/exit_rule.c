/* node_agent/agent/exit_rule.c - when an agent is no longer needed */
#include "agent/exit_rule.h"

#include "base/clock.h"

#include <stddef.h>

#define ALONE_LIMIT_NS (60 * NS_PER_S)  // a run's agent that no wrapper joins
#define UNHEARD_LIMIT_NS (60 * NS_PER_S)        // without a word, at first
#define SILENT_LIMIT_NS (20 * NS_PER_S) // the same, when all is delivered

static const char *unreached (const struct exit_facts *f)
{
    return f->missing > 1 ? "the aggregators cannot be reached"
                          : "the aggregator cannot be reached";
}

static const char *gone (const struct exit_facts *f)
{
    return f->missing > 1
               ? "the aggregators are gone; undelivered data stays on disk"
               : "the aggregator is gone; undelivered data stays on disk";
}

static const char *gone_with_all (const struct exit_facts *f)
{
    return f->missing > 1
               ? "everything was delivered, but the aggregators are gone: it is "
                 "not known whether they still have the data, so captures that "
                 "are still here stay"
               : "everything was delivered, but the aggregator is gone: it is "
                 "not known whether it still has the data, so captures that are "
                 "still here stay";
}

/* An agent that never heard the aggregator cannot know that everything is
 * delivered: it may only have had nothing to deliver.
 */
const char *exit_reason (const struct exit_facts *f)
{
    bool heard = f->heard_ns > 0, waiting = f->ended_ns > 0 || f->once;
    int64_t silent = f->now_ns - (heard ? f->heard_ns : f->began_ns) -
                     f->others_ns;

    if (f->run && !f->joined && f->now_ns - f->began_ns > ALONE_LIMIT_NS)
        return "no wrapper has joined";
    if (waiting && !heard && silent > UNHEARD_LIMIT_NS)
        return unreached (f);
    if (f->done && heard &&
        silent > (f->served ? UNHEARD_LIMIT_NS : SILENT_LIMIT_NS))
        return gone_with_all (f);
    if (f->once && silent > UNHEARD_LIMIT_NS)
        return gone (f);
    if (f->ended_ns > 0 && silent > SILENT_LIMIT_NS &&
        f->now_ns - f->ended_ns > f->deadline_ns + SILENT_LIMIT_NS)
        return gone (f);
    return NULL;
}
