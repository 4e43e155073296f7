/* node_agent/extract/event_db/event_join.c - join ops and tasks of an event
 * database
 *
 * The sorters of event_tasks.c return records in the same order, so one merge
 * over them suffices.
 */
#include "extract/event_db/event_db.h"
#include "extract/rows/kernel_fold.h"

#include <stdlib.h>
#include <string.h>

#define SAME_TASK_MAX 1024      // records of a task id

/* ---- by connection: steps, devices of ops, times of marks ---- */

struct by_connection {
    struct event_db *e;
    uint32_t *index;            // ops by connection
    uint32_t op;                // in 'index'
    int64_t call[2];            // connection and step
    int more;                   // 1: 'call' is valid
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

    if (op->own_device)
        return;
    if (e->marks) {             // its times are those of its tasks
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

/* Join the calls of a connection with all of its tasks. */
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

/* Join the ops of a connection with its tasks on one device. */
static bool meet_ops (struct by_connection *j, const int64_t *task)
{
    struct event_db *e = j->e;

    while (j->op < e->nops && e->ops[j->index[j->op]].connection < task[0])
        j->op++;
    for (uint32_t i = j->op; i < e->nops; i++) {
        struct event_op *op = &e->ops[j->index[i]];

        if (op->connection != task[0])
            break;
        if (i > j->op && !event_account_work (e, 1))
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

/* Steps whose calls launched nothing keep the times of the host. */
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
    bool own = true, good;
    int rc;

    for (uint32_t i = 0; i < e->nops && own; i++)
        own = e->ops[i].own_device;

    if ((rc = sorter_finish (e->api, &j.err)) < 0 ||
        (rc = sorter_finish (e->by_connection, &j.err)) < 0 ||
        (j.more = rc = sorter_next (e->api, j.call, &j.err)) < 0)
        return event_sorter_failed (e, rc, &j.err);
    if (!(j.index = event_index_ops (e, event_by_connection)))
        return false;
    good = meet_all (&j, own);
    free (j.index);
    end_steps (e);
    return good;
}

/* ---- by task: what computes, and the tasks of ops ---- */

struct by_task {
    struct event_db *e;
    struct event_rows *compute; // NULL: after its last row
    int64_t id, op_type, core;  // ids in its row
    int64_t name, shapes;       // likewise, or KERNEL_NO_TEXT
    bool met;                   // its task was found
    int64_t next[5];            // next record of the infos
    int more;                   // 1: 'next' is valid
    int64_t (*same)[5];         // infos of the current task id
    unsigned nsame;
    int64_t same_id;
    int64_t held[4];            // its first task; further ones show that it was
                                // replayed, and decide what counts
    bool holds, several;        // replayed, and decide what counts
};

enum { COMPUTE_ID, COMPUTE_OP, COMPUTE_CORE, COMPUTE_NAME, COMPUTE_SHAPES,
       COMPUTE_COLUMNS };

/* Count rows whose tasks are missing in TASK. */
static void lost_compute (struct by_task *j)
{
    if (!j->met)
        event_note_bad_row (j->e, "COMPUTE_TASK_INFO", "a task is not in TASK",
                            j->id);
}

static void lost_info (struct by_task *j)
{
    if ((uint32_t)j->next[1] != EVENT_NO_PLANE)     // it has information
        event_note_bad_row (j->e, "COMMUNICATION_TASK_INFO",
                            "a task is not in TASK",
                            j->next[0]);
}

/* The id of a string, if there is the column and a value. */
static int64_t string_of (const struct db_row *row, unsigned column)
{
    return row->integers >> column & 1 ? row->value[column] : KERNEL_NO_TEXT;
}

static bool next_compute (struct by_task *j)
{
    const struct db_row *row;
    int rc = event_rows_next (j->e, j->compute, &row);

    j->met = j->met && rc == 1 && row->value[COMPUTE_ID] == j->id;
    if (rc == 1) {
        j->id = row->value[COMPUTE_ID];
        j->op_type = row->value[COMPUTE_OP];
        j->core = row->value[COMPUTE_CORE];
        j->name = string_of (row, COMPUTE_NAME);
        j->shapes = string_of (row, COMPUTE_SHAPES);
        return true;
    }
    event_rows_close (j->compute);
    j->compute = NULL;
    return rc == 0;
}

/* Go to the row of a task, or past its position. */
static bool skip_compute (struct by_task *j, int64_t id)
{
    while (j->compute && j->id < id) {
        lost_compute (j);
        if (!next_compute (j))
            return false;
    }
    return true;
}

static bool add_span (struct event_db *e, const int64_t *task, int what)
{
    const int64_t span[4] = { task[3], task[1], task[2], what };
    struct err err = { "" };
    int rc;

    return (rc = sorter_add (e->spans, span, &err)) == 0 ||
           event_sorter_failed (e, rc, &err);
}

static bool meet_compute (struct by_task *j, const int64_t *task)
{
    struct event_db *e = j->e;

    if (!skip_compute (j, task[0]))
        return false;
    if (!j->compute || j->id != task[0])
        return true;
    j->met = true;
    if (!add_span (e, task, SPAN_COMPUTE))
        return false;
    if (e->want_kernels &&
        !event_kernels_add (e, task, (const int64_t[]){ j->name, j->op_type,
                                                        j->core, j->shapes }))
        return false;
    return !e->want_operators ||
           event_sum_add (e, &e->operators, j->op_type, j->core, task[3],
                          task[1], task[2]);
}

/* Write a task of an op to the sorter. */
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
        return true;            // the profiler skips it, too
    if (info[4] & EVENT_CODE_MASTER && task[1] < op->began)
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
    return j->nsame < 2 || event_account_work (j->e, j->nsame);
}

static bool end_held (struct by_task *j)
{
    bool holds = j->holds;

    j->holds = false;
    return !holds || j->several || give_held (j, j->held);
}

/* Collect the infos of a new task id. */
static bool event_join_collect (struct by_task *j, int64_t id)
{
    struct event_db *e = j->e;
    struct err err = { "" };

    while (j->more == 1 && j->next[0] < id) {
        lost_info (j);
        j->more = sorter_next (e->infos, j->next, &err);
    }
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
    bool first = !j->holds || j->same_id != task[0];

    if (first && (!end_held (j) || !event_join_collect (j, task[0])))
        return false;
    if (j->nsame > 0 && !add_span (j->e, task, SPAN_TASK))
        return false;
    if (first) {
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

/* After the last task: remaining rows have no task. */
static bool end_all (struct by_task *j)
{
    struct err err = { "" };

    while (j->more == 1) {
        lost_info (j);
        j->more = sorter_next (j->e->infos, j->next, &err);
    }
    if (j->more < 0)
        return event_sorter_failed (j->e, j->more, &err);
    while (j->compute) {
        lost_compute (j);
        if (!next_compute (j))
            return false;
    }
    return true;
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
    return rc < 0 ? event_sorter_failed (e, rc, &err)
                  : end_held (j) && end_all (j);
}

bool event_join_tasks (struct event_db *e)
{
    static const char *const names[COMPUTE_COLUMNS] = {
        "globalTaskId", "opType", "taskType", "name", "inputShapes",
    };
    bool have[COMPUTE_COLUMNS] = { false }, good;
    struct by_task j = { .e = e };
    struct err err = { "" };
    int rc;

    if (!e->by_task)
        return true;
    if ((rc = sorter_finish (e->by_task, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    if (e->want_kernels && !event_kernels_begin (e))
        return false;
    if (event_has (e, "COMPUTE_TASK_INFO", names, COMPUTE_COLUMNS, have) &&
        (!event_need (e, "COMPUTE_TASK_INFO", names, have, COMPUTE_OP) ||
         !(j.compute = event_rows_open (e, "COMPUTE_TASK_INFO", names, have,
                                        COMPUTE_COLUMNS, true))))
        return false;
    if (!(j.same = calloc (SAME_TASK_MAX, sizeof (*j.same))))
        good = event_no_memory (e);
    else
        good = e->how == READING_WHOLE && join_all (&j);
    event_rows_close (j.compute);
    free (j.same);
    return good;
}
