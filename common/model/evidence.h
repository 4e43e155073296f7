/* common/model/evidence.h - a capture's evidence of its job, rank and host
 *
 * Facts from the capture itself, collected while its rows are read.
 * aggregator/jobs uses them to find captures of one job, aggregator/select to
 * verify ranks; doc/jobs.md has the rules, and the source of each fact.
 */
#ifndef ROLLCALL_MODEL_EVIDENCE_H
#define ROLLCALL_MODEL_EVIDENCE_H

#include "base/err.h"
#include "base/map.h"
#include "json/json.h"
#include "model/job_origin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EVIDENCE_TEXT_MAX 256
#define EVIDENCE_KEY_MAX 32             // of a host: 16 hex digits
#define EVIDENCE_HASH_MAX 24            // decimal digits of 64 bits
#define EVIDENCE_GROUPS_MAX 4096        // groups of one rank
#define EVIDENCE_SPANS_MAX 8192         // steps of one capture
#define EVIDENCE_STEP_MAX 256           // bytes of a step's id, with the NUL
// (step, group) pairs whose ops are kept, and ops of each: those with the lowest
// hashes, so that captures that have the same ones keep the same ones
#define EVIDENCE_SAMPLES_MAX 12
#define EVIDENCE_OPS_MAX 16

#define EVIDENCE_UNKNOWN (-1)           // of what cannot be below 0
#define EVIDENCE_SEVERAL (-2)           // of 'own' below

/* Whether two names certainly mean different things; "" is an unknown name. */
static inline bool evidence_differ (const char *a, const char *b)
{
    return *a && *b && strcmp (a, b) != 0;
}

/* A group that ops of this capture used. */
struct evidence_group {
    char name[EVIDENCE_HASH_MAX];       // as the tables have it
    int32_t own;                // this capture's position in it (the source of
                                // its links), or one of the two above
    int32_t highest;            // position that its links show, -1: none
};

/* The time of a step, on the host if known, else of its ops; by the wall clock
 * of the capture's host, if there is one.
 */
struct evidence_span {
    char *step;                 // its id, "" for a nameless one
    int64_t start_ns, end_ns;
    bool host;                  // of the host
    bool device;                // StepTraceTime has it, or ops do
};

struct evidence_op {
    uint64_t key;               // hash of its name
    int64_t end_ns;
    int64_t elapse_ns;
};

/* Symmetric collectives (all members end together) of a step in a group. */
struct evidence_sample {
    uint64_t key;               // hash of step and group
    char group[EVIDENCE_HASH_MAX];
    uint64_t names;             // sum of the keys of all of them: equal sets
    uint32_t count;             // of all of them
    uint32_t n;                 // that are kept, by key
    struct evidence_op *ops;    // owned
};

/* The rank from each source that may name it; EVIDENCE_UNKNOWN if one does not.
 */
struct evidence_ranks {
    int64_t info_name;          // profiler_info_N.json
    int64_t info;               // rank_id in it
    int64_t db_name;            // ascend_pytorch_profiler_N.db
    int64_t db_map;             // RANK_DEVICE_MAP.rankId
    int64_t args;               // distributed_args.rank
    int64_t group;              // global_ranks[group_rank] of the world's group
    int64_t trace;              // distributedInfo.rank
};

/* As configured in the profiler; EVIDENCE_UNKNOWN if not recorded. */
struct evidence_schedule {
    int64_t skip_first, wait, warmup, active, repeat;
};

struct evidence {
    char job[EVIDENCE_TEXT_MAX];        // id that `run` or the agent gave
    char host_name[EVIDENCE_TEXT_MAX];  // as the capture says itself, not its
                                        // directory's name; "": it does not
    char host_key[EVIDENCE_KEY_MAX];    // of the host that the agent read it
                                        // on (world/host.h), "": no agent
    struct job_origin *about;   // that a launch or the agent knows; or NULL
    int64_t pid;                // of the profiled process, 0: unknown
    int64_t boot_ns;            // of its host, since 1970; 0: unknown
    int64_t mono_start_ns, mono_end_ns; // the window, since boot; 0: unknown
    int64_t world_at_least;     // as positions in groups show, 0: nothing
    struct evidence_ranks ranks;
    struct evidence_schedule schedule;
    struct evidence_group *groups;      // by name
    uint32_t ngroups;
    struct evidence_span *spans;        // by first appearance
    uint32_t nspans;
    struct map by_step;         // hashes of steps' ids, as spans are
    struct evidence_sample *samples;    // by key
    uint32_t nsamples;
};

void evidence_init (struct evidence *e);
void evidence_fini (struct evidence *e);        // also of a zeroed one

/* The job's origin, for writing; NULL without memory. */
struct job_origin *evidence_about (struct evidence *e);

/* The entry of a group or step, created if needed; NULL without memory or above
 * a limit.  Valid until the next call that creates one.
 */
struct evidence_group *evidence_group_at (struct evidence *e,
                                          const char *name, size_t n);
struct evidence_span *evidence_span_at (struct evidence *e, const char *step,
                                        size_t n);

/* An existing entry, or NULL. */
const struct evidence_span *evidence_find_span (const struct evidence *e,
                                                const char *step);

/* Record a symmetric collective.  'step' is an id.  0 or -ENOMEM. */
int evidence_note_op (struct evidence *e, const char *step, size_t nstep,
                      const char *group, const char *name, size_t nname,
                      int64_t end_ns, int64_t elapse_ns);

/* Forget all of these. */
void evidence_forget_ops (struct evidence *e);

/* A hash that is the same on every machine; 0 to begin with. */
uint64_t evidence_hash (uint64_t seed, const char *text, size_t n);

/* Widen a span. */
void evidence_widen (struct evidence_span *s, int64_t start_ns,
                     int64_t end_ns);

/* Convert to and from a shipment's metadata (doc/format-shipment.md).  Reading
 * fails with -EBADMSG for unknown members or values out of bounds.
 */
void evidence_to_json (const struct evidence *e, struct json *parent);
int evidence_from_json (struct evidence *e, const struct json *j,
                        struct err *err);

#endif
