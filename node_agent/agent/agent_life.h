/* node_agent/agent/agent_life.h - the life of an agent: states and events
 *
 * A table of edges (state, event, guard, action, next state).  What guards ask
 * and what actions do is the owner's affair: the table only names them.  It is
 * drawn in doc/states.md.
 */
#ifndef ROLLCALL_AGENT_AGENT_LIFE_H
#define ROLLCALL_AGENT_AGENT_LIFE_H

#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct life_edge {
    enum life_state from;
    enum life_event event;
    enum life_guard guard;
    enum life_action action;
    enum life_state to;
};

/* What guards ask and actions do.  An action may bring the next event: it runs
 * in the new state.
 */
struct life_ops {
    bool (*holds) (void *arg, enum life_guard guard);
    void (*act) (void *arg, enum life_action action);
};

/* Zeros but for 'ops', 'arg', 'level' and 'began_ns'. */
struct life {
    enum life_state state;
    int64_t since_ns;           // when it came into it; 0: since it began
    int64_t began_ns;           // monotonic
    enum log_level level;       // of its transitions
    const struct life_ops *ops;
    void *arg;
};

/* An event, and why it came, or NULL if its name says that: follow the first
 * edge from here whose guard holds, and log a change of the state.  False, and
 * nothing is changed: there is no such edge.
 */
bool life_take (struct life *l, enum life_event event, const char *why);

/* Whether the end has come: by a ROLL, or the loop is to stop. */
bool life_is_over (const struct life *l);

const char *life_state_name (enum life_state s);
const char *life_event_name (enum life_event e);
const char *life_guard_name (enum life_guard g);        // "": always
const char *life_action_name (enum life_action a);      // "": none
const struct life_edge *life_edges (size_t *n);

#endif
