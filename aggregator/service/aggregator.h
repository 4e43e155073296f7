/* aggregator/service/aggregator.h - the process that receives and builds */
#ifndef ROLLCALL_SERVICE_AGGREGATOR_H
#define ROLLCALL_SERVICE_AGGREGATOR_H

#include "archive/retention.h"
#include "base/err.h"
#include "builder/derive_options.h"
#include "object_store/object_store.h"
#include "options/options.h"
#include "service/operators.h"
#include "service/quota.h"
#include "store/space.h"

#include <stdbool.h>
#include <stdint.h>

/* Which raw files a service wants, of those that agents may give. */
enum want_policy {
    WANT_ALL,
    WANT_NONE,                  // only what somebody fetches
    WANT_SUSPECTS,              // those of ranks that findings name, and of a
                                // healthy one
};

/* Parse "all", "none" or "suspects"; false for anything else. */
bool aggregator_parse_policy (const char *text, enum want_policy *ret);

struct aggregator_options {
    const char *root;           // ledger, segments, jobs
    const char *listen;         // "tcp://127.0.0.1:7077"
    int64_t listen_fd;          // bound and listening already, or -1
    int64_t threads;            // of a build
    int64_t max_ranks;          // capture_world_max
    const char *only;           // the results to make
    unsigned wanted;            // the same, parsed
    struct derive_options derive;       // of a result
    struct space_limit disk_floor;      // bytes to leave free below root
    const char *keys;           // directory of keys, NULL: the default one,
                                // if it has a server.key
    bool insecure;              // no encryption, even for other hosts
    int64_t agents;             // how many are expected
    int64_t job_gap_ns;         // of a service, as in jobs_divide
    struct option_list keep_days, keep_last, max_size;  // of a service, as text
    struct retention_rules keep;        // the same, parsed
    const char *want_raw;       // of a service: raw files that it wants
    enum want_policy wants;     // the same, parsed
    const char *socket;         // of a service: for all users, or NULL
    struct option_list operator;        // users, and @groups
    struct operators operators; // the same, looked up
    struct option_list quota_user;      // "SIZE", "USER=SIZE"
    struct quotas quotas;       // of a service; users are read from that
    const char *postgres;       // of a service: where to push jobs, or NULL
    const char *cluster;        // what to call the root there, or NULL
    struct object_options store;        // of a service: url, or NULL
    int64_t store_rate;         // bytes/s; 0: no limit
    int64_t store_after_ns;     // then a segment goes there, full or not
    int64_t cache_size;         // bytes of segments here; 0: no limit
    // of one run (rollcall run); a service has none of these
    const char *job;
    const char *out;            // where cluster_analysis_output goes
    bool foreign;               // 'out' may be another user's
    const char *run_dir;        // where result.json goes
    int64_t world_size;         // 0: agents will say
    int64_t deadline_ns;        // after the last COMMAND has ended
    bool raw;                   // put the raw capture tree there too
    const char *note;           // for the summary, or NULL
    int64_t launch_fd;          // a pipe whose other end is closed when no more
                                // ranks will be started, or -1
};

/* Serve until the run is over, or for ever as a service.  Returns the program's
 * exit status; failures have been logged.
 */
int aggregator_serve (const struct aggregator_options *opt);

#endif
