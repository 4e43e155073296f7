/* node_agent/extract/kineto/kineto.h - the state of reading a trace of
 * torch.profiler (Kineto)
 *
 * Private to the files kineto_*.c and read_kineto.c.  One pass over the trace
 * keeps what the tables need, in a few bytes for each event.  The meaning is
 * computed after the last event, because the header may come there.
 *
 * Events of the device and the calls that launched them go through sorters, and
 * beyond their memory into files.  In memory are: 88 bytes for each record of a
 * communication, at most KINETO_RECORDS; about 100 for each op of it; 16 for
 * each stretch of host ops, at most KINETO_STRETCHES; each name once, at most
 * KINETO_NAMES.  In total at most KINETO_KEPT_MAX.
 *
 * This folder: traces of torch.profiler, from which tables are computed.
 */
#ifndef ROLLCALL_EXTRACT_KINETO_KINETO_H
#define ROLLCALL_EXTRACT_KINETO_KINETO_H

#include "extract/input/kineto_header.h"
#include "extract/input/trace_keys.h"
#include "extract/input/trace_text.h"
#include "extract/kineto/kineto_kinds.h"
#include "extract/kineto/kineto_known.h"
#include "extract/rows/intervals.h"
#include "extract/rows/times.h"
#include "extract/sink/source.h"

#include "base/buf.h"
#include "base/map.h"
#include "store/sorter.h"

#define KINETO_KEPT_MAX (64u << 20)     // bytes
#define KINETO_RECORDS 250000u          // and as many kernels that communicate:
                                        // enough for a trace of about 10 GB
#define KINETO_DUR_MAX (INT64_C (7) * 86400 * 1000000000)       // ns
#define KINETO_NAMES 8192u              // different names of a kind
#define KINETO_STRETCHES (1u << 18)
#define KINETO_LISTED 30                // elements; torch truncates longer
                                        // lists
#define KINETO_NONE UINT32_MAX
#define KINETO_NO_STEP UINT16_MAX
#define KINETO_CUT UINT16_MAX
#define KINETO_SHARES 8u

/* The kind of a collective, which its name contains. */
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
    int64_t start, dur;         // ns, relative to the base
    uint32_t correlation, external;
    uint32_t record;            // index, or KINETO_NONE
    uint16_t step;              // index, or KINETO_NO_STEP
    uint8_t kind, coll;         // enum gpu_kind; enum coll by its name, after
                                // kineto_resolve by its record
    bool launched;              // its call is in the trace; without steps it
                                // may be before the trace
};

/* A kernel that communicates, in its step. */
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

/* The arguments of a communication; or a range of the host that only has its
 * kind.
 */
struct comm_record {
    int64_t start, end;         // on the host; 0 for those of a kernel
    int64_t in, out;            // elements, -1: absent
    int64_t second;             // of "Input Dims", -1: there is none
    int64_t seq;                // -1: not said
    uint32_t external, tid;
    uint32_t group;             // index, or KINETO_NONE
    uint32_t splits;            // offset in k->splits, or KINETO_NONE
    uint32_t ranks;             // of its group, computed from tensors; 0: not
                                // known
    int32_t peer;               // of send and receive, -1: absent
    uint16_t nsplits;           // KINETO_CUT: the list was truncated
    uint8_t size;               // bytes of an element, 0: not known
    uint8_t coll;
    bool args;                  // it has arguments
    bool op;                    // it is the op itself, on the host
    uint8_t range;              // enum comm_range
};

#define KINETO_STEP_ID 24       // bytes, a multiple of 8 for map.h

struct step {
    char id[KINETO_STEP_ID];
    int64_t start, end;         // on the host; INT64_MIN: absent
    int64_t device_start, device_end;       // the same
    bool wanted;
    struct interval_union computing, communication, both, work, all;
    int64_t bubble;             // ns of receiving
};

/* Sums of one name. */
struct named {
    uint64_t hash;              // the key
    uint32_t at;                // offset of the name in 'bytes'
    uint8_t what;               // a kind, for the caller
    uint64_t count;
    int64_t total, min, max, first;         // ns
};

struct named_table {
    struct map names;
    struct buf bytes;
    struct named others;        // of names without room
};

/* ---- the whole ---- */

