/* cli/run/run_wrap.h - a wrapper of one COMMAND, between its files
 *
 * run_wrap.c      its life
 * run_wrap_end.c  what it tells when it ends
 */
#ifndef ROLLCALL_RUN_RUN_WRAP_H
#define ROLLCALL_RUN_RUN_WRAP_H

#include "run/run.h"

#include "model/roster.h"

struct wrap {
    struct run *r;
    pid_t child;                // 0: has ended
    int control;                // to the agent, -1: none
    int signals;                // signalfd
    int aggregator;             // pidfd, -1
    int64_t began_ns, kill_ns;  // when to SIGKILL; 0: not planned
    int64_t ended_ns, over_ns;
    int64_t doubt_ns;           // until when nobody is told that COMMAND has
                                // ended, since all may have been; 0: not so
    int64_t built_ns;           // when the aggregator ended with a result; 0: not
    int64_t asked_ns;           // the agent, last
    int64_t silent_ns;          // since when it owes an answer, 0: it does not
    struct command_end end;     // of COMMAND
    int status;                 // of COMMAND: exit status or 128 + signal
    bool stopped;               // it was ended on request
    bool launcher_ended;        // the launcher wants us to go
    bool noted;                 // the agent knows that COMMAND has ended
    bool over;                  // the agent says that the job is
    unsigned restarts;          // of the agent
    bool given_up;              // nobody answers who could say so
    char undelivered[512];      // what the agent says of it, if anything
    char why[512];              // in words, for the roll
    int64_t since_ns;           // wall clock, before COMMAND began
    struct run_given given;     // to us, for COMMAND
};

/* Say what came of the job, if that is for this wrapper to say; the status that
 * the launcher is to see.
 */
int wrap_end (const struct wrap *w);

#endif
