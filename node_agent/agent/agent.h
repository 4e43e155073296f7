/* node_agent/agent/agent.h - the process that watches and ships, one per node
 *
 * This folder: the agent's life: captures found, settled, analysed, sealed,
 * released; what wrappers say; and when it is over.
 */
#ifndef ROLLCALL_AGENT_AGENT_H
#define ROLLCALL_AGENT_AGENT_H

#include "analyse/analyser.h"
#include "base/options.h"
#include "base/space.h"

struct agent_options {
    const char *aggregator;     // endpoint
    const char *job;            // what captures are sent under
    bool divided;               // its id was not given: they may be of several
    const char *state;          // where the spool goes
    struct option_list watch;   // directories
    bool once;                  // ship what is there, then end
    bool raw;                   // the raw files too
    const char *key;            // file of our own pair, NULL: none
    const char *server_key;     // the aggregator's: a file, or the key
    bool insecure;              // no encryption, wherever it goes
    struct space_limit spool_quota, disk_floor;
    const char *when_full;      // block, drop-oldest-shipped, refuse
    const char *release;        // never, shipped, after=TIME, when-full
    const char *cpu_budget;     // "1%" of all CPUs of the node
    int64_t backlog_limit_ns;   // captures wait so long in the idle class
    int64_t max_rate;           // bytes a second on the wire; 0: any
    bool hold;                  // wait while a capture is collected
    bool release_rows_only;     // also without raw
    int64_t quiet_ns;           // unchanged for so long is finished
    struct analyser_settings analyse;   // captures that never were
    // of one run (rollcall run)
    const char *run_dir;        // control socket and spool are here
    int64_t world_size;
    int64_t deadline_ns;        // after the last COMMAND has ended
    bool no_roll;               // the aggregator is a service: says no ROLL
    int64_t local_size;         // ranks on this host; 0: unknown
};

/* Run until done, or for ever as a service; the program's exit status. */
int agent_run (const struct agent_options *opt);

#endif