struct kineto {
    struct source *src;
    struct err *err;
    unsigned want;              // tables
    struct trace_text text;
    struct key_predictor event_keys, arg_keys;
    struct kineto_header header;
    struct sorter *events_by_call;      // and launches; see kineto_assign.c
    struct sorter *events_by_start;
    struct comm_kernel *comms;  // by start
    struct comm_record *records;
    struct step *steps;
    struct interval *stretches; // times in which host ops ran
    struct kineto_group *groups;
    int64_t *splits;            // elements for each rank
    size_t ngpu, nlaunches, ncomms, nrecords, nsteps, nstretches, ngroups,
        nsplits;
    size_t comms_cap, records_cap, steps_cap, stretches_cap,
        groups_cap, splits_cap;
    size_t kept;                // bytes
    uint64_t ncalls, ncomm_kernels;     // counts; calls with a correlation
    uint64_t nlaunched;         // events of the device whose call is in the
                                // trace
    uint64_t noutside, nunlaunched;     // of no step; those of them without a
                                        // call
    struct {
        uint32_t ranks;         // 0: end of the list
        uint64_t ops;
    } shares[KINETO_SHARES];    // sizes of groups that only tensors show
    struct step all_steps;      // sums over all wanted steps
    struct step outside;        // and over events of no step
    struct named_table kernels, ranges;
    struct kineto_known known[KINETO_KNOWN];    // kernels and calls
    struct map step_ids;        // ids of steps, before they are sorted
    int64_t device;             // -1: not known
    int64_t pid;                // of the first op of the host; 0: not known
    int64_t first, last;        // ns, of all events; last < first: none
    uint64_t events, bad, implausible, lost;    // lost: no room
    uint64_t bad_at;            // offset of the first bad event
    bool full;                  // KINETO_KEPT_MAX was reached
    bool many_stretches;        // KINETO_STRETCHES was reached
    bool host_only;             // there is no device
    bool own_clock;             // its times are not since 1970
};

/* Make room for one more element of 'size' bytes.  NULL: no memory, which stops
 * the capture, or KINETO_KEPT_MAX is reached, which is counted.
 */
void *kineto_reserve (struct kineto *k, void *array, size_t *n, size_t *cap,
                      size_t size);

/* kineto_events.c: process one event, the object at 'p'.  Returns the position
 * after it, or NULL as in trace_text.h.  Before the first one init is called.
 */
void kineto_events_init (struct kineto *k);
const char *kineto_event (struct kineto *k, const char *p, const char *end);

/* kineto_comm.c */
enum coll kineto_coll (struct span name);       // from the name of an op or
                                                // kernel
const char *kineto_coll_name (enum coll c);     // "allReduce"
bool kineto_coll_p2p (enum coll c);

/* Parse the arguments of a communication into 'r'; 'args' is after their brace.
 * False: there are none.
 */
bool kineto_comm_args (struct kineto *k, const char *args, const char *end,
                       struct comm_record *r);

/* For a call of torch: take the sizes of output and input from its "Input
 * Dims", and the number of ranks, which is their ratio.
 */
void kineto_comm_call (struct comm_record *r);

/* The MB that a rank must move (bus bandwidth of nccl-tests times its time),
 * NaN: not known.  'n' is the size of the group; not above 0: unknown.
 * '*whole' is the size of the op, which may be known without that of the group.
 */
double kineto_comm_mb (const struct comm_record *r, int64_t n, double *whole);

/* kineto_groups.c: compute members and keys, and give them to the capture. */
bool kineto_groups (struct kineto *k);
const struct kineto_group *kineto_group (const struct kineto *k,
                                         const struct comm_record *r);
bool kineto_group_of_args (struct kineto *k, struct span name,
                           struct span desc, struct span ranks, int64_t size,
                           int64_t first, int64_t stride, uint32_t *ret);

/* kineto_names.c: the number of a name, which is added if it is new.
 * KINETO_NONE: it is one of the others, or there is no memory, which stops the
 * capture.  Then add what an event with the name took.
 */
uint32_t kineto_name_number (struct kineto *k, struct named_table *t,
                             struct span name, uint8_t what);
void kineto_name_add (struct named_table *t, uint32_t number, int64_t start,
                      int64_t dur);
void kineto_names_fini (struct named_table *t);
bool kineto_emit_kernels (struct kineto *k);
bool kineto_emit_ranges (struct kineto *k);

/* kineto_assign.c: assign events to steps.  First keep each event of the device
 * and each launch.  After the last one kineto_assign sorts the steps; then
 * kineto_next_event returns the events by start: 1; 0 after the last one;
 * negative: the capture is stopped.  '*order' is the order of launching.
 */
void kineto_keep_event (struct kineto *k, const struct gpu_event *e);
void kineto_keep_launch (struct kineto *k, const struct launch *l);
bool kineto_assign (struct kineto *k);
int kineto_next_event (struct kineto *k, struct gpu_event *e, int64_t *order);
uint16_t kineto_host_step (const struct kineto *k, int64_t ts);

/* kineto_records.c: find the record of a kernel that communicates, and take its
 * kind from that.  'l' has launched it, or NULL.  NULL: no memory, which stops
 * the capture.
 */
struct kineto_records *kineto_records_open (struct kineto *k);
void kineto_resolve (const struct kineto_records *o, struct gpu_event *e,
                     const struct launch *l);
void kineto_records_close (struct kineto_records *o);

/* kineto_ops.c: use ranges of the host as ops if there is no device, or no
 * communication on it.
 */
void kineto_choose_ops (struct kineto *k);

/* kineto_steps.c: compute steps and send their rows. */
bool kineto_sum_steps (struct kineto *k);
bool kineto_emit_steps (struct kineto *k);
bool kineto_emit_extras (struct kineto *k);
bool kineto_emit_info (struct kineto *k);

/* kineto_ops.c: send the three tables of communication. */
bool kineto_emit_ops (struct kineto *k);

/* A time since 1970 in us. */
static inline double kineto_us (const struct kineto *k, int64_t ns)
{
    return time_us_of_text (ns + k->header.base_ns);
}

#endif
