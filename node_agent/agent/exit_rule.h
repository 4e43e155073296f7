/* node_agent/agent/exit_rule.h - when an agent is no longer needed
 *
 * For the agent of a run, or with --once: nobody else would end it.  The caller
 * gives the time.
 */
#ifndef ROLLCALL_AGENT_EXIT_RULE_H
#define ROLLCALL_AGENT_EXIT_RULE_H

#include <stdbool.h>
#include <stdint.h>

struct exit_facts {             // monotonic times
    int64_t now_ns, began_ns;
    int64_t heard_ns;           // when the aggregator was heard, 0: never
    int64_t ended_ns;           // when all COMMANDs had ended, 0: not yet
    int64_t deadline_ns;        // after ended_ns
    int64_t others_ns;          // how long it takes to try other aggregators
    unsigned missing;           // aggregators that are not heard
    bool run, once;             // of a run; with --once
    bool served;                // by a service, which may be back soon
    bool joined;                // a wrapper has said hello
    bool done;                  // all is delivered, and the aggregator was told
};

/* Why the agent has to end, or NULL. */
const char *exit_reason (const struct exit_facts *f);

#endif
