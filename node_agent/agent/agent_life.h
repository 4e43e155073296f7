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
    LIFE_DRAINING,              // they have ended, or --once: to deliver all
    LIFE_DONE_SAID,             // the aggregator was told DONE
    LIFE_TAKEN_BACK,            // there was more to deliver after that
    LIFE_ENDING,                // captures are released, then it ends
    LIFE_LATE,                  // the same, as the deadline has passed
    LIFE_ROLLED,                // the same, as the aggregator has said ROLL
    LIFE_OVER,                  // the loop is to stop
    LIFE_STATES
};

enum life_event {
    LIFE_OPENED,                // all is open
    LIFE_COMMANDS_ENDED,        // those of all ranks here
    LIFE_COMMAND_RUNS,          // of a rank here
    LIFE_NOTHING_LEFT,          // all captures here are delivered
    LIFE_FOUND_MORE,            // captures that are to be read
    LIFE_LOST,                  // the aggregator has lost what it had
    LIFE_WORD_HEARD,            // a service has answered after DONE
    LIFE_DEADLINE,              // has passed, and only this agent can end it
    LIFE_NOT_YET,               // at the end something is left, after all
    LIFE_ROLL,                  // the aggregator of a run has said it
    LIFE_RELEASED,              // what could be released is
    LIFE_STOP,                  // end now: see the reason
    LIFE_EVENTS
};

enum life_guard {
    LIFE_ALWAYS,
    LIFE_IF_ONCE,               // --once
    LIFE_IF_SEARCHED,           // a run, and all was searched after its end
    LIFE_IF_SAID,               // DONE was said, and not taken back
    LIFE_IF_NEW_WORD,           // what DONE would say now was not said
    LIFE_IF_ALL_JOINED,         // a service's run, no more wrappers are to come
    LIFE_GUARDS
};

enum life_action {
    LIFE_NO_ACTION,
    LIFE_SEARCH_ALL,            // for what COMMANDs have left
    LIFE_REOPEN,                // forget that they had ended, and DONE
    LIFE_SAY_DONE,              // DONE, and what will not be delivered
    LIFE_TAKE_BACK,             // tell the aggregator that it is not so
    LIFE_FORGET_DONE,           // it is to be said again
    LIFE_RELEASE,               // captures, one in each turn of the loop
    LIFE_TAKE_ROLL,             // note it, then release
    LIFE_STOP_LOOP,
    LIFE_ACTIONS
};

extern const struct states life_states;

struct life {
    struct state state;         // begun with LIFE_STARTING
    struct states_owner owner;  // of life_states
    int64_t began_ns;           // monotonic
};

/* An event, and why it came: as state_take. */
bool life_take (struct life *l, enum life_event event, const char *why);

/* Whether the end has come: by a ROLL, or the loop is to stop. */
bool life_is_over (const struct life *l);

#endif
