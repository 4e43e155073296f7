/* tests/bench/make_event_db.c - a large event database of one rank
 *
 *     make_event_db FILE STEPS OPS TASKS_OF_OP KERNELS
 *
 * OPS collectives in each step with TASKS_OF_OP tasks each, and KERNELS kernels
 * behind each op.  Tables, columns and the index are those of a real one; tasks
 * come in order of start, their ids nearly so, as there.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define T0 INT64_C (1736410576000000000)
#define PLANES 8

static sqlite3 *db;

static _Noreturn void die (void)
{
    (void)fprintf (stderr, "make_event_db: %s\n", sqlite3_errmsg (db));
    exit (EXIT_FAILURE);
}

static void run (const char *sql)
{
    if (sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die ();
}

static sqlite3_stmt *prepare (const char *sql)
{
    sqlite3_stmt *st;

    if (sqlite3_prepare_v2 (db, sql, -1, &st, NULL) != SQLITE_OK)
        die ();
    return st;
}

static void put (sqlite3_stmt *st, int n, const int64_t *v)
{
    for (int i = 0; i < n; i++)
        (void)sqlite3_bind_int64 (st, i + 1, v[i]);
    if (sqlite3_step (st) != SQLITE_DONE || sqlite3_reset (st) != SQLITE_OK)
        die ();
}

static const char schema[] =
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO STRING_IDS VALUES (1,'Memcpy'),(2,'Reduce_Inline'),"
    "(3,'Notify_Wait'),(4,'Notify_Record'),(5,'group_name_0'),(6,'MatMul'),"
    "(7,'AI_CORE'),(8,'aclnnMatMul');"
    "CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
    "INSERT INTO ENUM_HCCL_TRANSPORT_TYPE VALUES (0,'SDMA'),(1,'RDMA'),"
    "(2,'LOCAL'),(65535,'INVALID_TYPE');"
    "CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
    "INSERT INTO ENUM_HCCL_LINK_TYPE VALUES (0,'ON_CHIP'),(1,'HCCS'),"
    "(2,'PCIE'),(65535,'INVALID_TYPE');"
    "CREATE TABLE ENUM_HCCL_RDMA_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
    "INSERT INTO ENUM_HCCL_RDMA_TYPE VALUES (1,'RDMA_SEND_PAYLOAD');"
    "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
    "INSERT INTO ENUM_API_TYPE VALUES (10000,'node');"
    "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER,deviceId INTEGER);"
    "INSERT INTO RANK_DEVICE_MAP VALUES (0,0);"
    "CREATE TABLE STEP_TIME (id INTEGER,startNs INTEGER,endNs INTEGER);"
    "CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,"
    "globalTid INTEGER,connectionId INTEGER PRIMARY KEY,name INTEGER);"
    "CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,"
    "connectionId INTEGER,globalTaskId INTEGER,globalPid INTEGER,taskType "
    "INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,modelId "
    "INTEGER);"
    "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY "
    "KEY,blockDim INTEGER,mixBlockDim INTEGER,taskType INTEGER,opType INTEGER,"
    "inputFormats INTEGER,inputDataTypes INTEGER,inputShapes INTEGER,"
    "outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,"
    "attrInfo INTEGER);"
    "CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs "
    "INTEGER,connectionId INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,"
    "relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,count "
    "NUMERIC,opType INTEGER);"
    "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER,globalTaskId INTEGER,"
    "taskType INTEGER,planeId INTEGER,groupName INTEGER,notifyId INTEGER,"
    "rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,"
    "size INTEGER,dataType INTEGER,linkType INTEGER,opId INTEGER);"
    "BEGIN";

static sqlite3_stmt *tasks, *infos, *compute, *calls, *ops, *strings, *steps;
static int64_t now = T0, task, connection, op;

static void put_task (int64_t start, int64_t end, int64_t id, int64_t stream)
{
    put (tasks, 11, (int64_t[]){ start, end, 0, connection, id, 3136493, 0,
                                 4294967295, stream, id, 4294967295 });
}

static void put_call (void)
{
    put (calls, 6, (int64_t[]){ now - 5000, now - 3000, 10000, 77,
                                ++connection, 8 });
}

static void put_op (int n)
{
    int64_t start = now;
    char name[64];

    put_call ();
    op++;
    for (int i = 0; i < n; i++) {
        int wait = i % 3 == 0, plane = i % PLANES;
        // ids go by plane, tasks by start
        int64_t id = task + (i ^ 1);

        put_task (now, now + 900, id, plane);
        put (infos, 14, (int64_t[]){ 9, id, wait ? 3 : 1, plane, 5, i, 65535,
                                     0, wait ? 4294967295 : 1 + plane % 7,
                                     wait ? 65535 : 0, wait ? 0 : 2064384, 4,
                                     wait ? 65535 : 1, op });
        now += 300;
    }
    task += n + (n & 1);
    (void)snprintf (name, sizeof (name), "hcom_allReduce__612_%" PRId64 "_1",
                    op);
    (void)sqlite3_bind_int64 (strings, 1, 1000 + op);
    (void)sqlite3_bind_text (strings, 2, name, -1, SQLITE_STATIC);
    if (sqlite3_step (strings) != SQLITE_DONE ||
        sqlite3_reset (strings) != SQLITE_OK)
        die ();
    put (ops, 12, (int64_t[]){ 1000 + op, start, now + 900, connection, 5, op,
                               0, 0, 4, 0, 4097000, 0 });
}

static void put_kernel (void)
{
    put_call ();
    put_task (now, now + 4000, task, 20);
    put (compute, 13, (int64_t[]){ 8, task++, 20, 0, 7, 6, 8, 9, 10, 11, 9, 12,
                                   13 });
    now += 5000;
}

int main (int argc, char **argv)
{
    if (argc != 6) {
        (void)fprintf (stderr, "usage: make_event_db FILE STEPS OPS "
                               "TASKS_OF_OP KERNELS\n");
        return 2;
    }
    (void)remove (argv[1]);
    if (sqlite3_open (argv[1], &db) != SQLITE_OK)
        die ();
    run (schema);
    tasks = prepare ("INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    infos = prepare ("INSERT INTO COMMUNICATION_TASK_INFO VALUES "
                     "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    compute = prepare ("INSERT INTO COMPUTE_TASK_INFO VALUES "
                       "(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    calls = prepare ("INSERT INTO CANN_API VALUES (?,?,?,?,?,?)");
    ops = prepare ("INSERT INTO COMMUNICATION_OP VALUES "
                   "(?,?,?,?,?,?,?,?,?,?,?,?)");
    strings = prepare ("INSERT INTO STRING_IDS VALUES (?,?)");
    steps = prepare ("INSERT INTO STEP_TIME VALUES (?,?,?)");
    for (int s = 0; s < atoi (argv[2]); s++) {
        int64_t began = now;

        now += 10000;
        for (int o = 0; o < atoi (argv[3]); o++) {
            put_op (atoi (argv[4]));
            for (int k = 0; k < atoi (argv[5]); k++)
                put_kernel ();
        }
        now += 10000;
        put (steps, 3, (int64_t[]){ 10 + s, began, now });
    }
    run ("CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId);"
         "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO "
         "(globalTaskId); COMMIT");
    for (sqlite3_stmt *st; (st = sqlite3_next_stmt (db, NULL));)
        (void)sqlite3_finalize (st);
    return sqlite3_close (db) == SQLITE_OK ? 0 : EXIT_FAILURE;
}
