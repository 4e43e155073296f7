/* cli/run/run_wrap.h - a wrapper of one COMMAND, between its files
 *
 * Each file calls only those above it in this list:
 *
 *   run_wrap_states.c  the table of its life
 *   run_wrap_end.c     what it tells when it ends
 *   run_wrap.c         its life
 */
#ifndef ROLLCALL_RUN_RUN_WRAP_H
#define ROLLCALL_RUN_RUN_WRAP_H

#include "run/run.h"
#include "run/run_wrap_states.h"

#include "model/roster.h"
#include "net/message.h"

struct wrap {
    struct run *r;
    struct state state;         // of wrap_states
    pid_t child;                // COMMAND; 0: it has ended
    int control;                // connection to the agent; -1: none
    int signals;                // signalfd
    int aggregator;             // pidfd, -1
    int64_t began_ns, kill_ns;  // when to SIGKILL; 0: not planned
    int64_t ended_ns;
    int64_t over_ns;            // when the job was found to be over; 0: not yet
    int64_t built_ns;           // when the aggregator ended with a result, or 0
    int64_t asked_ns;           // when the agent was last asked
    int64_t silent_ns;          // since when its answer is due; 0: none is
    bool wait_said;             // what is waited for, and how long
    struct command_end end;     // of COMMAND
    int status;                 // of COMMAND: exit status or 128 + signal
    bool stopped;               // COMMAND was ended on request
    bool launcher_ended;        // the launcher wants us to end
    unsigned restarts;          // of the agent
    char undelivered[MESSAGE_TEXT_MAX]; // what the agent says is undelivered, or ""
    char why[512];              // in words, for the roll
    int64_t since_ns;           // wall clock, before COMMAND began
    struct run_given given;     // given to us, to be restored for COMMAND
};

/* Print the job's result, if this wrapper has to; returns the status for the
 * launcher.
 */
int wrap_end (const struct wrap *w);

#endif
