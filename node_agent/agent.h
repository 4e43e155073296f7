/* node_agent/agent.h - the process that watches and ships, one per node */
#ifndef ROLLCALL_AGENT_AGENT_H
#define ROLLCALL_AGENT_AGENT_H

#include "base/options.h"

struct agent_options {
    const char *aggregator;     // endpoint
    const char *job;
    const char *state;          // where the spool goes
    struct option_list watch;   // directories
    bool once;                  // ship what is there, then end
    bool raw;                   // the raw files too
    bool insecure;              // may connect beyond loopback
    int64_t quiet_ns;           // unchanged for so long is finished
    // of one run (rollcall run)
    const char *run_dir;        // control socket and spool are here
    int64_t world_size;
    int64_t deadline_ns;        // after the last COMMAND has ended
};

/* Run until done, or for ever as a service; the program's exit status. */
int agent_run (const struct agent_options *opt);

#endif
