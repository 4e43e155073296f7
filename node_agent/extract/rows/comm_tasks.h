/* node_agent/extract/rows/comm_tasks.h - compute the communication tables from
 * tasks
 *
 * For sources that record each hardware task of an op: event databases and
 * timelines.  doc/formats.md, "Communication from tasks", has the formulas.
 *
 *   comm_tables_init (&t, src, want)
 *   for each step, for each op of it by start:
 *       comm_tables_op (&t, &op, tasks, ntasks)
 *       comm_tables_step_end (&t)       after the last op of the step
 *   comm_tables_flush (&t)
 *   comm_tables_fini (&t)
 */
#ifndef ROLLCALL_EXTRACT_ROWS_COMM_TASKS_H
#define ROLLCALL_EXTRACT_ROWS_COMM_TASKS_H

#include "extract/rows/matrix_fold.h"
#include "extract/sink/source.h"

#define COMM_NAME_MAX 4096u     // bytes of a key; profilers write 60
#define COMM_NO_STEP "step"     // the step of rows without steps

#define COMM_RANK_NONE (-1)     // no rank, or an invalid source: no link
#define COMM_RANK_SELF (-2)     // 0xffffffff as destination: the source itself

#define COMM_NO_PLANE UINT32_MAX

enum comm_kind {
    COMM_OTHER_TASK, COMM_NOTIFY_WAIT, COMM_MEMCPY, COMM_REDUCE_INLINE
};

enum comm_transport {
    COMM_OTHER_TRANSPORT, COMM_SDMA, COMM_RDMA, COMM_LOCAL
};

enum comm_link {
    COMM_OTHER_LINK, COMM_ON_CHIP, COMM_HCCS, COMM_PCIE, COMM_SIO, COMM_HCCS_SW
};

/* Parse the names of the profiler ("Notify_Wait", "SDMA", "HCCS_SW"). */
enum comm_kind comm_task_kind (const char *name, size_t size);
enum comm_transport comm_task_transport (const char *name, size_t size);
enum comm_link comm_task_link (const char *name, size_t size);

struct comm_task {
    int64_t start;              // ns
    double dur;                 // ns, with its fraction
    int64_t size;               // bytes; negative: not known
    int32_t src, dst;           // ranks within the group, or COMM_RANK_*
    uint32_t plane;
    uint8_t kind, transport, link;      // of the enums above
    bool payload;               // writes RDMA payload
    bool master;                // is on the master plane
};

/* An op; its texts are borrowed. */
struct comm_op {
    const char *name;
    const char *group;          // the hash; NULL: not known
    const char *other_group;    // otherwise: a text that tells groups apart
    const char *step;           // "step13", or "step"
    int64_t start;              // ns
    double elapse;              // ns; used if no task is a master
    bool masters;               // the source marks masters: then an op without
                                // one has no known plane
};

/* The totals of the tasks of an op: times in ms, sizes in MB. */
enum { COMM_BUCKET_RDMA, COMM_BUCKET_HCCS, COMM_BUCKET_PCIE,
       COMM_BUCKET_SDMA, COMM_BUCKET_SIO, COMM_BUCKETS };

struct comm_bucket {
    double size, time, bandwidth, large;
};

/* A packet size of a bucket, or a link. */
struct comm_item {
    uint64_t key;               // bits of the size; source and destination
    uint64_t bucket;            // part of the key; COMM_BUCKETS: a link
    uint32_t count;
    double size, time;          // of a link: sums; else the packet size, and
                                // the sum of time
    const char *transport;      // of a link; NULL: not known
};

struct comm_figures {
    double start_us, elapse, transit, wait, sync, idle;
    struct comm_bucket buckets[COMM_BUCKETS];
    struct comm_item *items;    // in order of appearance
    uint32_t nitems;
};

struct comm_work;               // memory for the tasks of one op

struct comm_work *comm_work_create (void);      // NULL: no memory
void comm_work_destroy (struct comm_work *w);   // w may be NULL

/* Compute the figures of an op from its tasks, of which those of each plane are
 * in the order of their starts.  The result is valid until the next call.
 * Without tasks, or without a known plane, sizes and waiting times are NaN.
 * All times must lie within 2^62 ns.  Returns 0 or -ENOMEM.
 */
int comm_figures (struct comm_work *w, const struct comm_op *op,
                  const struct comm_task *tasks, size_t n,
                  struct comm_figures *ret);

/* Whether a key stands for the sums of others, which are no rows. */
bool comm_op_is_total (const char *key, size_t size);

#define COMM_TAG_DIGITS 3u      // digits of the group's key in an op's name

/* Whether the key of a group ends as the name of the op says: "hcom_x__097_4_1"
 * belongs to a group whose key ends in 097.  '*tagged': the name has such
 * digits.
 */
bool comm_group_fits (const char *key, const char *op, bool *tagged);

/* The key of the only group of the capture that fits, or NULL.  The groups are
 * those of its metadata and of comm_note_key.
 */
const char *comm_group_of (const struct source *src, const char *op);

/* Record a key that a file of the results names.  False: the source has
 * stopped.
 */
bool comm_note_key (struct source *src, const char *key, struct err *err);

/* Writes the rows. */
struct comm_tables {
    struct source *src;
    unsigned want;              // 1 << TABLE_TIME, _BANDWIDTH, _MATRIX
    struct batch time, bandwidth, matrix;
    struct matrix_room room;
    struct matrix_fold *folds[2];       // p2p, collective
    struct comm_work *work;
    char step[64];              // step of the links that are not folded yet
    struct err *err;
    bool too_many;              // there are more links in a step than can be
                                // folded
};

/* The functions return false if the source has stopped.  Call comm_tables_fini
 * in any case.
 */
bool comm_tables_init (struct comm_tables *t, struct source *src,
                       unsigned want, struct err *err);
bool comm_tables_op (struct comm_tables *t, const struct comm_op *op,
                     const struct comm_task *tasks, size_t n);
bool comm_tables_step_end (struct comm_tables *t);
bool comm_tables_flush (struct comm_tables *t);
void comm_tables_fini (struct comm_tables *t);

#endif
