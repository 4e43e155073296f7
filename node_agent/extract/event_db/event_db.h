/* node_agent/extract/event_db/event_db.h - the state of reading an event
 * database
 *
 * Private to the event_*.c files and read_event_db.c.  Memory is a constant for
 * each step (EVENT_STEPS_MAX), each communication op (EVENT_OPS_MAX) and each
 * kind of operator and of API; tasks and calls go through sorters.
 *
 * Functions return false if reading must end; 'how' and 'why' have the reason.
 * An impossible row is skipped and counted with event_note_bad_row.
 *
 * This folder: event databases, from which tables are computed.
 */
#ifndef ROLLCALL_EXTRACT_EVENT_DB_EVENT_DB_H
#define ROLLCALL_EXTRACT_EVENT_DB_EVENT_DB_H

#include "base/map.h"
#include "extract/input/db_pages.h"
#include "extract/input/profiler_db.h"
#include "extract/rows/intervals.h"
#include "extract/rows/step_ranges.h"
#include "extract/rows/times.h"
#include "store/sorter.h"

#define EVENT_STEPS_MAX 65536u
#define EVENT_OPS_MAX (1u << 20)
#define EVENT_OP_TASKS_MAX (1u << 18)   // of one op
#define EVENT_DEVICES_MAX 64u
#define EVENT_KINDS_MAX 65536u          // of operators, APIs, ranges
#define EVENT_NAME_MAX 4096u            // bytes of a name, and its NUL

#define EVENT_NO_PLANE UINT32_MAX       // the profiler's value for unknown
#define EVENT_NO_RANK UINT32_MAX
#define EVENT_NO_DEVICE (-1)
#define EVENT_DEVICES_SEVERAL (-2)

/* Enumerations of the file, whose ids are resolved by their names there. */
enum event_enum {
    ENUM_TRANSPORT, ENUM_LINK, ENUM_RDMA, ENUM_DATA, ENUM_API, EVENT_ENUMS
};

enum { TRANSPORT_OTHER, TRANSPORT_SDMA, TRANSPORT_RDMA };
enum { LINK_OTHER, LINK_ON_CHIP, LINK_HCCS, LINK_PCIE, LINK_SIO,
       LINK_HCCS_SW };
enum { RDMA_OTHER, RDMA_PAYLOAD };
enum { API_OTHER, API_NODE, API_OP };
enum { TASK_OTHER, TASK_DATA, TASK_WAIT };

/* Kinds of spans of a step. */
enum { SPAN_COMPUTE, SPAN_OP, SPAN_RECEIVE, SPAN_TASK };

#define EVENT_ENUM_VALUES 64

struct event_code {
    int64_t id;
    int code;                   // ENUM_DATA: bytes of an element, or 0
    char name[32];
};

struct event_codes {
    struct event_code values[EVENT_ENUM_VALUES];
    unsigned n;
};

struct event_step {
    int64_t id;
    int64_t host_start, host_end;
    int64_t start, end;         // on the device: doc/formats.md
};

/* A communication op, or a mark of one. */
struct event_op {
    int64_t id;
    int64_t start, end;         // of a mark: on the device, after the join
    int64_t began;              // start of the first task of its masters;
                                // INT64_MAX: none
    int64_t connection;
    uint32_t name, group;       // ids of strings; of a mark: of strings in
                                // 'marks'
    double payload;             // bytes; NaN: not known
    int32_t device;             // or EVENT_NO_DEVICE, EVENT_DEVICES_SEVERAL
    int32_t step;               // -1: in none
    bool receives;              // "hcom_receive..."
    bool again;                 // an op of the same name and group came before
                                // on this device
    bool own_device;            // its own row has the device
    int32_t peer;               // of a mark: rank in its group, or -1
};

/* Sums of one kind of operator or API. */
struct event_sum {
    int64_t a, b, device;       // the key
    uint64_t count;
    double total, min, max;     // ns
    int64_t first;              // the earliest start
};

/* The kind of tasks of a type. */
struct event_task_type {
    int64_t id;                 // the key: id of its string
    uint8_t kind;
};

#define EVENT_SUMS MAP (struct event_sum, 3)

struct event_marks;
struct event_kernels;

struct event_db {
    struct source *src;
    struct profiler_db *db;
    enum reading how;           // READING_WHOLE until reading must end
    struct err why;
    struct err bad;             // the first error of a skipped row
    uint64_t bad_rows;
    uint64_t work;              // see event_account_work

    sqlite3_stmt *text;         // query of a string by its id
    struct event_codes enums[EVENT_ENUMS];
    struct map task_types;      // ids of strings, and their kinds

