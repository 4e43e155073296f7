/* cli/run/run_wrap_states.h - the life of a wrapper: states and events
 *
 * Its table is drawn in doc/states.md.
 */
#ifndef ROLLCALL_RUN_RUN_WRAP_STATES_H
#define ROLLCALL_RUN_RUN_WRAP_STATES_H

#include "base/states.h"

enum wrap_state {
    WRAP_STARTING,              // the agent is joined, and COMMAND started
    WRAP_RUNNING,               // COMMAND runs
    WRAP_ENDING,                // it was told to end
    WRAP_IN_DOUBT,              // it has ended by a signal that may be for all:
                                // nobody is told yet
    WRAP_ENDED,                 // the agent is told so
    WRAP_NOTED,                 // it has noted that
    WRAP_BUILT,                 // the aggregator has ended with a result; the
                                // agent removes captures, and says so
    WRAP_OVER,                  // the agent says that the job is; then the
                                // aggregator ends
    WRAP_GIVEN_UP,              // nobody answers who could say so
    WRAP_LEFT,                  // there is nothing left to wait for
    WRAP_STATES
};

enum wrap_event {
    WRAP_STARTED,
    WRAP_STOP,                  // the agent wants COMMAND ended
    WRAP_SIGNAL,                // SIGTERM and the like has come
    WRAP_COMMAND_ENDED,
    WRAP_DOUBT_OVER,            // whom the signal was for is known, or enough
                                // time has passed
    WRAP_WAS_NOTED,
    WRAP_ROLL,                  // the agent has said it
    WRAP_RESULT,                // there is one
    WRAP_SILENCE,               // for longer than a busy node explains
    WRAP_LOOK,                  // is there anything to wait for?
    WRAP_EVENTS
};

enum wrap_guard {
    WRAP_ALWAYS,
    WRAP_IF_FOR_ALL,            // the signal may be for all, and was not ours
    WRAP_IF_SENT_AWAY,          // the launcher wants us to go, and nothing of
                                // the step goes with us
    WRAP_IF_SPARE,              // others tell the result and guard the agent,
                                // and no launcher's abort is to be held off
    WRAP_IF_UNHEARD,            // the same, and the agent has had its time
    WRAP_IF_RELEASED,           // the agent is gone, or takes too long
    WRAP_IF_SAID,               // so has the aggregator, if it is ours
    WRAP_GUARDS
};

enum wrap_action {
    WRAP_NO_ACTION,
    WRAP_TERMINATE,             // COMMAND
    WRAP_SAY_ENDING,            // to the agent: it is to end, and why
    WRAP_SAY_ENDED,             // to the agent: how it has
    WRAP_ACTIONS
};

extern const struct states wrap_states;

#endif
