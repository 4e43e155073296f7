/* node_agent/extract/event_db/read_event_db.c - read event databases
 *
 * ascend_pytorch_profiler*.db, ascend_mindspore_profiler*.db and msprof_*.db
 * have all events, task by task.  The tables are computed from them as by the
 * analysis of the profiler.  See doc/formats.md, "Event databases".
 */
#include "extract/event_db/read_event_db.h"
#include "extract/event_db/event_db.h"

#include "base/units.h"
#include "extract/sink/capture_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SET(table) (1u << (table))
#define COMM_TABLES \
    (SET (TABLE_TIME) | SET (TABLE_BANDWIDTH) | SET (TABLE_MATRIX))
#define FOUR_TABLES (COMM_TABLES | SET (TABLE_STEP))
#define KERNEL_TABLES (SET (TABLE_OPERATOR) | SET (TABLE_KERNEL))
#define TASK_TABLES \
    (FOUR_TABLES | SET (TABLE_STEP_EXTRA) | KERNEL_TABLES | SET (TABLE_API))

// instructions of SQLite for each byte: there are many small queries by id, and
// a sort if a table has no primary key
#define STEPS_OF_BYTE 32

static bool any_row (struct event_db *e, const char *table, const char *sql)
{
    struct event_query q = event_ask (e, table, "", sql);
    bool any = event_next (&q);

    (void)event_end (&q);
    return any;
}

/* Read when collecting began: earlier tasks do not count. */
static bool load_session (struct event_db *e)
{
    struct event_query q = event_ask (e, "SESSION_TIME_INFO", "startTimeNs",
                                      NULL);

    if (event_next (&q) && !event_time (q.st, 0, &e->began))
        e->began = 0;
    (void)event_end (&q);
    return e->how == READING_WHOLE;
}

/* Choose the way of communication: databases of 2024 have a number for the
 * host, and use tasks.  This is inferred from observed files.
 */
static bool load_way (struct event_db *e)
{
    struct event_query q = event_ask (e, "HOST_INFO", "hostUid", NULL);

    e->by_tasks = event_next (&q) &&
                  sqlite3_column_type (q.st, 0) == SQLITE_INTEGER;
    (void)event_end (&q);
    return e->how == READING_WHOLE;
}

static bool load_devices (struct event_db *e)
{
    struct event_query q = event_ask (e, "RANK_DEVICE_MAP", "deviceId", NULL);

    while (event_next (&q)) {
        int64_t device = sqlite3_column_int64 (q.st, 0);

        if (device >= 0 && device <= INT32_MAX &&
            sqlite3_column_type (q.st, 0) == SQLITE_INTEGER &&
            !event_note_device (e, device))
            break;
    }
    return event_end (&q);
}

/* Whether the tables of ops are complete.  The profiler writes one table after
 * the other and does not rename the file, so a truncated database lacks some,
 * and sums over the others would be wrong.
 */
static bool has_rows_of_ops (struct event_db *e)
{
    return e->has_ops ||
           !any_row (e, "COMMUNICATION_TASK_INFO",
                     "SELECT 1 FROM COMMUNICATION_TASK_INFO LIMIT 1") ||
           event_damage (e, "COMMUNICATION_TASK_INFO has rows, but "
                         "COMMUNICATION_OP has none");
}

/* Whether the tables to which tasks refer are complete. */
static bool has_rows_of_tasks (struct event_db *e)
{
    static const struct {
        enum event_enum which;
        const char *table;
    } needed[] = {
        { ENUM_TRANSPORT, "ENUM_HCCL_TRANSPORT_TYPE" },
        { ENUM_LINK, "ENUM_HCCL_LINK_TYPE" },
        { ENUM_RDMA, "ENUM_HCCL_RDMA_TYPE" },
    };

    if (e->has_calls && !event_enum_has (e, ENUM_API, API_NODE))
        return event_damage (e, "CANN_API has rows, but ENUM_API_TYPE has no "
                             "\"node\"");
    if (!e->levels && !e->has_compute)
        return true;
    if (!any_row (e, "TASK", "SELECT 1 FROM TASK LIMIT 1"))
        return event_damage (e, "other tables have tasks, but TASK has no "
                             "rows");
    for (size_t i = 0; i < sizeof (needed) / sizeof (needed[0]); i++) {
        if (e->levels && e->enums[needed[i].which].n == 0)
            return event_damage (e, "COMMUNICATION_TASK_INFO has rows, but %s "
                                 "has none", needed[i].table);
    }
    return true;
}

