/* node_agent/extract/event_db/event_tasks.c - read the tasks of an event
 * database
 *
 * TASK has no index for the necessary joins, and no file is written beside a
 * capture.  So each table is read once, in its own order, into sorters, which
 * return related records together (event_join.c).
 */
#include "extract/event_db/event_db.h"

#include <stdlib.h>
#include <string.h>

#define TASK_BYTES_MAX (INT64_C (1) << 42)     // no task moves more
#define NO_CONNECTION INT64_C (4294967295)

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

/* Get a number of 32 bits, or the value of the profiler for unknown. */
static uint32_t small (const struct db_row *row, unsigned column)
{
    int64_t v = row->value[column];

    return row->integers >> column & 1 && v >= 0 && v < UINT32_MAX
               ? (uint32_t)v
               : UINT32_MAX;
}

static bool take_info (struct event_db *e, const struct db_row *row,
                       int64_t op)
{
    const int64_t *v = row->value;
    int64_t bytes = v[INFO_BYTES];
    uint32_t plane = small (row, INFO_PLANE), from = small (row, INFO_FROM);
    uint32_t to = small (row, INFO_TO);
    struct err err = { "" };
    int64_t record[5];
    uint8_t kind;
    int rc, codes;

    if (!event_task_kind (e, v[INFO_TYPE], &kind))
        return false;
    if (to == EVENT_NO_RANK && row->integers >> INFO_TO & 1)
        to = from;              // absent: on this device
    codes = kind | event_code (e, ENUM_TRANSPORT, v[INFO_TRANSPORT]) << 4 |
            event_code (e, ENUM_LINK, v[INFO_LINK]) << 8;
    if (event_code (e, ENUM_RDMA, v[INFO_RDMA]))
        codes |= EVENT_CODE_PAYLOAD;
    if (v[INFO_MASTER] == 1)
        codes |= EVENT_CODE_MASTER;
    e->levels = e->levels || plane != EVENT_NO_PLANE;
    record[0] = v[INFO_TASK];
    record[1] = op << 32 | plane;
    record[2] = bytes > 0 && bytes < TASK_BYTES_MAX ? bytes : 0;
    record[3] = (int64_t)((uint64_t)from << 32 | to);
    record[4] = codes;
    if ((rc = sorter_add (e->infos, record, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    return true;
}

static bool take_infos (struct event_db *e, struct event_rows *rows,
                        const uint32_t *index)
{
    int64_t id, last_id = 0, op = -1;
    const struct db_row *row;
    bool first = true;
    int rc;

    while ((rc = event_rows_next (e, rows, &row)) == 1) {
        id = row->value[INFO_OP];
        if (first || id != last_id)
            op = find_op (e, index, id);
        first = false;
        last_id = id;
        if (op >= 0 && !take_info (e, row, op))
            return false;
        if (op < 0 && small (row, INFO_PLANE) != EVENT_NO_PLANE)
            event_note_bad_row (e, "COMMUNICATION_TASK_INFO",
                                "a task is of an op that does not exist", id);
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
    struct event_rows *rows;
    uint32_t *index;
    int rc;

    if (!event_has (e, "COMMUNICATION_TASK_INFO", names, INFO_COLUMNS, have))
        return e->how == READING_WHOLE;
    if (!event_need (e, "COMMUNICATION_TASK_INFO", names, have, INFO_MASTER))
        return false;
    e->has_infos = true;
    e->has_masters = have[INFO_MASTER];
    if (!(index = event_index_ops (e, event_by_id)))
        return false;
    if ((rows = event_rows_open (e, "COMMUNICATION_TASK_INFO", names, have,
                                 INFO_COLUMNS, false)))
        good = take_infos (e, rows, index);
    event_rows_close (rows);
    free (index);
    if (good && (rc = sorter_finish (e->infos, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    return good;
}

/* ---- tasks ---- */

enum { TASK_START, TASK_END, TASK_DEVICE, TASK_CONNECTION, TASK_ID,
       TASK_COLUMNS };

/* Consecutive tasks of one connection, which become one record. */
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

static bool take_task (struct event_db *e, const struct db_row *row,
                       struct joined *j)
{
    int64_t device = row->value[TASK_DEVICE];
    int64_t task[4] = { row->value[TASK_ID], 0, 0, device };
    int64_t connection = row->value[TASK_CONNECTION];
    struct err err = { "" };
    int rc;

    if (!event_rows_time (row, TASK_START, &task[1]) ||
        !event_rows_time (row, TASK_END, &task[2]) || task[2] < task[1] ||
        device < 0 || device > INT32_MAX) {
        event_note_bad_row (e, "TASK", "a task has impossible times or an "
                                       "impossible device",
                            task[0]);
        return true;
    }
    if (!event_note_device (e, device))
        return false;
    if (e->by_task && row->numbers >> TASK_ID & 1 &&
        (rc = sorter_add (e->by_task, task, &err)) < 0)
        return event_sorter_failed (e, rc, &err);
    task[0] = connection;
    return connection == NO_CONNECTION || put_connection (e, j, task);
}

bool event_load_tasks (struct event_db *e)
{
    static const char *const names[TASK_COLUMNS] = {
        "startNs", "endNs", "deviceId", "connectionId", "globalTaskId",
    };
    bool have[TASK_COLUMNS] = { false };
    struct joined j = { .any = false };
    struct event_rows *rows;
    const struct db_row *row;
    int rc;

    if (!event_has (e, "TASK", names, TASK_COLUMNS, have))
        return e->how == READING_WHOLE;
    if (!event_need (e, "TASK", names, have, TASK_COLUMNS))
        return false;
    e->has_tasks = true;
    if (!(rows = event_rows_open (e, "TASK", names, have, TASK_COLUMNS,
                                  false)))
        return false;
    while ((rc = event_rows_next (e, rows, &row)) == 1 &&
           take_task (e, row, &j))
        continue;
    event_rows_close (rows);
    return rc == 0 && put_connection (e, &j, NULL);
}
