/* node_agent/extract/rows/comm_tasks.h - the communication tables from single
 * tasks
 *
 * For the sources that record each hardware task of an op: event databases and
 * timelines.  The formulas are in doc/formats.md, "Communication from tasks".
 *
 *     comm_tables_init (&t, src, want)
 *     for each step, for each op of it by start:
 *         comm_tables_op (&t, &op, tasks, ntasks)
 *         comm_tables_step_end (&t)       behind the last op of the step
 *     comm_tables_flush (&t)
 *     comm_tables_fini (&t)
 */
#ifndef ROLLCALL_EXTRACT_ROWS_COMM_TASKS_H
#define ROLLCALL_EXTRACT_ROWS_COMM_TASKS_H

#include "extract/rows/matrix_fold.h"
#include "extract/sink/source.h"

#define COMM_NAME_MAX 4096u     // bytes of a key; real ones have 60
#define COMM_NO_STEP "step"     // what rows without steps are named

#define COMM_RANK_NONE (-1)     // no rank, or an invalid source: no link
#define COMM_RANK_SELF (-2)     // 0xffffffff as destination: the source

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

/* Of the profiler's names ("Notify_Wait", "SDMA", "HCCS_SW"). */
enum comm_kind comm_task_kind (const char *name, size_t size);
enum comm_transport comm_task_transport (const char *name, size_t size);
enum comm_link comm_task_link (const char *name, size_t size);

struct comm_task {
    int64_t start;              // ns
    double dur;                 // ns, with a fraction where there is one
    int64_t size;               // bytes; negative: not known
    int32_t src, dst;           // ranks within the group, or as above
    uint32_t plane;
    uint8_t kind, transport, link;      // the enums
    bool payload;               // writes RDMA payload
    bool master;                // is on the master plane
};

/* One op; its texts are borrowed. */
struct comm_op {
    const char *name;
    const char *group;          // the hash; NULL: not known
    const char *other_group;    // without it: what tells groups apart
    const char *step;           // "step13", or "step"
    int64_t start;              // ns
    double elapse;              // ns; used when no task is a master
    bool masters;               // the source marks masters: an op without one
                                // has no plane that is known
};

/* What an op's tasks come to: times in ms, sizes in MB. */
enum { COMM_BUCKET_RDMA, COMM_BUCKET_HCCS, COMM_BUCKET_PCIE,
       COMM_BUCKET_SDMA, COMM_BUCKET_SIO, COMM_BUCKETS };

struct comm_bucket {
    double size, time, bandwidth, large;
};

/* A packet size of a bucket, or a link. */
struct comm_item {
    uint64_t key;               // bits of the size; source and destination
    uint64_t bucket;            // of the key, too; COMM_BUCKETS: a link
    uint32_t count;
    double size, time;          // a link: sums; else the size, and the sum
    const char *transport;      // of a link; NULL: not known
};

struct comm_figures {
    double start_us, elapse, transit, wait, sync, idle;
    struct comm_bucket buckets[COMM_BUCKETS];
    struct comm_item *items;    // in order of appearance
    uint32_t nitems;
};

struct comm_work;               // room for the tasks of one op

struct comm_work *comm_work_create (void);      // NULL: no memory
void comm_work_destroy (struct comm_work *w);   // w may be NULL

/* The figures of an op, from its tasks, those of each plane in the order of
 * their starts; they are valid until the next call.  Without tasks, or without
 * any plane that is known, what is moved and waited for is NaN.  All times must
 * lie within 2^62 ns.  0 or -ENOMEM.
 */
int comm_figures (struct comm_work *w, const struct comm_op *op,
                  const struct comm_task *tasks, size_t n,
                  struct comm_figures *ret);

/* Whether a key is that of the sums of others, which are no rows. */
bool comm_op_is_total (const char *key, size_t size);

#define COMM_TAG_DIGITS 3u      // of the group's key, in an op's name

/* Whether a group's key ends as the op's name says: "hcom_x__097_4_1" is of a
 * group whose key ends in 097.  '*tagged': the name says something.
 */
bool comm_group_fits (const char *key, const char *op, bool *tagged);

/* The key of the only group of the capture that fits, or NULL: of those that
 * its metadata names, and those of comm_note_key.
 */
const char *comm_group_of (const struct source *src, const char *op);

/* Note a key that a file of the results names; false when the source has
 * stopped.
 */
bool comm_note_key (struct source *src, const char *key, struct err *err);

/* The rows. */
struct comm_tables {
    struct source *src;
    unsigned want;              // 1 << TABLE_TIME, _BANDWIDTH, _MATRIX
    struct batch time, bandwidth, matrix;
    struct matrix_room room;
    struct matrix_fold *folds[2];       // p2p, collective
    struct comm_work *work;
    char step[64];              // of the links that are not folded yet
    struct err *err;
    bool too_many;              // more links in a step than can be folded
};

/* All but _init and _fini return false when the source has stopped. */
bool comm_tables_init (struct comm_tables *t, struct source *src,
                       unsigned want, struct err *err);
bool comm_tables_op (struct comm_tables *t, const struct comm_op *op,
                     const struct comm_task *tasks, size_t n);
bool comm_tables_step_end (struct comm_tables *t);
bool comm_tables_flush (struct comm_tables *t);
void comm_tables_fini (struct comm_tables *t);

#endif