    bool tasks;                 // tasks are read: a table that no other source
                                // has needs them
    bool has_calls, has_tasks, has_compute, has_ops, has_infos, has_masters;
    bool levels;                // some task of an op is known by its plane
    bool by_tasks;              // steps communicate as long as tasks of ops
                                // do, not ops: doc/formats.md
    char differ[160];           // of steps: what the other way gives, or ""
    uint32_t ndiffer;           // steps of which the two differ
    int64_t began;              // collecting, ns; 0: not known
    int64_t devices[EVENT_DEVICES_MAX];
    unsigned ndevices;
    bool nameless;              // there is no schedule: one step, without a
                                // name
    int64_t first_op;           // nameless: the program's first call; 0: none
    struct event_step *steps;
    uint32_t nsteps;
    struct step_range *by_host; // steps by host_start
    struct event_op *ops;       // by start
    uint32_t nops;
    bool many_links;            // a step has more than can be folded
    uint32_t no_master;         // number of ops with tasks of which none is a
                                // master
    struct event_marks *marks;  // NULL: ops are in the database itself

    struct sorter *api;         // connection, step
    struct sorter *by_connection;       // connection, start, end, device
    struct sorter *by_task;     // task, start, end, device
    struct sorter *infos;       // task, op and plane, bytes, ranks, codes
    struct sorter *op_tasks;    // op and plane, start, end, bytes, ranks, codes
    struct sorter *spans;       // device, start, end, what
    struct map operators, apis; // EVENT_SUMS
    bool want_operators, want_apis, want_kernels;
    struct event_kernels *kernels;      // while tasks are read, if wanted
};

/* ---- event_names.c: rows, strings, enumerations ---- */

/* End reading because of damage, with a sentence.  Returns false. */
bool event_damage (struct event_db *e, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));
bool event_no_memory (struct event_db *e);
bool event_sorter_failed (struct event_db *e, int rc, const struct err *err);

/* Count a row that is skipped, with the reason. */
void event_note_bad_row (struct event_db *e, const char *table,
                         const char *what,
                         int64_t number);

/* Count work that grows faster than the number of rows.  False: it exceeds what
 * a file of this size justifies.
 */
bool event_account_work (struct event_db *e, uint64_t work);

/* A statement; NULL when reading must end. */
sqlite3_stmt *event_prepare (struct event_db *e, const char *sql);

/* Rows of a small table; none if it lacks one of the columns ("a, b"), or is
 * not there.  'sql' asks for them, or NULL: just for the columns.
 *
 *     struct event_query q = event_ask (e, "SESSION", "start, end", NULL);
 *
 *     while (event_next (&q) && take (e, q.st))
 *         continue;
 *     return event_end (&q);
 */
struct event_query {
    struct event_db *e;
    sqlite3_stmt *st;           // NULL: no rows
    int rc;                     // as event_row
};

struct event_query event_ask (struct event_db *e, const char *table,
                              const char *columns, const char *sql);
bool event_next (struct event_query *q);

/* False when reading must end, or the loop has broken off. */
bool event_end (struct event_query *q);

/* Go to the next row: 1; 0 after the last one; -1: reading must end. */
int event_row (struct event_db *e, sqlite3_stmt *st);

/* Count a row: 1; -1: the file cannot have so many. */
int event_count_row (struct event_db *e);

/* Whether there is such a table; with 0 names: with any columns.  have[i] tells
 * whether it has the column names[i].
 */
bool event_has (struct event_db *e, const char *table,
                const char *const *names, unsigned n, bool *have);

/* Whether there is such a table that has all of these columns, at most 8. */
bool event_has_all (struct event_db *e, const char *table,
                    const char *const *names, unsigned n);

/* Check that a table has all columns; a missing one is damage. */
bool event_need (struct event_db *e, const char *table,
                 const char *const *names, const bool *have, unsigned n);

/* Whether a value is a number, or a text of digits. */
bool event_is_number (sqlite3_value *v);

/* Get a time in ns since 1970.  False: the value is no plausible time. */
bool event_time (sqlite3_stmt *st, int column, int64_t *ret);

/* Get the string of an id: 1; 0: there is none, which gives "" and is not
 * counted; -1: reading must end.
 */
int event_find_string (struct event_db *e, int64_t id,
                       char out[EVENT_NAME_MAX]);

/* As event_find_string, but a missing string is counted as a bad row. */
bool event_string (struct event_db *e, int64_t id, char out[EVENT_NAME_MAX]);

/* Copy a value as valid UTF-8, cut to fit. */
void event_text (struct event_db *e, sqlite3_value *v, char *out, size_t max);

bool event_load_enums (struct event_db *e);
int event_code (const struct event_db *e, enum event_enum which, int64_t id);
bool event_enum_has (const struct event_db *e, enum event_enum which, int code);
const char *event_enum_name (const struct event_db *e, enum event_enum which,
                             int64_t id);
bool event_task_kind (struct event_db *e, int64_t id, uint8_t *ret);

/* The key of a communicator in the tables. */
void event_group_key (const char *name, char out[CAPTURE_HASH_MAX]);

bool event_note_device (struct event_db *e, int64_t device);

