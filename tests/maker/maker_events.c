// An event database: ops with their tasks, kernels, and steps of the host.

#include "maker.h"

#include "event_schema.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000
#define NS_PER_TICK 20
#define FIRST_STRING 100 // behind those of the schema
#define SQL_ROOM 1024
#define NO_RANK ((int64_t)UINT32_MAX)
#define NO_MODEL ((int64_t)UINT32_MAX)
#define COMPUTE_STREAM 2
#define FIRST_COMM_STREAM 16
#define LOCAL_PLANE 0
#define MASTER_PLANE 1
#define FIRST_PLANE 2
#define CLOSING_COLLECTIVE 4 // tasks that close an RDMA burst
#define CLOSING_P2P 2

// Numbers of strings and enumerations that EVENT_SCHEMA has.
enum string { S_MEMCPY = 1, S_WAIT = 3, S_MATMUL = 6, S_CORE, S_RDMA_SEND };
enum transport_id { TRANSPORT_SDMA = 10, TRANSPORT_RDMA, TRANSPORT_LOCAL };
enum link_id { LINK_ON_CHIP = 20, LINK_HCCS, LINK_PCIE, LINK_ROCE, LINK_SIO };
enum rdma_id { RDMA_NOTIFY = 30, RDMA_PAYLOAD };
enum { INVALID = 99, TYPE_FP32 = 41, API_NODE = 50 };

enum insert { I_STRING, I_STEP, I_CALL, I_TASK, I_KERNEL, I_OP, I_COMM };
#define INSERTS (I_COMM + 1)

static const char *const inserts[INSERTS] = {
    [I_STRING] = "INSERT INTO STRING_IDS VALUES (?,?)",
    [I_STEP] = "INSERT INTO STEP_TIME VALUES (?,?,?)",
    [I_CALL] = "INSERT INTO CANN_API VALUES (?,?,?,?,?,?)",
    [I_TASK] = "INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [I_KERNEL] = "INSERT INTO COMPUTE_TASK_INFO VALUES (?,?,?,?,?,?,?)",
    [I_OP] = "INSERT INTO COMMUNICATION_OP VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    [I_COMM] = ("INSERT INTO COMMUNICATION_TASK_INFO VALUES (?,?,?,?,?,?,?,"
                "?,?,?,?,?,?,?)"),
};

struct events {
    const char *path;
    const struct capture *c;
    sqlite3 *db;
    sqlite3_stmt *insert[INSERTS];
    const struct step_row *row; // of the step that is written
    int64_t strings;
    int64_t groups[MAX_KINDS]; // their strings
    int64_t kinds[KERNEL_KINDS][4]; // the same: name, type, core, shapes
    int64_t connection;
    int64_t task;
    int64_t op;
};

static _Noreturn void fail (const struct events *e)
{
    die_text (e->path, sqlite3_errmsg (e->db));
}