/* Choose the source of ops: the database itself, or marks.  'tasks' tells
 * whether tasks are needed.
 */
static bool load_sources (struct event_db *e, unsigned want)
{
    e->tasks = want & (FOUR_TABLES | KERNEL_TABLES);
    if (!event_load_enums (e) || !load_session (e) || !load_devices (e) ||
        !load_way (e) || !event_load_steps (e))
        return false;
    if (!e->tasks)              // ops may still have devices
        return e->ndevices > 0 || event_load_ops (e);
    e->has_compute = any_row (e, "COMPUTE_TASK_INFO",
                              "SELECT 1 FROM COMPUTE_TASK_INFO LIMIT 1");
    if (e->how != READING_WHOLE || !event_load_ops (e) ||
        !has_rows_of_ops (e) || e->how != READING_WHOLE)
        return false;
    if (!e->has_ops && !event_load_marks (e))
        return false;
    if (e->marks && e->nops == 0 && e->has_compute) {
        event_marks_fini (e->marks);    // these are other marks
        e->marks = NULL;
    }
    e->tasks = want & SET (TABLE_STEP) ||
               (want & COMM_TABLES && (e->has_ops || e->marks)) ||
               (want & KERNEL_TABLES && e->has_compute);
    event_order_ops (e);
    return true;
}

static bool make_sorters (struct event_db *e, bool tasks)
{
    e->api = sorter_create (2, 1);
    e->by_connection = sorter_create (4, 1);
    e->infos = sorter_create (5, 1);
    e->op_tasks = sorter_create (6, 2);
    e->spans = sorter_create (4, 2);
    if (tasks)
        e->by_task = sorter_create (4, 1);
    return (e->api && e->by_connection && e->infos && e->op_tasks &&
            e->spans && (e->by_task || !tasks)) ||
           event_no_memory (e);
}

/* Read calls and tasks, and join them. */
static bool load_tasks (struct event_db *e, unsigned want)
{
    bool infos = want & FOUR_TABLES && e->has_ops && e->tasks;

    if (!make_sorters (e, e->has_compute || infos))
        return false;
    if ((e->tasks || e->want_apis) && !event_load_api (e))
        return false;
    if (infos && !event_load_infos (e))
        return false;
    e->by_tasks = e->by_tasks && e->has_infos;
    return !e->tasks || (has_rows_of_tasks (e) && event_load_tasks (e) &&
                         event_join_connections (e) && event_join_tasks (e));
}

/* Set the verdict of a table that was sent, or that has no content. */
static void given (struct event_db *e, struct verdict *v, enum table_id table,
                   uint64_t before)
{
    v[table].how = e->src->rows[table] > before ? READING_WHOLE
                                                : READING_ABSENT;
}

/* Whether tasks of ops are missing: Level1 records them, unless a rank only
 * communicates with itself.
 */
static bool lost_levels (const struct event_db *e)
{
    const struct capture *c = e->src->capture;

    return e->has_ops && !e->levels && c->world_size != 1 &&
           (strcmp (c->level, "Level1") == 0 ||
            strcmp (c->level, "Level2") == 0);
}

/* The verdict on a table that was computed from ops. */
static struct verdict comm_verdict (const struct event_db *e, unsigned table)
{
    struct verdict v = { READING_WHOLE, { "" } };

    if (table == TABLE_MATRIX && e->many_links) {
        v.how = READING_DAMAGED;
        (void)err_set (&v.why, EBADMSG, "%s: more links in one step than can "
                       "be folded", e->db->file.name);
    } else if (lost_levels (e)) {
        v.how = READING_DAMAGED;
        (void)err_set (&v.why, EBADMSG, "%s: profiled at %s, but it has no "
                       "task of an op",
                       e->db->file.name, e->src->capture->level);
    }
    return v;
}

