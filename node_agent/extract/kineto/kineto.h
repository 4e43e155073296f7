/* node_agent/extract/kineto/kineto.h - a trace of torch.profiler (Kineto),
 * being read
 *
 * Private to the files kineto_*.c and read_kineto.c.  One pass over the trace
 * keeps what the tables need, in few bytes for each event; what it means is
 * worked out behind the last event, because the header may come there.
 *
 * Events of the device and the calls that launched them go through sorters,
 * and beyond their memory into files.  In memory are kept: 88 bytes for each
 * record of a communication, at most KINETO_RECORDS; some 100 for each op of
 * it; 16 for each stretch of host ops, at most KINETO_STRETCHES; names once, at
 * most KINETO_NAMES.  In all at most KINETO_KEPT_MAX.
 *
 * This folder: traces of torch.profiler, out of which tables are computed.
 */
#ifndef ROLLCALL_EXTRACT_KINETO_KINETO_H
#define ROLLCALL_EXTRACT_KINETO_KINETO_H

#include "extract/input/kineto_header.h"
#include "extract/input/trace_text.h"
#include "extract/kineto/kineto_kinds.h"
#include "extract/rows/intervals.h"
#include "extract/rows/times.h"
#include "extract/sink/source.h"

#include "base/buf.h"
#include "base/map.h"
#include "store/sorter.h"

#define KINETO_KEPT_MAX (64u << 20)     // bytes
#define KINETO_RECORDS 250000u          // and so many kernels that communicate:
                                        // of a trace of some 10 GB
#define KINETO_DUR_MAX (INT64_C (7) * 86400 * 1000000000)       // ns
#define KINETO_NAMES 8192u              // different ones of a kind
#define KINETO_STRETCHES (1u << 18)
#define KINETO_LISTED 30                // elements; torch cuts longer lists
#define KINETO_NONE UINT32_MAX
#define KINETO_NO_STEP UINT16_MAX
#define KINETO_CUT UINT16_MAX
#define KINETO_SHARES 8u

/* What a collective is, by its name anywhere. */
enum coll {
    COLL_NONE,
    COLL_ALL_REDUCE,
    COLL_ALL_GATHER,
    COLL_REDUCE_SCATTER,
    COLL_ALL_TO_ALL,
    COLL_BROADCAST,
    COLL_REDUCE,
    COLL_GATHER,
    COLL_SCATTER,
    COLL_SEND,
    COLL_RECEIVE,
    COLL_SEND_RECEIVE,
    COLL_BARRIER,
    COLL_OTHER,
};

/* ---- what is kept ---- */

struct gpu_event {
    int64_t start, dur;         // ns, without the base
    uint32_t correlation, external;
    uint32_t record;            // index, or KINETO_NONE
    uint16_t step;              // index, or KINETO_NO_STEP
    uint8_t kind, coll;         // enum gpu_kind, enum coll by its name, and
                                // by its record behind kineto_resolve
    bool launched;              // by a call that is in the trace; without
                                // steps, by one that may be before it
};

/* One of those that communicates, in its step. */
struct comm_kernel {
    int64_t start, dur, order;  // ns; 'order' is that of launching
    uint32_t record;
    uint16_t step;
    uint8_t coll;
};

struct launch {
    int64_t ts;
    uint32_t correlation, tid;  // 'tid' is a hash of it
};

/* Arguments of a communication; or a host range that says only its kind. */
struct comm_record {
    int64_t start, end;         // of the host; 0 for a kernel's own
    int64_t in, out;            // elements, -1: not said
    int64_t second;             // of "Input Dims", -1: there is none
    int64_t seq;                // -1: not said
    uint32_t external, tid;
    uint32_t group;             // index, or KINETO_NONE
    uint32_t splits;            // offset in k->splits, or KINETO_NONE
    uint32_t ranks;             // of its group, by its tensors; 0: not known
    int32_t peer;               // of send and receive, -1: not said
    uint16_t nsplits;           // KINETO_CUT: the list was cut
    uint8_t size;               // bytes of an element, 0: not known
    uint8_t coll;
    bool args;                  // it has arguments
    bool op;                    // it is the op itself, on the host
    uint8_t range;              // enum comm_range
};

#define KINETO_STEP_ID 24       // bytes, whole words of map.h

struct step {
    char id[KINETO_STEP_ID];
    int64_t start, end;         // on the host; INT64_MIN: not there
    int64_t device_start, device_end;       // the same
    bool wanted;
    struct interval_union computing, communication, both, work, all;
    int64_t bubble;             // ns of receiving
};

/* Sums of one name. */
struct named {
    uint64_t hash;              // the key
    uint32_t at;                // of the name, in the table's bytes
    uint8_t what;               // the caller's
    uint64_t count;
    int64_t total, min, max, first;         // ns
};

struct named_table {
    struct map names;
    struct buf bytes;
    struct named others;        // of names that had no room
};

/* ---- the whole ---- */