/* Add an event to the sums of its kind; 'sums' is an EVENT_SUMS. */
bool event_sum_add (struct event_db *e, struct map *sums, int64_t a,
                    int64_t b, int64_t device, int64_t start, int64_t end);

/* ---- event_rows.c: large tables, all columns of which are integers ---- */

struct event_rows;

/* Read the columns 'names' of a table; a value is NULL if have[i] is false.
 * 'ordered': by the first column.  NULL: reading must end.
 */
struct event_rows *event_rows_open (struct event_db *e, const char *table,
                                    const char *const *names, const bool *have,
                                    unsigned n, bool ordered);
void event_rows_close (struct event_rows *r);   // r may be NULL

/* As event_row; the row is valid until the next call. */
int event_rows_next (struct event_db *e, struct event_rows *r,
                     const struct db_row **row);

/* As event_time. */
bool event_rows_time (const struct db_row *row, unsigned column, int64_t *ret);

/* ---- event_steps.c ---- */

bool event_load_steps (struct event_db *e);

/* Find the steps of calls of the host; their connections lead to tasks. */
bool event_load_api (struct event_db *e);

/* The name of a step in communication tables ("step13"), and in StepTraceTime
 * ("13", or NULL).
 */
const char *event_step_name (const struct event_db *e, uint32_t step,
                             char out[32]);
const char *event_step_id (const struct event_db *e, uint32_t step,
                           char out[32]);
bool event_step_wanted (const struct event_db *e, uint32_t step,
                        unsigned tables);

/* The steps in order of their starts on the host, or else on the device; to be
 * freed.  NULL when reading must end.
 */
struct step_range *event_step_ranges (struct event_db *e, bool host);

/* StepTraceTime and StepExtra. */
bool event_give_steps (struct event_db *e, bool times, bool extra);

/* ---- event_ops.c ---- */

bool event_load_ops (struct event_db *e);

/* Sort the ops by start, once all are read. */
void event_order_ops (struct event_db *e);

/* Mark repeated ops: of those with the same name and group on a device,
 * iterations of a graph, the first counts.  Devices are known, and the ops are
 * sorted.
 */
bool event_mark_repeated (struct event_db *e);

/* When the op began: at the first task of its masters, if tasks are marked. */
int64_t event_op_began (const struct event_db *e, const struct event_op *op);

/* Find its step: the first one, in the order of the file, that contains the
 * start of the op.
 */
bool event_find_step (struct event_db *e, struct event_op *op);
struct event_op *event_add_op (struct event_db *e);

/* Indexes of all ops, sorted by 'order'; the caller frees them.  NULL: no
 * memory.
 */
uint32_t *event_index_ops (struct event_db *e,
                           int (*order) (const void *, const void *, void *));
int event_by_id (const void *pa, const void *pb, void *arg);
int event_by_connection (const void *pa, const void *pb, void *arg);

/* Write a query that selects the columns that exist, and NULL for others. */
void event_select (char *sql, size_t max, const char *const *names,
                   const bool *have, unsigned n, const char *table);

/* ---- event_tasks.c ---- */

/* The codes of a communication task in one word: these bits, with other codes
 * below.
 */
#define EVENT_CODE_PAYLOAD (1 << 16)
#define EVENT_CODE_MASTER (1 << 17)

bool event_load_infos (struct event_db *e);
bool event_load_tasks (struct event_db *e);

/* ---- event_join.c ---- */

bool event_join_connections (struct event_db *e);
bool event_join_tasks (struct event_db *e);

/* ---- event_kernels.c ---- */

/* Begin; the steps have their times on the device. */
bool event_kernels_begin (struct event_db *e);

/* Add a task (id, start, end, device) that computes, with the ids of its name,
 * type, core and input shapes (KERNEL_NO_TEXT: none).  Tasks come in the order
 * of their ids.
 */
bool event_kernels_add (struct event_db *e, const int64_t *task,
                        const int64_t names[4]);
bool event_give_kernels (struct event_db *e);
void event_kernels_fini (struct event_kernels *k);      // k may be NULL

/* ---- event_comm.c: the three communication tables ---- */

bool event_give_comm (struct event_db *e, unsigned want);

/* ---- event_mstx.c ---- */

bool event_load_marks (struct event_db *e);
void event_marks_fini (struct event_marks *m);

/* Get name and group key of the op of a mark. */
bool event_mark_names (struct event_db *e, const struct event_op *op,
                       char name[EVENT_NAME_MAX], char key[CAPTURE_HASH_MAX]);

/* ---- event_metadata.c and event_info.c: what is ours ---- */

bool event_give_info (struct event_db *e);
bool event_give_memory (struct event_db *e);
bool event_give_links (struct event_db *e);
bool event_give_ranges (struct event_db *e);
bool event_give_operators (struct event_db *e);
bool event_give_apis (struct event_db *e);

#endif
