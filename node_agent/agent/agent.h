/* node_agent/agent/agent.h - the process that watches and ships, one per node
 *
 * This folder: the agent's life.  Captures are found, settled, analysed, sealed
 * and released; wrappers report; the agent ends.
 */
#ifndef ROLLCALL_AGENT_AGENT_H
#define ROLLCALL_AGENT_AGENT_H

#include "offline_analysis/analyser.h"
#include "base/pack.h"
#include "options/options.h"
#include "store/space.h"

struct agent_options {
    const char *aggregator;     // endpoint
    const char *aggregators;    // list of several or its file, NULL: that one
    int64_t copies;             // to so many of them
    int64_t spread;             // raw files of larger jobs go by host; 0: none
    int64_t away_ns;            // silent for so long: another one stands in
    const char *job;            // the job of the captures that are sent
    bool divided;               // no id given: captures may be of several jobs
    const char *state;          // where the spool goes
    struct option_list watch;   // directories
    bool once;                  // ship what exists, then end
    bool raw;                   // send raw files, too
    bool owner;                 // with their owners
    const char *key;            // file of our own pair, NULL: none
    const char *server_key;     // the aggregator's: a file, or the key
    bool insecure;              // no encryption, even to other hosts
    struct space_limit spool_quota, disk_floor;
    const char *when_full;      // block, drop-oldest-shipped, refuse
    const char *release;        // never, shipped, after=TIME, when-full
    const char *cpu_budget;     // "1%" of all CPUs of the node
    int64_t backlog_limit_ns;   // how long captures wait in the idle class
    int64_t max_rate;           // bytes a second on the wire; 0: any
    const char *compress;       // of raw files: lz4, zstd, none; and as number
    enum chunk_codec codec;
    bool hold;                  // pause while a capture is collected
    bool release_rows_only;     // release also without raw files
    int64_t quiet_ns;           // finished when unchanged for so long
    struct analyser_settings analyse;   // of captures that were never analysed
    // of one run (rollcall run)
    const char *run_dir;        // control socket and spool are here
    bool finish;                // the run is over: deliver what it left
    int64_t world_size, max_ranks;
    int64_t deadline_ns;        // after the last COMMAND has ended
    bool no_roll;               // the aggregator is a service: sends no ROLL
    int64_t local_size;         // ranks on this host; 0: unknown
};

/* Run until done, or for ever as a service.  Returns the program's exit status.
 */
int agent_run (const struct agent_options *opt);

#endif
