/* node_agent/extract/timeline/timeline.h - the state of reading a timeline
 *
 * Private to this folder.  Of each event at most a few bytes are kept, of most
 * events none (doc/formats.md, "trace_view.json"):
 *
 *   steps       host and device range; at most TIMELINE_STEPS_MAX
 *   launches    those whose kernel was not found yet (timeline_flows.h)
 *   kernels     about the last 4,096, to be matched with flows; if a missed one
 *               decides where a step ends, the files are read again for such
 *               kernels, at most twice
 *   rows        16 bytes for each overlap row, at most TIMELINE_ROWS_MAX; if
 *               there are more, the files are read once more, and rows are
 *               added to their steps immediately
 *   ops, tasks  of communication: 32 and 40 bytes, at most TIMELINE_OPS_MAX and
 *               TIMELINE_TASKS_MAX; tasks beyond TIMELINE_TASKS_KEPT are in a
 *               file (sorter.h)
 *
 * This folder: timelines of torch_npu, MindSpore and msprof, from which tables
 * are computed.
 */
#ifndef ROLLCALL_EXTRACT_TIMELINE_TIMELINE_H
#define ROLLCALL_EXTRACT_TIMELINE_TIMELINE_H

#include "base/map.h"
#include "extract/rows/step_ranges.h"
#include "extract/sink/source.h"
#include "extract/timeline/timeline_flows.h"
#include "extract/timeline/trace_scan.h"
#include "store/sorter.h"

#define TIMELINE_PROCESSES_MAX 4096u
#define TIMELINE_THREADS_MAX 65536u     // of communication
#define TIMELINE_ROWS_MAX (1u << 21)    // 32 MiB
#define TIMELINE_OPS_MAX (1u << 18)     // real files of 2 GB have 10,000
#define TIMELINE_TASKS_MAX (1u << 24)   // two sorters' files of 768 MiB
#define TIMELINE_TASKS_KEPT (1u << 18)  // 10 MiB
#define TIMELINE_OP_TASKS_MAX (1u << 18)        // of one op
#define TIMELINE_NAMES_MAX (16u << 20)  // bytes of the ops' names
#define TIMELINE_NS_MAX INT64_C (4000000000000000000)   // year 2096

enum timeline_class {
    PROCESS_OTHER,
    PROCESS_DEVICE,             // has kernels, to which flows lead
    PROCESS_OVERLAP,
    PROCESS_COMM,
};

enum overlap_kind {
    OVERLAP_COMPUTING, OVERLAP_COMMUNICATION, OVERLAP_NOT_OVERLAPPED,
    OVERLAP_FREE, OVERLAP_KINDS
};

/* The sums of the overlap rows of one device and step, in ns. */
struct timeline_sum {
    bool any;
    int64_t sum[OVERLAP_KINDS];
    int64_t start, end;         // of all rows and receiving ops
    int64_t first;              // start of the first row that computes or
                                // communicates
    int64_t bubble;
};

struct overlap_row {
    int64_t start;
    int64_t dur_kind;           // ns << 2 | kind
};

struct timeline_process {
    uint64_t pid;
    enum timeline_class class;
    bool named, npu, seen;      // seen: it had events before its name was known
    int64_t device;             // -1: not in the label
    struct overlap_row *rows;
    uint32_t nrows;
    struct timeline_sum *sums;  // one for each step; one if there are no steps
};

struct timeline_task {
    int64_t start, size;
    double dur;                 // ns, with its fraction
    int32_t src, dst;           // as in struct comm_task
    uint8_t kind, transport, link;
};

struct timeline_op {
    int64_t start;
    double dur;                 // ns, with its fraction
    uint32_t name, name_size;   // in 'names'
    uint32_t thread;
};

struct timeline_thread {
    uint64_t pid, tid;          // the key
    char name[TRACE_TEXT_MAX];
    struct timeline_task *tasks;
    uint32_t ntasks;
    uint32_t begun;             // where the last search among them ended
};

/* A kernel or a flow to one, while it waits for the other (timeline_kernels.c).
 */
struct timeline_kernel {
    uint64_t pid, tid;
    uint64_t flow;              // of a flow: its id
    int64_t start, dur;
    enum {
        KERNEL_NONE, KERNEL_WAITS, KERNEL_FLOW, KERNEL_MET
    } what;
};

#define TIMELINE_KERNELS 4096u  // slots, a power of two

struct timeline {
    struct source *src;
    struct trace_scan scan;
    struct trace_event event;
    struct flows flows;
    struct timeline_process *processes;
    uint32_t nprocesses, last_process;
    struct map threads;
    uint32_t last_thread;       // its number
    struct timeline_op *ops;
    uint32_t nops;
    char *names;
    size_t names_used, names_cap;
    struct timeline_kernel *kernels;        // the last ones
    struct timeline_kernel *sought;         // kernels of launches that decide
    uint32_t nsought, sought_cap;
    struct step_range *ranges;  // of steps on the device
    uint32_t nranges;
    uint64_t rows, tasks;
    struct sorter *log;         // tasks beyond those in memory, or NULL
    struct err why;             // the error of the log
    struct {
        uint64_t n;
        int64_t total, min, max, first;         // ns
    } gc;                       // garbage collections of Python
    int64_t host_first;         // the earliest cpu_op; INT64_MAX: none
    uint64_t impossible;        // events with impossible times
    bool late;                  // a process was named after its events
    bool overflow;              // rows were skipped
    bool summing;               // second pass: ranges are known
    bool launches;              // there were flows
    bool evicted;               // a kernel or its flow came too late to be
                                // matched
    bool seeking;               // another pass, for kernels that decide
    bool making;                // another pass, to make overlap rows
    uint64_t unclassified;      // tasks of unknown kind
    const char *limit;          // which limit was exceeded, or NULL
    uint64_t limit_at;          // at which byte
};