static void execute (const struct events *e, const char *sql)
{
    if (sqlite3_exec (e->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail (e);
}

static void put_values (const struct events *e, enum insert what,
                        const int64_t *values, int count)
{
    sqlite3_stmt *st = e->insert[what];
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64 (st, i + 1, values[i]);
    if (sqlite3_step (st) != SQLITE_DONE || sqlite3_reset (st) != SQLITE_OK)
        fail (e);
}

#define PUT(e, what, ...)                                                     \
    put_values ((e), (what), (int64_t[]){__VA_ARGS__},                        \
                (int)(sizeof ((int64_t[]){__VA_ARGS__}) / sizeof (int64_t)))

static int64_t put_string (struct events *e, const char *text)
{
    sqlite3_stmt *st = e->insert[I_STRING];
    sqlite3_bind_int64 (st, 1, e->strings);
    sqlite3_bind_text (st, 2, text, -1, SQLITE_TRANSIENT);
    if (sqlite3_step (st) != SQLITE_DONE || sqlite3_reset (st) != SQLITE_OK)
        fail (e);
    return e->strings++;
}

static int64_t ns_of (const struct events *e, int64_t tick)
{
    return e->c->base_us * NS_PER_US + tick * NS_PER_TICK;
}

// ---- who and where ----

static void put_pair (const struct events *e, const char *table,
                      const char *name, const char *value)
{
    char *sql = sqlite3_mprintf ("INSERT INTO %s VALUES (%Q, %Q)", table, name,
                                 value);
    if (sql == NULL)
        die ("memory");
    execute (e, sql);
    sqlite3_free (sql);
}

static void put_meta (const struct events *e, const char *name,
                      void (*put) (struct json *, const char *,
                                   const struct capture *))
{
    char *text = NULL;
    size_t size = 0;
    struct json j = {.f = open_memstream (&text, &size)};
    if (j.f == NULL)
        die ("memory");
    put (&j, NULL, e->c);
    if (fclose (j.f) != 0)
        die ("memory");
    put_pair (e, "META_DATA", name, text);
    free (text);
}

static void put_host (const struct events *e)
{
    char uid[MAX_NAME];
    char name[MAX_NAME];
    execute (e, "CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT)");
    if (e->c->job->opt->no_host)
        return;
    put_host_uid (uid, e->c);
    put_host_name (name, e->c);
    put_pair (e, "HOST_INFO", uid, name);
}

static void put_identity (const struct events *e)
{
    const struct options *opt = e->c->job->opt;
    struct clocks at = clocks_of (e->c);
    char sql[SQL_ROOM];
    bool nameless = opt->no_rank || (opt->form & FORM_MSPROF) != 0;
    put_host (e);
    execute (e, "CREATE TABLE META_DATA (name TEXT, value TEXT);"
                "CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER, "
                "endTimeNs INTEGER)");
    put_pair (e, "META_DATA", "SCHEMA_VERSION", "1.0.0");
    if (!nameless && !opt->no_metadata)
        put_meta (e, "distributed_args", put_distributed);
    if (!nameless && !opt->no_metadata && !opt->no_groups)
        put_meta (e, "parallel_group_info", put_groups);
    for (int i = 0; i < opt->devices; i++) {
        snprintf (sql, sizeof sql, "INSERT INTO RANK_DEVICE_MAP VALUES (%d, "
                                   "%d)",
                  nameless ? -1 : claimed_rank (e->c), e->c->device + i);
        execute (e, sql);
    }
    snprintf (sql, sizeof sql,
              "INSERT INTO SESSION_TIME_INFO VALUES (%" PRId64 ", %" PRId64
              ")",
              at.start_ns, at.end_ns);
    execute (e, sql);
}

// ---- tasks ----

// The host call that leads to what begins at the tick.
static void put_call (struct events *e, int64_t tick)
{
    int64_t at = tick - e->row->prepare;
    e->connection++;
    PUT (e, I_CALL, ns_of (e, at), ns_of (e, at) + NS_PER_TICK, API_NODE, 77,
         e->connection, S_MATMUL);
}

static void put_task (struct events *e, int device, int stream, int64_t at,
                      int64_t length)
{
    PUT (e, I_TASK, ns_of (e, at), ns_of (e, at + length),
         e->c->device + device, e->connection, ++e->task, pid_of (e->c),
         S_CORE, NO_MODEL, stream, e->task, NO_MODEL);
}

static void put_kinds (struct events *e)
{
    char text[MAX_NAME];
    for (int i = 0; i < KERNEL_KINDS; i++) {
        const struct kernel_kind *k = &kernel_kinds[i];
        snprintf (text, sizeof text, "\"%s\"", k->shapes);
        e->kinds[i][0] = put_string (e, k->name);
        e->kinds[i][1] = put_string (e, k->type);
        e->kinds[i][2] = put_string (e, k->core);
        e->kinds[i][3] = put_string (e, text);
    }
}

static void put_kernel (struct events *e, int kind, int64_t at, int64_t length)
{
    const int64_t *k = e->kinds[kind];
    if (length <= 0)
        return;
    for (int device = 0; device < e->c->job->opt->devices; device++) {
        put_call (e, at);
        put_task (e, device, COMPUTE_STREAM, at, length);
        PUT (e, I_KERNEL, k[0], e->task, 20, 0, k[2], k[1], k[3]);
    }
}

struct plane {
    int number;
    int64_t at; // where its next task begins
    int64_t group;
};

static void put_comm (struct events *e, struct plane *p, enum string kind,
                      int64_t length, const struct link *l, int transport,
                      int link, int rdma, int64_t bytes)
{
    put_task (e, 0, FIRST_COMM_STREAM + p->number, p->at, length);
    PUT (e, I_COMM, kind, e->task, kind, p->number, p->group, 0, rdma,
         l != NULL ? l->src : 0, l != NULL ? l->dst : NO_RANK, transport,
         bytes, TYPE_FP32, link, e->op);
    p->at += length;
}

static void put_wait (struct events *e, struct plane *p, int64_t length)
{
    if (length > 0)
        put_comm (e, p, S_WAIT, length, NULL, TRANSPORT_LOCAL, LINK_ON_CHIP,
                  INVALID, 0);
}

// A payload, and the tasks that close its burst.
static void put_burst (struct events *e, struct plane *p, const struct link *l,
                       const struct packet *k, bool p2p)
{
    int closing = p2p ? CLOSING_P2P : CLOSING_COLLECTIVE;
    int64_t first = k->ticks / 2;
    put_comm (e, p, S_RDMA_SEND, first, l, TRANSPORT_RDMA, LINK_ROCE,
              RDMA_PAYLOAD, k->bytes);
    for (int i = 0; i < closing - 1; i++)
        put_comm (e, p, i % 2 == 0 ? S_RDMA_SEND : S_WAIT, 1, l,
                  TRANSPORT_RDMA, LINK_ROCE, i % 2 == 0 ? RDMA_NOTIFY : INVALID,
                  0);
    put_comm (e, p, S_WAIT, k->ticks - first - (closing - 1), l,
              TRANSPORT_RDMA, LINK_ROCE, INVALID, 0);
}

static void put_link (struct events *e, struct plane *p, const struct link *l,
                      bool p2p)
{
    static const int links[] = {[T_HCCS] = LINK_HCCS,
                                [T_PCIE] = LINK_PCIE,
                                [T_SDMA] = LINK_HCCS,
                                [T_SIO] = LINK_SIO,
                                [T_LOCAL] = LINK_ON_CHIP};
    for (size_t i = 0; i < l->packet_count; i++) {
        const struct packet *k = &e->c->packets[l->first_packet + i];
        if (l->transport == T_RDMA)
            put_burst (e, p, l, k, p2p);
        else
            put_comm (e, p, S_MEMCPY, k->ticks, l, TRANSPORT_SDMA,
                      links[l->transport], INVALID, k->bytes);
    }
}

// The master plane waits, moves what the first link moves, and waits again.
static void put_tasks (struct events *e, const struct op *op, int64_t group)
{
    const struct link *l = e->c->links + op->first_link;
    const struct link *end = l + op->link_count;
    struct plane local = {LOCAL_PLANE, op->begin, group};
    struct plane master = {MASTER_PLANE, op->begin, group};
    int next = FIRST_PLANE;
    bool on_master = op->has_transit;
    put_wait (e, &master, op->sync);
    for (; l < end; l++) {
        struct plane other = {next, op->begin + 1, group};
        if (l->src == l->dst) {
            put_link (e, &local, l, op->p2p);
        } else if (on_master) {
            put_link (e, &master, l, op->p2p);
            on_master = false;
        } else {
            put_link (e, &other, l, op->p2p);
            next++;
        }
    }
    put_wait (e, &master, op->wait - op->sync);
}

static void put_op (struct events *e, const struct op *op)
{
    int kind = e->c->job->groups[op->group].kind;
    int64_t group = e->groups[kind];
    put_call (e, op->begin);
    e->op++;
    PUT (e, I_OP, put_string (e, op->name), ns_of (e, op->begin),
         ns_of (e, op->begin + op->elapse), e->connection, group, e->op, 0, 0,
         TYPE_FP32, S_MATMUL, 4097000, S_MATMUL);
    if (e->c->job->opt->level > 0)
        put_tasks (e, op, group);
    else // it is known that it ran, no more
        put_task (e, 0, FIRST_COMM_STREAM, op->begin, op->elapse);
}

static void put_step (struct events *e, int step)
{
    const struct options *opt = e->c->job->opt;
    const struct op *op = e->c->ops + (size_t)step * (size_t)opt->ops;
    int64_t begin = e->row->first_tick - e->row->prepare;
    if ((opt->form & FORM_MSPROF) == 0)
        PUT (e, I_STEP, e->row->id, ns_of (e, begin),
             ns_of (e, begin + e->row->end_tick - e->row->first_tick));
    for (int i = 0; i < opt->ops; i++, op++) {
        put_kernel (e, i % KERNEL_KINDS, op->begin - op->compute,
                    op->compute + op->overlap);
        put_op (e, op);
    }
    put_kernel (e, 0, e->row->end_tick - e->row->tail, e->row->tail);
}

void write_event_db (const struct capture *c, const char *path)
{
    struct events e = {.path = path, .c = c, .strings = FIRST_STRING};
    close_file (create_file (path), path); // with our mode
    if (sqlite3_open (path, &e.db) != SQLITE_OK)
        fail (&e);
    execute (&e, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
                 EVENT_SCHEMA "DELETE FROM RANK_DEVICE_MAP;"
                 "ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN inputShapes INTEGER");
    for (int i = 0; i < INSERTS; i++) {
        if (sqlite3_prepare_v2 (e.db, inserts[i], -1, &e.insert[i], NULL) !=
            SQLITE_OK)
            fail (&e);
    }
    put_identity (&e);
    put_kinds (&e);
    for (int kind = 0; kind < c->job->kind_count; kind++)
        e.groups[kind] = put_string (
            &e, c->job->groups[c->job->group_of[kind][c->id.rank]].name);
    for (int step = 0; step < c->step_count; step++) {
        e.row = &c->steps[step];
        put_step (&e, step);
    }
    for (int i = 0; i < INSERTS; i++)
        sqlite3_finalize (e.insert[i]);
    execute (&e, "COMMIT");
    if (sqlite3_close (e.db) != SQLITE_OK)
        fail (&e);
}
