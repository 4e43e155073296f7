/* node_agent/extract/event_tasks.c - ops and tasks of an event database, joined
 *
 * TASK has no index for the joins that are needed, and no file is written
 * beside a capture: so each table is read once, in its own order, and sorters
 * bring what belongs together side by side.
 */
#include "extract/event_db.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SAME_TASK_MAX 1024      // records of one task id
#define TASK_BYTES_MAX (INT64_C (1) << 42)     // no task moves so much
#define NO_CONNECTION INT64_C (4294967295)

/* Codes of a communication task in one word, and its rank pair in another. */
#define CODE_PAYLOAD (1 << 16)
#define CODE_MASTER (1 << 17)

/* ---- ops ---- */

struct event_op *event_add_op (struct event_db *e)
{
    if (e->nops == e->ops_cap) {
        uint32_t cap = e->ops_cap ? 2 * e->ops_cap : 256;
        struct event_op *p;

        if (e->nops >= EVENT_OPS_MAX) {
            (void)event_damage (e, "it has more than %u communication ops",
                                EVENT_OPS_MAX);
            return NULL;
        }
        if (!(p = realloc (e->ops, cap * sizeof (*p)))) {
            (void)event_no_memory (e);
            return NULL;
        }
        e->ops = p;
        e->ops_cap = cap;
    }
    e->ops[e->nops] = (struct event_op){ .began = INT64_MAX,
                                         .device = EVENT_NO_DEVICE,
                                         .payload = NAN, .peer = -1,
                                         .step = -1 };
    return &e->ops[e->nops++];
}

/* SQL of the columns that are there, NULL for the others. */
static void select_columns (char *sql, size_t max, const char *const *names,
                            const bool *have, unsigned n, const char *table)
{
    size_t used = (size_t)snprintf (sql, max, "SELECT ");

    for (unsigned i = 0; i < n && used < max; i++)
        used += (size_t)snprintf (sql + used, max - used, "%s%s", i ? "," : "",
                                  have[i] ? names[i] : "NULL");
    if (used < max)
        (void)snprintf (sql + used, max - used, " FROM %s", table);
}

enum { OP_ID, OP_NAME, OP_START, OP_END, OP_CONNECTION, OP_GROUP, OP_COUNT,
       OP_DATA, OP_DEVICE, OP_COLUMNS };

static bool receives (struct event_db *e, int64_t name, bool *ret)
{
    char text[EVENT_NAME_MAX];

    if (!event_string (e, name, text))
        return false;
    *ret = strncmp (text, "hcom_receive", 12) == 0;
    return true;
}

static bool take_op (struct event_db *e, sqlite3_stmt *st)
{
    int64_t id = sqlite3_column_int64 (st, OP_ID), start, end;
    double count = sqlite3_column_double (st, OP_COUNT);
    int bytes = event_code (e, ENUM_DATA, sqlite3_column_int64 (st, OP_DATA));
    int64_t device = sqlite3_column_int64 (st, OP_DEVICE);
    struct event_op *op;

    if (!event_time (st, OP_START, &start) || !event_time (st, OP_END, &end) ||
        end < start) {
        event_bad (e, "COMMUNICATION_OP", "an op has no such times", id);
        return true;
    }
    if (!(op = event_add_op (e)))
        return false;
    op->id = id;
    op->start = start;
    op->end = end;
    op->name = sqlite3_column_int64 (st, OP_NAME);
    op->group = sqlite3_column_int64 (st, OP_GROUP);
    op->connection = sqlite3_column_int64 (st, OP_CONNECTION);
    if (bytes > 0 && count > 0 && count < 1e18)
        op->payload = count * bytes;
    if (sqlite3_column_type (st, OP_DEVICE) == SQLITE_INTEGER && device >= 0 &&
        device <= INT32_MAX)
        op->device = (int32_t)device;
    return (op->device < 0 || event_note_device (e, device)) &&
           receives (e, op->name, &op->receives);
}

