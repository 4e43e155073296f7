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
    WRAP_ENDING,                // COMMAND was told to end
    WRAP_IN_DOUBT,              // a signal ended COMMAND and may be meant for
                                // all: nobody is told yet
    WRAP_ENDED,                 // the agent was told that COMMAND ended
    WRAP_NOTED,                 // the agent has noted that
    WRAP_BUILT,                 // the aggregator has ended with a result; the
                                // agent removes captures, and says so
    WRAP_OVER,                  // the agent says that the job is over; the
                                // aggregator then ends
    WRAP_GIVEN_UP,              // nobody answers who could say that it is over
    WRAP_LEFT,                  // there is nothing left to wait for
    WRAP_STATES
};

enum wrap_event {
    WRAP_STARTED,
    WRAP_STOP,                  // the agent wants COMMAND ended
    WRAP_SIGNAL,                // SIGTERM or the like has arrived
    WRAP_COMMAND_ENDED,
    WRAP_DOUBT_OVER,            // the signal's target is known, or enough time
                                // has passed
    WRAP_WAS_NOTED,
    WRAP_ROLL,                  // the agent has sent the roster
    WRAP_RESULT,                // there is a result
    WRAP_SILENCE,               // longer than a busy node explains
    WRAP_LOOK,                  // check whether anything is left to wait for
    WRAP_EVENTS
};

enum wrap_guard {
    WRAP_ALWAYS,
    WRAP_IF_FOR_ALL,            // the signal may be for all, and we sent none
    WRAP_IF_SENT_AWAY,          // the launcher wants us to end, which does not
                                // end the rest of the step
    WRAP_IF_SPARE,              // others report the result and guard the agent,
                                // and there is no launcher's abort to delay
    WRAP_IF_UNHEARD,            // the same, and the agent has had its time
    WRAP_IF_RELEASED,           // the agent is gone, or takes too long
    WRAP_IF_SAID,               // the same for the aggregator, if it is ours
    WRAP_GUARDS
};

enum wrap_action {
    WRAP_NO_ACTION,
    WRAP_TERMINATE,             // COMMAND
    WRAP_SAY_ENDING,            // tell the agent that COMMAND has to end, why
    WRAP_SAY_ENDED,             // tell the agent how COMMAND has ended
    WRAP_ACTIONS
};

extern const struct states wrap_states;

#endif