static inline struct timeline_thread *timeline_thread (const struct timeline *t,
                                                       uint32_t i)
{
    return (struct timeline_thread *)t->threads.records + i;
}

int timeline_init (struct timeline *t, struct source *src);
void timeline_fini (struct timeline *t);

/* Drop everything but processes, names of threads and steps, for another pass.
 */
void timeline_restart (struct timeline *t);

/* Process t->event.  Returns 0; -ENOMEM; or an error of the file of tasks, with
 * t->why.
 */
int timeline_event (struct timeline *t);

/* Whether the arguments of events of a process are wanted (struct trace_scan).
 */
bool timeline_wanted (void *arg, uint64_t pid);

/* Keep a row of a process.  Beyond the limit t->overflow is set.  Returns 0 or
 * -ENOMEM.
 */
int timeline_keep_row (struct timeline *t, struct timeline_process *p,
                       const struct overlap_row *row);

/* Get both times of an event.  False: they are absent or impossible. */
static inline bool timeline_times (const struct trace_event *e,
                                   int64_t *start, int64_t *dur)
{
    return trace_time_ns (&e->ts, start) && trace_time_ns (&e->dur, dur) &&
           *start <= TIMELINE_NS_MAX && *dur <= TIMELINE_NS_MAX / 4;
}

/* Record the first limit that was exceeded, and where.  Returns 0. */
static inline int timeline_too_much (struct timeline *t, const char *what)
{
    if (!t->limit) {
        t->limit = what;
        t->limit_at = scan_offset (&t->scan.s);
    }
    return 0;
}

/* ---- kernels and the flows to them (timeline_kernels.c) ---- */

/* Record a kernel, or an op, which is t->event. */
void timeline_note_kernel (struct timeline *t, int64_t start, int64_t dur);

/* Record either end of a flow.  Returns 0 or -ENOMEM. */
int timeline_note_flow (struct timeline *t);

/* After a pass: 1 if another one is needed, in which timeline_event only looks
 * for kernels of launches that decide where a step ends; 0; or -ENOMEM.  Call
 * it at most twice.
 */
int timeline_seek (struct timeline *t);
int timeline_seek_event (struct timeline *t, const struct timeline_process *p);

/* ---- steps (timeline_steps.c) ---- */

#define TIMELINE_NO_STEP UINT32_MAX
#define TIMELINE_SUMS_MAX (1u << 20)    // devices times steps

/* Set the device ranges of steps, and add up the rows that were kept.  Skipped
 * ones (overflow) are added by timeline_add_row in another pass.  Returns 0 or
 * -ENOMEM.
 */
int timeline_add_up (struct timeline *t);

/* The first part of that: afterwards timeline_step_of works.  Returns 0 or
 * -ENOMEM.
 */
int timeline_ranges (struct timeline *t);

/* Add a row to the steps in which it begins. */
void timeline_add_row (struct timeline *t, struct timeline_process *p,
                       const struct overlap_row *r);

/* The step of an op: the first in which it begins; if there is only one, that.
 * 0 without steps, or TIMELINE_NO_STEP.
 */
uint32_t timeline_step_of (const struct timeline *t, int64_t start);

/* StepTraceTime and StepExtra; false when the source has stopped. */
bool timeline_step_rows (struct timeline *t, unsigned want, struct err *err);

/* Send UserRange of garbage collections.  False: the source has stopped. */
bool timeline_gc_rows (struct timeline *t, struct err *err);

/* ---- without overlap rows (timeline_derived.c) ---- */

/* Whether a pass with 'making' is worthwhile: there are no overlap rows. */
bool timeline_lacks_rows (const struct timeline *t);

/* Add a task of the device that computes, in that pass.  Returns 0 or -ENOMEM.
 */
int timeline_make_event (struct timeline *t, struct timeline_process *p);

/* After that pass: make overlap rows from computing tasks and from ops.  None
 * are made, and the capture gets a reason, if the kind of some task is unknown.
 * Returns 0 or -ENOMEM.
 */
int timeline_make_rows (struct timeline *t);

/* ---- tasks (timeline_tasks.c) ---- */

#define TIMELINE_WORDS 6u

/* Keep a task of a thread.  Returns 0 or negative, as timeline_event. */
int timeline_keep_task (struct timeline *t, struct timeline_thread *th,
                        const struct timeline_task *k);

/* Convert a task to and from a record of a sorter: the key, the start, and the
 * other members.  In the log the key is the index of the thread.
 */
void timeline_pack (int64_t record[TIMELINE_WORDS], int64_t key,
                    const struct timeline_task *k);
struct timeline_task timeline_unpack (const int64_t record[TIMELINE_WORDS]);

/* ---- communication (timeline_ops.c) ---- */

/* Send rows of the communication tables in 'want'.  False: the source has
 * stopped.
 */
bool timeline_comm_rows (struct timeline *t, unsigned want, struct err *err);

/* ---- files (timeline_files.c) ---- */

struct timeline_files {
    char (*names)[CAPTURE_NAME_MAX];
    uint32_t n;
    bool gap;                   // a slice is missing: its number is 'missing'
    uint32_t missing;
};

/* The directory of the files. */
static inline int timeline_dir (const struct source *src)
{
    return src->form == FORM_TRACE ? src->dir : src->out;
}

/* List the files: trace_view.json; or the parts that msprof wrote last, in
 * their order; or the capture itself, if torch_npu exported that trace alone.
 * Returns 0, also if there is none, or -ENOMEM; the caller frees the names.
 */
int timeline_list (const struct source *src, struct timeline_files *ret);

#endif