bool event_load_ops (struct event_db *e)
{
    static const char *const names[OP_COLUMNS] = {
        "opId", "opName", "startNs", "endNs", "connectionId", "groupName",
        "count", "dataType", "deviceId",
    };
    bool have[OP_COLUMNS] = { false };
    char sql[256];
    sqlite3_stmt *st;
    int rc;

    if (!event_has (e, "COMMUNICATION_OP", names, OP_COLUMNS, have))
        return e->how == READING_WHOLE;
    for (unsigned i = 0; i <= OP_GROUP; i++) {
        if (!have[i])
            return event_damage (e, "table COMMUNICATION_OP has no column %s",
                                 names[i]);
    }
    select_columns (sql, sizeof (sql), names, have, OP_COLUMNS,
                    "COMMUNICATION_OP");
    if (!(st = event_query (e, sql)))
        return false;
    while ((rc = event_row (e, st)) == 1 && take_op (e, st))
        continue;
    (void)sqlite3_finalize (st);
    e->has_ops = e->nops > 0;
    return rc == 0;
}

static int by_start (const void *pa, const void *pb)
{
    const struct event_op *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_name (const void *pa, const void *pb, void *arg)
{
    const struct event_op *ops = arg;
    uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
    const struct event_op *a = &ops[i], *b = &ops[j];

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int by_id (const void *pa, const void *pb, void *arg)
{
    const struct event_op *ops = arg;
    int64_t a = ops[*(const uint32_t *)pa].id;
    int64_t b = ops[*(const uint32_t *)pb].id;

    return a < b ? -1 : a > b;
}

static int by_connection (const void *pa, const void *pb, void *arg)
{
    const struct event_op *ops = arg;
    uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
    int64_t a = ops[i].connection, b = ops[j].connection;

    if (a != b)
        return a < b ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* Indexes of all ops in some order; NULL without memory. */
static uint32_t *index_ops (struct event_db *e,
                            int (*order) (const void *, const void *, void *))
{
    uint32_t *index = calloc (e->nops + 1u, sizeof (*index));

    if (!index) {
        (void)event_no_memory (e);
        return NULL;
    }
    for (uint32_t i = 0; i < e->nops; i++)
        index[i] = i;
    if (e->nops > 1)
        qsort_r (index, e->nops, sizeof (*index), order, e->ops);
    return index;
}

/* Of ops with one name and group, iterations of a graph, the first counts. */
bool event_order_ops (struct event_db *e)
{
    uint32_t *index;

    if (e->nops > 1)
        qsort (e->ops, e->nops, sizeof (*e->ops), by_start);
    if (e->marks)
        return true;            // they get names by their order
    if (!(index = index_ops (e, by_name)))
        return false;
    for (uint32_t i = 1; i < e->nops; i++) {
        const struct event_op *before = &e->ops[index[i - 1]];
        struct event_op *op = &e->ops[index[i]];

        op->again = op->name == before->name && op->group == before->group;
    }
    free (index);
    return true;
}

/* ---- what is known of the tasks of ops ---- */

enum { INFO_TASK, INFO_OP, INFO_TYPE, INFO_PLANE, INFO_RDMA, INFO_FROM, INFO_TO,
       INFO_TRANSPORT, INFO_BYTES, INFO_LINK, INFO_MASTER, INFO_COLUMNS };

static int64_t find_op (const struct event_db *e, const uint32_t *index,
                        int64_t id)
{
    uint32_t low = 0, high = e->nops;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (e->ops[index[mid]].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < e->nops && e->ops[index[low]].id == id ? (int64_t)index[low]
                                                        : -1;
}

/* A number of 32 bits, or what the profiler has for "not known". */
static uint32_t small (sqlite3_stmt *st, int column)
{
    sqlite3_value *value = sqlite3_column_value (st, column);
    int64_t v = sqlite3_value_int64 (value);

    return sqlite3_value_type (value) == SQLITE_INTEGER && v >= 0 &&
                   v < UINT32_MAX
               ? (uint32_t)v
               : UINT32_MAX;
}

static bool take_info (struct event_db *e, sqlite3_stmt *st, int64_t op)
{
    int64_t bytes = sqlite3_column_int64 (st, INFO_BYTES);
    uint32_t plane = small (st, INFO_PLANE), from = small (st, INFO_FROM);
    uint32_t to = small (st, INFO_TO);
    struct err err = { "" };
    int64_t record[5];
    uint8_t kind;
    int rc, codes;

    if (!event_task_kind (e, sqlite3_column_int64 (st, INFO_TYPE), &kind))
        return false;
    if (to == EVENT_NO_RANK &&
        sqlite3_column_type (st, INFO_TO) == SQLITE_INTEGER)
        to = from;              // not said: on this device
    codes = kind |
            event_code (e, ENUM_TRANSPORT,
                        sqlite3_column_int64 (st, INFO_TRANSPORT)) << 4 |
            event_code (e, ENUM_LINK,
                        sqlite3_column_int64 (st, INFO_LINK)) << 8;
    if (event_code (e, ENUM_RDMA, sqlite3_column_int64 (st, INFO_RDMA)))
        codes |= CODE_PAYLOAD;
    if (sqlite3_column_int64 (st, INFO_MASTER) == 1)
        codes |= CODE_MASTER;
    e->levels = e->levels || plane != EVENT_NO_PLANE;
    record[0] = sqlite3_column_int64 (st, INFO_TASK);
    record[1] = op << 32 | plane;
    record[2] = bytes > 0 && bytes < TASK_BYTES_MAX ? bytes : 0;
    record[3] = (int64_t)((uint64_t)from << 32 | to);
    record[4] = codes;
    if ((rc = sorter_add (e->infos, record, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    return true;
}

static bool take_infos (struct event_db *e, sqlite3_stmt *st,
                        const uint32_t *index)
{
    int64_t id, last_id = 0, op = -1;
    bool first = true;
    int rc;

    while ((rc = event_row (e, st)) == 1) {
        id = sqlite3_column_int64 (st, INFO_OP);
        if (first || id != last_id)
            op = find_op (e, index, id);
        first = false;
        last_id = id;
        if (op >= 0 && !take_info (e, st, op))
            return false;
    }
    return rc == 0;
}

bool event_load_infos (struct event_db *e)
{
    static const char *const names[INFO_COLUMNS] = {
        "globalTaskId", "opId", "taskType", "planeId", "rdmaType", "srcRank",
        "dstRank", "transportType", "size", "linkType", "isMaster",
    };
    bool have[INFO_COLUMNS] = { false }, good = false;
    struct err err = { "" };
    uint32_t *index;
    sqlite3_stmt *st;
    char sql[256];
    int rc;

    if (!event_has (e, "COMMUNICATION_TASK_INFO", names, INFO_COLUMNS, have))
        return e->how == READING_WHOLE;
    for (unsigned i = 0; i < INFO_MASTER; i++) {
        if (!have[i])
            return event_damage (e, "table COMMUNICATION_TASK_INFO has no "
                                 "column %s", names[i]);
    }
    e->has_infos = true;
    e->has_masters = have[INFO_MASTER];
    select_columns (sql, sizeof (sql), names, have, INFO_COLUMNS,
                    "COMMUNICATION_TASK_INFO");
    if (!(index = index_ops (e, by_id)))
        return false;
    if ((st = event_query (e, sql)))
        good = take_infos (e, st, index);
    (void)sqlite3_finalize (st);
    free (index);
    if (good && (rc = sorter_finish (e->infos, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    return good;
}

/* ---- tasks ---- */

/* Tasks of one connection follow each other: they become one record. */
struct joined {
    int64_t record[4];          // connection, start, end, device
    bool any;
};

static bool put_connection (struct event_db *e, struct joined *j,
                            const int64_t *task)
{
    struct err err = { "" };
    int rc;

    if (task && j->any && j->record[0] == task[0] && j->record[3] == task[3]) {
        if (task[1] < j->record[1])
            j->record[1] = task[1];
        if (task[2] > j->record[2])
            j->record[2] = task[2];
        return true;
    }
    if (j->any && (rc = sorter_add (e->by_connection, j->record, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    j->any = task != NULL;
    if (task)
        memcpy (j->record, task, sizeof (j->record));
    return true;
}

static bool take_task (struct event_db *e, sqlite3_stmt *st, struct joined *j)
{
    int64_t device = sqlite3_column_int64 (st, 2);
    sqlite3_value *id = sqlite3_column_value (st, 4);
    int64_t task[4] = { sqlite3_value_int64 (id), 0, 0, device };
    int64_t connection = sqlite3_column_int64 (st, 3);
    struct err err = { "" };
    int rc;

    if (!event_time (st, 0, &task[1]) || !event_time (st, 1, &task[2]) ||
        task[2] < task[1] || device < 0 || device > INT32_MAX) {
        event_bad (e, "TASK", "a task has no such times or device", task[0]);
        return true;
    }
    if (!event_note_device (e, device))
        return false;
    if (e->by_task && sqlite3_value_type (id) == SQLITE_INTEGER &&
        (rc = sorter_add (e->by_task, task, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    task[0] = connection;
    return connection == NO_CONNECTION || put_connection (e, j, task);
}

bool event_load_tasks (struct event_db *e)
{
    static const char *const names[] = { "startNs", "endNs", "deviceId",
                                         "connectionId", "globalTaskId" };
    bool have[5] = { false, false, false, false, false };
    struct joined j = { .any = false };
    sqlite3_stmt *st;
    int rc;

    if (!event_has (e, "TASK", names, 5, have))
        return e->how == READING_WHOLE;
    for (unsigned i = 0; i < 5; i++) {
        if (!have[i])
            return event_damage (e, "table TASK has no column %s", names[i]);
    }
    e->has_tasks = true;
    if (!(st = event_query (e, "SELECT startNs, endNs, deviceId, "
                               "connectionId, globalTaskId FROM TASK "
                               "NOT INDEXED")))
        return false;
    while ((rc = event_row (e, st)) == 1 && take_task (e, st, &j))
        continue;
    (void)sqlite3_finalize (st);
    return rc == 0 && put_connection (e, &j, NULL);
}

/* ---- by connection: steps, devices of ops, times of marks ---- */

struct by_connection {
    struct event_db *e;
    uint32_t *index;            // ops by connection
    uint32_t op;                // in 'index'
    int64_t call[2];            // connection and step
    int more;                   // 1: 'call' is one
    struct err err;
};

static void widen_step (struct event_step *s, int64_t start, int64_t end)
{
    if (start < s->start)
        s->start = start;
    if (end > s->end)
        s->end = end;
}

static void meet_op (struct event_db *e, struct event_op *op,
                     const int64_t *task)
{
    int32_t device = (int32_t)task[3];

    if (e->marks) {             // its times are those of the tasks
        if (op->device == EVENT_NO_DEVICE) {
            op->start = task[1];
            op->end = task[2];
        } else {
            op->start = task[1] < op->start ? task[1] : op->start;
            op->end = task[2] > op->end ? task[2] : op->end;
        }
    }
    op->device = op->device == EVENT_NO_DEVICE || op->device == device
                     ? device
                     : EVENT_DEVICES_SEVERAL;
}

/* The calls of a connection, and all its tasks. */
static bool meet_calls (struct by_connection *j, const int64_t *all)
{
    struct event_db *e = j->e;

    while (j->more == 1 && j->call[0] <= all[0]) {
        if (j->call[0] == all[0])
            widen_step (&e->steps[j->call[1]], all[1], all[2]);
        j->more = sorter_next (e->api, j->call, &j->err);
    }
    return j->more >= 0 || event_sorter_failed (e, j->more, &j->err);
}

/* The ops of a connection, and its tasks on one device. */
static bool meet_ops (struct by_connection *j, const int64_t *task)
{
    struct event_db *e = j->e;

    while (j->op < e->nops && e->ops[j->index[j->op]].connection < task[0])
        j->op++;
    for (uint32_t i = j->op; i < e->nops; i++) {
        struct event_op *op = &e->ops[j->index[i]];

        if (op->connection != task[0])
            break;
        if (i > j->op && !event_charge (e, 1))
            return false;
        meet_op (e, op, task);
    }
    return true;
}

static void widen (int64_t *task, const int64_t *by)
{
    task[1] = by[1] < task[1] ? by[1] : task[1];
    task[2] = by[2] > task[2] ? by[2] : task[2];
}

static bool meet_all (struct by_connection *j, bool own_device)
{
    struct event_db *e = j->e;
    int64_t task[4], next[4], all[4];
    int rc = sorter_next (e->by_connection, task, &j->err);

    memcpy (all, task, sizeof (all));
    while (rc == 1) {
        bool same;

        while ((rc = sorter_next (e->by_connection, next, &j->err)) == 1 &&
               next[0] == task[0] && next[3] == task[3])
            widen (task, next);
        if (rc < 0 || (!own_device && !meet_ops (j, task)))
            break;
        widen (all, task);
        same = rc == 1 && next[0] == all[0];
        if (!same && !meet_calls (j, all))
            return false;
        if (!same)
            memcpy (all, next, sizeof (all));
        memcpy (task, next, sizeof (task));
    }
    return rc < 0 ? event_sorter_failed (e, rc, &j->err)
                  : e->how == READING_WHOLE;
}

/* Steps whose calls launched nothing keep the host's times. */
static void end_steps (struct event_db *e)
{
    for (uint32_t i = 0; i < e->nsteps; i++) {
        struct event_step *s = &e->steps[i];

        if (s->start == INTERVALS_MAX)
            s->start = e->nameless ? 0 : s->host_start;
        if (s->end < s->host_end)
            s->end = s->host_end;
    }
}

bool event_join_connections (struct event_db *e)
{
    struct by_connection j = { .e = e };
    bool own = !e->marks && e->nops > 0 && e->ops[0].device >= 0, good;
    int rc;

    if ((rc = sorter_finish (e->api, &j.err)) < 0 ||
        (rc = sorter_finish (e->by_connection, &j.err)) < 0 ||
        (j.more = rc = sorter_next (e->api, j.call, &j.err)) < 0)
        return event_sorter_failed (e, rc, &j.err);
    if (!(j.index = index_ops (e, by_connection)))
        return false;
    good = meet_all (&j, own);
    free (j.index);
    end_steps (e);
    return good;
}

/* ---- by task: what computes, and the tasks of ops ---- */

struct by_task {
    struct event_db *e;
    sqlite3_stmt *compute;      // NULL: behind its last row
    int64_t id, op_type, core;  // of its row
    int64_t next[5];            // of the infos
    int more;                   // 1: 'next' is one
    int64_t (*same)[5];         // infos of the task id that is met
    unsigned nsame;
    int64_t same_id;
    int64_t held[4];            // its first task; others tell that it is
    bool holds, several;        // replayed, and decide what counts
};

static bool next_compute (struct by_task *j)
{
    int rc = event_row (j->e, j->compute);

    if (rc == 1) {
        j->id = sqlite3_column_int64 (j->compute, 0);
        j->op_type = sqlite3_column_int64 (j->compute, 1);
        j->core = sqlite3_column_int64 (j->compute, 2);
        return true;
    }
    (void)sqlite3_finalize (j->compute);
    j->compute = NULL;
    return rc == 0;
}

static bool meet_compute (struct by_task *j, const int64_t *task)
{
    const int64_t span[4] = { task[3], task[1], task[2], 0 };
    struct event_db *e = j->e;
    struct err err = { "" };
    int rc;

    while (j->compute && j->id < task[0]) {
        if (!next_compute (j))
            return false;
    }
    if (!j->compute || j->id != task[0])
        return true;
    if ((rc = sorter_add (e->spans, span, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    return !e->want_operators ||
           event_sum_add (e, &e->operators, j->op_type, j->core, task[3],
                          task[1], task[2]);
}

/* One task of one op. */
static bool give_task (struct event_db *e, const int64_t *info,
                       const int64_t *task, bool within)
{
    struct event_op *op = &e->ops[info[1] >> 32];
    const int64_t record[6] = { info[1], task[1], task[2],
                                info[2], info[3], info[4] };
    struct err err = { "" };
    int rc;

    if (within && (task[1] < op->start || task[2] > op->end))
        return true;
    if (task[1] < e->began)
        return true;            // the profiler leaves it out too
    if (info[4] & CODE_MASTER && task[1] < op->began)
        op->began = task[1];
    if ((rc = sorter_add (e->op_tasks, record, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    return true;
}

static bool give_held (struct by_task *j, const int64_t *task)
{
    for (unsigned i = 0; i < j->nsame; i++) {
        if (!give_task (j->e, j->same[i], task, j->several))
            return false;
    }
    return j->nsame < 2 || event_charge (j->e, j->nsame);
}

static bool end_held (struct by_task *j)
{
    bool holds = j->holds;

    j->holds = false;
    return !holds || j->several || give_held (j, j->held);
}

/* The infos of a task id that is new. */
static bool collect (struct by_task *j, int64_t id)
{
    struct event_db *e = j->e;
    struct err err = { "" };

    while (j->more == 1 && j->next[0] < id)
        j->more = sorter_next (e->infos, j->next, &err);
    j->nsame = 0;
    j->same_id = id;
    j->several = false;
    while (j->more == 1 && j->next[0] == id) {
        if (j->nsame == SAME_TASK_MAX)
            return event_damage (e, "COMMUNICATION_TASK_INFO has more than %d "
                                 "rows of task %lld", SAME_TASK_MAX,
                                 (long long)id);
        memcpy (j->same[j->nsame++], j->next, sizeof (j->next));
        j->more = sorter_next (e->infos, j->next, &err);
    }
    return j->more >= 0 || event_sorter_failed (e, j->more, &err);
}

static bool meet_info (struct by_task *j, const int64_t *task)
{
    if (!j->holds || j->same_id != task[0]) {
        if (!end_held (j) || !collect (j, task[0]))
            return false;
        memcpy (j->held, task, sizeof (j->held));
        j->holds = true;
        return true;
    }
    if (!j->several) {
        j->several = true;
        if (!give_held (j, j->held))
            return false;
    }
    return give_held (j, task);
}

static bool join_all (struct by_task *j)
{
    struct event_db *e = j->e;
    struct err err = { "" };
    int64_t task[4];
    int rc;

    if ((j->compute && !next_compute (j)) ||
        (e->has_infos &&
         (j->more = sorter_next (e->infos, j->next, &err)) < 0))
        return e->how != READING_WHOLE
                   ? false
                   : event_sorter_failed (e, j->more, &err);
    while ((rc = sorter_next (e->by_task, task, &err)) == 1) {
        if (!meet_compute (j, task) || (j->more >= 0 && e->has_infos &&
                                        !meet_info (j, task)))
            return false;
    }
    return rc < 0 ? event_sorter_failed (e, rc, &err) : end_held (j);
}

bool event_join_tasks (struct event_db *e)
{
    static const char *const names[] = { "globalTaskId", "opType",
                                         "taskType" };
    bool have[3] = { false, false, false }, good;
    struct by_task j = { .e = e };
    struct err err = { "" };
    int rc;

    if (!e->by_task)
        return true;
    if ((rc = sorter_finish (e->by_task, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    if (event_has (e, "COMPUTE_TASK_INFO", names, 3, have)) {
        char sql[128];

        if (!have[0])
            return event_damage (e, "table COMPUTE_TASK_INFO has no column "
                                 "globalTaskId");
        (void)snprintf (sql, sizeof (sql), "SELECT globalTaskId, %s, %s FROM "
                        "COMPUTE_TASK_INFO ORDER BY globalTaskId",
                        have[1] ? "opType" : "NULL",
                        have[2] ? "taskType" : "NULL");
        if (!(j.compute = event_query (e, sql)))
            return false;
    }
    if (!(j.same = calloc (SAME_TASK_MAX, sizeof (*j.same))))
        good = event_no_memory (e);
    else
        good = e->how == READING_WHOLE && join_all (&j);
    (void)sqlite3_finalize (j.compute);
    free (j.same);
    return good;
}