struct kineto {
    struct source *src;
    struct err *err;
    unsigned want;              // tables
    struct trace_text text;
    struct kineto_header header;
    struct sorter *events_by_call;      // launches, too; see kineto_assign.c
    struct sorter *events_by_start;
    struct comm_kernel *comms;  // by start
    struct comm_record *records;
    struct step *steps;
    struct interval *stretches; // in which host ops ran
    struct kineto_group *groups;
    int64_t *splits;            // elements for each rank
    size_t ngpu, nlaunches, ncomms, nrecords, nsteps, nstretches, ngroups,
        nsplits;
    size_t comms_cap, records_cap, steps_cap, stretches_cap,
        groups_cap, splits_cap;
    size_t kept;                // bytes
    uint64_t ncalls, ncomm_kernels;     // read; calls: with a correlation
    uint64_t nlaunched;         // events of the device whose call is here
    uint64_t noutside, nunlaunched;     // of no step; of them without a call
    struct {
        uint32_t ranks;         // 0: no more
        uint64_t ops;
    } shares[KINETO_SHARES];    // sizes of groups that only tensors tell
    struct step all_steps;      // sums over all that are wanted
    struct step outside;        // and over what is of no step
    struct named_table kernels, ranges;
    struct map step_ids;        // as steps are, before they are sorted
    int64_t device;             // -1: not known
    int64_t pid;                // of the first op of the host, 0: not known
    int64_t first, last;        // ns, of all events; last < first: none
    uint64_t events, bad, implausible, lost;    // lost: no room
    uint64_t bad_at;            // byte of the first bad one
    bool full;                  // KINETO_KEPT_MAX was reached
    bool many_stretches;        // so was KINETO_STRETCHES
    bool host_only;             // there is no device
    bool own_clock;             // its times are not those since 1970
};

/* Room for one more element of 'size' bytes; NULL without memory (which stops
 * the capture) or above KINETO_KEPT_MAX (which is counted).
 */
void *kineto_reserve (struct kineto *k, void *array, size_t *n, size_t *cap,
                      size_t size);

/* kineto_events.c: one event, which is the object at 'p'.  The place behind it;
 * NULL as in trace_text.h.
 */
const char *kineto_event (struct kineto *k, const char *p, const char *end);

/* kineto_comm.c */
enum coll kineto_coll (struct span name);       // of an op or a kernel
const char *kineto_coll_name (enum coll c);     // "allReduce"
bool kineto_coll_p2p (enum coll c);

/* The arguments of a communication ('args' is behind their brace) into 'r';
 * false if there are none.
 */
bool kineto_comm_args (struct kineto *k, const char *args, const char *end,
                       struct comm_record *r);

/* Of a call of torch's: what its "Input Dims" tell of output and input, and of
 * how many ranks there are, which is how many times the one has the other.
 */
void kineto_comm_call (struct comm_record *r);

/* MB that a rank must move (nccl-tests' bus bandwidth times its time), NaN if
 * it is not known; 'n' is the size of the group, or 0 or less.  '*whole' is the
 * op's size, which may be known without that of the group.
 */
double kineto_comm_mb (const struct comm_record *r, int64_t n, double *whole);

/* kineto_groups.c: work out members and keys, and give them to the capture. */
bool kineto_groups (struct kineto *k);
const struct kineto_group *kineto_group (const struct kineto *k,
                                         const struct comm_record *r);
bool kineto_group_of_args (struct kineto *k, struct span name,
                           struct span desc, struct span ranks, int64_t size,
                           int64_t first, int64_t stride, uint32_t *ret);

/* kineto_names.c */
void kineto_name_add (struct kineto *k, struct named_table *t,
                      struct span name, uint8_t what, int64_t start,
                      int64_t dur);
void kineto_names_fini (struct named_table *t);
bool kineto_emit_kernels (struct kineto *k);
bool kineto_emit_ranges (struct kineto *k);

/* kineto_assign.c: which event is of which step.  Keep an event of the device
 * or a launch; behind the last of them kineto_assign sorts the steps, and then
 * kineto_next_event gives the events by their starts: 1, 0 behind the last one,
 * negative when the capture is stopped.  '*order' is that of launching.
 */
void kineto_keep_event (struct kineto *k, const struct gpu_event *e);
void kineto_keep_launch (struct kineto *k, const struct launch *l);
bool kineto_assign (struct kineto *k);
int kineto_next_event (struct kineto *k, struct gpu_event *e, int64_t *order);
uint16_t kineto_host_step (const struct kineto *k, int64_t ts);

/* kineto_records.c: find the arguments of a kernel that communicates, and let
 * its kind be theirs; 'l' has launched it, or NULL.  NULL without memory, which
 * stops the capture.
 */
struct kineto_records *kineto_records_open (struct kineto *k);
void kineto_resolve (const struct kineto_records *o, struct gpu_event *e,
                     const struct launch *l);
void kineto_records_close (struct kineto_records *o);

/* kineto_ops.c: without a device, or without its communication, let ranges of
 * the host be the ops.
 */
void kineto_choose_ops (struct kineto *k);

/* kineto_steps.c: what the steps are made of. */
bool kineto_sum_steps (struct kineto *k);
bool kineto_emit_steps (struct kineto *k);
bool kineto_emit_extras (struct kineto *k);
bool kineto_emit_info (struct kineto *k);

/* kineto_ops.c: the three tables of communication. */
bool kineto_emit_ops (struct kineto *k);

/* The time since 1970, in us. */
static inline double kineto_us (const struct kineto *k, int64_t ns)
{
    return time_us_of_text (ns + k->header.base_ns);
}

#endif
