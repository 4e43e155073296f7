/* node_agent/agent/agent_life.h - the life of an agent: states and events
 *
 * Its table is drawn in doc/states.md.
 */
#ifndef ROLLCALL_AGENT_AGENT_LIFE_H
#define ROLLCALL_AGENT_AGENT_LIFE_H

#include "base/states.h"

enum life_state {
    LIFE_STARTING,              // the spool and the sockets are being opened
    LIFE_COLLECTING,            // COMMANDs run; a service is always here
    LIFE_DRAINING,              // they have ended, or --once: deliver the rest
    LIFE_DONE_SAID,             // the aggregator was told DONE
    LIFE_TAKEN_BACK,            // DONE was withdrawn: there is more to deliver
    LIFE_ENDING,                // captures are released, then it ends
    LIFE_LATE,                  // as ENDING, since the deadline has passed
    LIFE_ROLLED,                // as ENDING, since the aggregator said ROLL
    LIFE_OVER,                  // the loop is to stop
    LIFE_STATES
};

enum life_event {
    LIFE_OPENED,                // all is open
    LIFE_COMMANDS_ENDED,        // those of all ranks here
    LIFE_COMMAND_RUNS,          // of a rank here
    LIFE_NOTHING_LEFT,          // all captures here are delivered
    LIFE_FOUND_MORE,            // captures to be read were found
    LIFE_LOST,                  // the aggregator has lost acknowledged data
    LIFE_WORD_HEARD,            // a service answered after DONE
    LIFE_DEADLINE,              // passed, and only this agent can end the run
    LIFE_NOT_YET,               // at the end something is still left
    LIFE_ROLL,                  // the aggregator of a run said ROLL
    LIFE_RELEASED,              // everything that could be released is
    LIFE_STOP,                  // end now: see the reason
    LIFE_EVENTS
};

enum life_guard {
    LIFE_ALWAYS,
    LIFE_IF_ONCE,               // --once
    LIFE_IF_SEARCHED,           // a run, and all was searched after its end
    LIFE_IF_SAID,               // DONE was said and not withdrawn
    LIFE_IF_NEW_WORD,           // DONE would say something new
    LIFE_IF_ALL_JOINED,         // a service's run with all wrappers joined
    LIFE_GUARDS
};

enum life_action {
    LIFE_NO_ACTION,
    LIFE_SEARCH_ALL,            // for what COMMANDs have left
    LIFE_REOPEN,                // forget that COMMANDs had ended, and DONE
    LIFE_SAY_DONE,              // say DONE and what will not be delivered
    LIFE_TAKE_BACK,             // withdraw DONE at the aggregator
    LIFE_FORGET_DONE,           // DONE has to be said again
    LIFE_RELEASE,               // a capture in each turn of the loop
    LIFE_TAKE_ROLL,             // record ROLL, then release
    LIFE_STOP_LOOP,
    LIFE_ACTIONS
};

extern const struct states life_states;

struct life {
    struct state state;         // begun with LIFE_STARTING
    struct states_owner owner;  // of life_states
    int64_t began_ns;           // monotonic
};

/* Take an event with its reason, as state_take. */
bool life_take (struct life *l, enum life_event event, const char *why);

/* Whether the life is over: by a ROLL, or the loop is to stop. */
bool life_is_over (const struct life *l);

#endif