/* Send the tables that are computed from tasks. */
static void give_tasks (struct event_db *e, unsigned want, struct verdict *v)
{
    bool times = want & SET (TABLE_STEP), extra = want & SET (TABLE_STEP_EXTRA);
    uint64_t before[TABLE_COUNT];

    memcpy (before, e->src->rows, sizeof (before));
    if ((times || extra)) {
        if (!event_give_steps (e, times, extra))
            return;
        if (times && (e->has_tasks || e->nops > 0 || e->marks))
            v[TABLE_STEP].how = READING_WHOLE;
        if (extra)
            given (e, v, TABLE_STEP_EXTRA, before[TABLE_STEP_EXTRA]);
    }
    if (want & COMM_TABLES && (e->has_ops || e->marks)) {
        if (!event_give_comm (e, want))
            return;
        for (unsigned t = 0; t < TABLE_COUNT; t++) {
            if (COMM_TABLES & want & SET (t))
                v[t] = comm_verdict (e, t);
        }
    }
    if (e->want_operators && event_give_operators (e))
        given (e, v, TABLE_OPERATOR, before[TABLE_OPERATOR]);
    if (e->want_kernels && e->how == READING_WHOLE && event_give_kernels (e))
        given (e, v, TABLE_KERNEL, before[TABLE_KERNEL]);
    if (e->want_apis && e->how == READING_WHOLE && event_give_apis (e))
        given (e, v, TABLE_API, before[TABLE_API]);
}

/* Set verdicts: the error that ended the reading, or that of skipped rows,
 * applies to all that was read since then.
 */
static void judge_tables (struct event_db *e, unsigned tables,
                          struct verdict *v)
{
    struct err err = { "" };
    enum reading how = e->how;

    if (how == READING_DAMAGED)
        err = e->why;
    else if (how == READING_WHOLE && e->bad_rows > 0) {
        how = READING_DAMAGED;
        (void)err_set (&err, 0, "%s; bad rows in all: %llu", e->bad.text,
                       (unsigned long long)e->bad_rows);
    } else if (how == READING_WHOLE) {
        how = profiler_db_verdict (e->db, "STRING_IDS", &err);
    }
    for (unsigned t = 0; t < TABLE_COUNT && how == READING_DAMAGED; t++) {
        // rows that were sent before the error remain valid
        if (tables >> t & 1 &&
            (e->how == READING_WHOLE ? v[t].how == READING_WHOLE
                                     : v[t].how == READING_ABSENT))
            v[t] = (struct verdict){ READING_DAMAGED, err };
    }
    if (e->how == READING_DAMAGED)
        e->how = READING_WHOLE;
    e->bad_rows = 0;
    e->db->bad_utf8 = e->db->long_texts = 0;
}

static void give_own (struct event_db *e, unsigned want, struct verdict *v)
{
    static const struct {
        enum table_id table;
        bool (*give) (struct event_db *e);
    } own[] = {
        { TABLE_INFO, event_give_info }, { TABLE_MEMORY, event_give_memory },
        { TABLE_LINK, event_give_links }, { TABLE_RANGE, event_give_ranges },
    };

    for (size_t i = 0; i < sizeof (own) / sizeof (own[0]); i++) {
        uint64_t before = e->src->rows[own[i].table];

        if (!(want & SET (own[i].table)) || e->how != READING_WHOLE)
            continue;
        if (own[i].give (e)) {
            given (e, v, own[i].table, before);
            if (CAPTURE_FACTS_TABLES & SET (own[i].table))
                v[own[i].table].how = READING_WHOLE;    // it is sent later
        }
        judge_tables (e, SET (own[i].table), v);
    }
}

/* Report what is uncertain about the times of steps. */
static void tell_way (struct event_db *e)
{
    if (e->ndiffer > 0 && e->how == READING_WHOLE)
        capture_reason (e->src->capture, "steps communicate as long as their "
                        "%s (HOST_INFO.hostUid is %s, as in databases of "
                        "%s): %s%s", e->by_tasks ? "tasks" : "ops",
                        e->by_tasks ? "a number" : "no number",
                        e->by_tasks ? "2024" : "2025", e->differ,
                        e->ndiffer > 1 ? "; others differ, too" : "");
}

/* Report why tables are absent. */
static void tell_limits (struct event_db *e, unsigned want)
{
    struct capture *c = e->src->capture;

    if (!(want & COMM_TABLES) || e->how != READING_WHOLE || e->nops == 0)
        return;
    if (e->marks)
        capture_reason (c, "communication was recorded as marks only: elapsed "
                        "times and payloads are known, waiting and links are "
                        "not");
    else if (!e->levels && !lost_levels (e))
        capture_reason (c, "only elapsed times and payloads of communication "
                        "were recorded; Level1 has waiting and links");
    else if (e->no_master > 0)
        capture_reason (c, "no task is marked as master of %u op%s: their "
                        "waiting is not known", e->no_master,
                        units_s (e->no_master));
}

static void event_fini (struct event_db *e)
{
    (void)sqlite3_finalize (e->text);
    map_fini (&e->task_types);
    free (e->steps);
    free (e->by_host);
    free (e->ops);
    event_marks_fini (e->marks);
    sorter_destroy (e->api);
    sorter_destroy (e->by_connection);
    sorter_destroy (e->by_task);
    sorter_destroy (e->infos);
    sorter_destroy (e->op_tasks);
    sorter_destroy (e->spans);
    map_fini (&e->operators);
    map_fini (&e->apis);
    event_kernels_fini (e->kernels);
    profiler_db_close (e->db);
}

/* With 'marks' read the tables from marks, if the database has nothing better;
 * otherwise read everything else.
 */
static void read_tables (struct source *src, unsigned want, bool marks,
                         struct verdict *v, struct err *err)
{
    struct event_db e = { .src = src, .how = READING_WHOLE,
                          .task_types = MAP (struct event_task_type, 1),
                          .operators = EVENT_SUMS, .apis = EVENT_SUMS };
    struct err why = { "" };
    unsigned tasks = want & TASK_TABLES;
    enum reading how = profiler_db_open (src, src->event_dir, src->event_db,
                                         &e.db, &why);

    if (how != READING_WHOLE) {
        verdict_for_tables (v, want, how, &why, err);
        return;
    }
    e.db->steps_of_byte = STEPS_OF_BYTE;
    if (load_sources (&e, want)) {
        e.want_operators = tasks & SET (TABLE_OPERATOR) && e.has_compute &&
                           e.tasks;
        e.want_kernels = tasks & SET (TABLE_KERNEL) && e.has_compute &&
                         e.tasks;
        if ((e.marks != NULL) != marks) {       // another call sends them
            tasks &= ~FOUR_TABLES;
            e.tasks = e.want_operators || e.want_kernels;
        }
        e.want_apis = tasks & SET (TABLE_API);
        if (tasks && load_tasks (&e, tasks))
            give_tasks (&e, tasks, v);
        tell_way (&e);
        tell_limits (&e, tasks);
    }
    if (e.how == READING_STOPPED)
        *err = e.why;
    else
        judge_tables (&e, tasks, v);
    give_own (&e, want, v);
    if (e.how == READING_STOPPED)
        *err = e.why;
    event_fini (&e);
}

bool event_db_has_steps (struct source *src)
{
    struct event_db e = { .src = src, .how = READING_WHOLE };
    bool any;

    if (!src->event_db[0] ||
        profiler_db_open (src, src->event_dir, src->event_db, &e.db, NULL) !=
            READING_WHOLE)
        return false;
    any = any_row (&e, "STEP_TIME", "SELECT 1 FROM STEP_TIME LIMIT 1");
    profiler_db_close (e.db);
    return any;
}

void read_event_db (struct source *src, unsigned want, struct verdict *v,
                    struct err *err)
{
    read_tables (src, want, false, v, err);
}

void read_marks (struct source *src, unsigned want, struct verdict *v,
                 struct err *err)
{
    read_tables (src, want, true, v, err);
}
