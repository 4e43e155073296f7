/* tests/unit/node_agent/test_event_db.c - tables from event databases
 *
 * The numbers are those of the profiler's own analysis of the same tasks:
 * another one would tell a person of waiting or of a slow link that is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event_check.h"

#include "base/fileio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "5862276093215481612"       // of group_name_0
#define OP_START 1736410576431631806LL
#define OP_END 1736410576520382799LL

enum { MEMCPY = 1, REDUCE = 2, WAIT = 3, RECORD = 4, SEND = 8 };

/* One task of op 1, in both tables. */
struct task {
    int plane, type;
    int64_t start, ns;
    int64_t bytes;
    int transport, link, rdma;
    int64_t src, dst;
};

#define DATA(plane, type, start, ns, bytes, link, src, dst) \
    { plane, type, start, ns, bytes, 10, link, 99, src, dst }
#define OTHER(plane, type, start, ns) \
    { plane, type, start, ns, 0, 99, 99, 99, 0, 4294967295 }
#define PAYLOAD(start, ns, bytes) \
    { 0, SEND, start, ns, bytes, 11, 23, 31, 0, 1 }
#define NOTIFY(start, ns) { 0, SEND, start, ns, 4, 11, 23, 30, 0, 1 }

static void add_tasks (int op, int first, const struct task *t, size_t n)
{
    char sql[512];

    for (size_t i = 0; i < n; i++, t++) {
        (void)snprintf (
            sql, sizeof (sql),
            "INSERT INTO TASK VALUES (%lld, %lld, 3, %d, %d, 0, 0, 0, 0, 0, 0);"
            "INSERT INTO COMMUNICATION_TASK_INFO VALUES (0, %d, %d, %d, 5, 0, "
            "%d, %lld, %lld, %d, %lld, 99, %d, %d)",
            (long long)t->start, (long long)(t->start + t->ns), 1000 + op,
            first + (int)i, first + (int)i, t->type, t->plane, t->rdma,
            (long long)t->src, (long long)t->dst, t->transport,
            (long long)t->bytes, t->link, op);
        event_run (sql);
    }
}

static void add_op (int op, const char *name, int64_t start, int64_t end)
{
    char sql[512];

    (void)snprintf (
        sql, sizeof (sql),
        "INSERT INTO STRING_IDS VALUES (%d, '%s');"
        "INSERT INTO COMMUNICATION_OP VALUES (%d, %lld, %lld, %d, 5, %d, 0, 0,"
        " 41, 0, 1000, 0)", 100 + op, name, 100 + op, (long long)start,
        (long long)end, 1000 + op, op);
    event_run (sql);
}

#define ADD(op, first, tasks) \
    add_tasks (op, first, tasks, sizeof (tasks) / sizeof (tasks[0]))

static void is_complete (void)
{
    if (event_capture ()->state != CAPTURE_COMPLETE)
        fail_msg ("%s: %s", capture_state_name (event_capture ()->state),
                  event_capture ()->reason);
}

/* ---- one op ---- */

/* A real all-reduce; plane 1 is its master, whatever plane 0 holds. */
static void test_real_op (void **state)
{
    const int64_t s = OP_START;
    const struct task tasks[] = {
        OTHER (0, WAIT, s, 500),
        OTHER (1, RECORD, s + 1000, 720),
        OTHER (1, WAIT, s + 2000, 3517730),
        DATA (1, REDUCE, s + 4000000, 127563, 2064384, 21, 0, 1),
        OTHER (1, RECORD, s + 5000000, 1080),
        OTHER (1, WAIT, s + 5100000, 19200),
        OTHER (1, RECORD, s + 5200000, 680),
        OTHER (1, WAIT, s + 5300000, 0),
        DATA (1, MEMCPY, s + 5400000, 101002, 1937312, 21, 0, 1),
        OTHER (1, RECORD, s + 5600000, 1000),
        OTHER (1, WAIT, s + 5700000, 31960),
        DATA (2, MEMCPY, s + 10, 4000, 2064384, 20, 0, 0),
    };

    (void)state;
    event_make ("");
    add_op (1, "hcom_allReduce__612_0_1", OP_START, OP_END);
    ADD (1, 1, tasks);
    event_read (NULL);
    is_complete ();
    assert_string_equal (event_capture ()->source, "event_db");
    assert_string_equal (
        event_rows (TABLE_TIME),
        "hcom_allReduce__612_0_1|" KEY "|1.736410576e+15|88.750993|0.228565|"
        "3.56889|3.51773|84.953538|step|collective\n");
    event_has_line (TABLE_BANDWIDTH,
                    "hcom_allReduce__612_0_1|" KEY "|HCCS|4.001696|0.228565|"
                    "17.5079|0|2.064384|1|0.127563|step|collective");
    event_has_line (TABLE_BANDWIDTH,
                    "hcom_allReduce__612_0_1|" KEY "|SDMA|4.001696|0.228565|"
                    "17.5079|0|0|0|0|step|collective");
    event_has_line (TABLE_MATRIX,
                    "allreduce-total|" KEY "|0|0|LOCAL|2.064384|0.004|516.096|"
                    "step|collective|");
    event_has_line (TABLE_MATRIX,
                    "allreduce-top1|" KEY "|0|1|HCCS|4.001696|0.228565|17.5079|"
                    "step|collective|hcom_allReduce__612_0_1");
}

static void rdma_op (const char *name)
{
    const struct task tasks[] = {
        PAYLOAD (1000, 10, 1000000), PAYLOAD (1020, 10, 500000),
        NOTIFY (1040, 5),            OTHER (0, WAIT, 1050, 200),
        NOTIFY (1255, 5),            OTHER (0, WAIT, 1265, 100),
        OTHER (0, WAIT, 1400, 50),
    };

    event_make ("");
    add_op (1, name, 1000, 1450);
    ADD (1, 1, tasks);
    event_read (NULL);
    is_complete ();
}

/* How long a burst of RDMA lasts depends on what the op is. */
static void test_rdma_collective (void **state)
{
    (void)state;
    rdma_op ("hcom_allReduce_");
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allReduce_|" KEY "|1|0.00045|0.000365|5e-05|0|"
                         "3.5e-05|step|collective\n");
    assert_string_equal (event_rows (TABLE_BANDWIDTH),
                         "hcom_allReduce_|" KEY "|RDMA|1.5|0.000365|4109.589|1|"
                         "1.5|1|0.000365|step|collective\n");
    event_has_line (TABLE_MATRIX, "allreduce-total|" KEY "|0|1|RDMA|1.5|"
                    "0.000365|4109.589|step|collective|");
}

static void test_rdma_send (void **state)
{
    (void)state;
    rdma_op ("hcom_send_");
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_send_|" KEY "|1|0.00045|0.00025|0.00015|0|"
                         "5e-05|step|p2p\n");
}

/* A burst without its end moved nothing that can be told. */
static void test_rdma_incomplete (void **state)
{
    const struct task tasks[] = { PAYLOAD (1000, 10, 1000000),
                                  NOTIFY (1040, 5),
                                  OTHER (0, WAIT, 1050, 200) };

    (void)state;
    event_make ("");
    add_op (1, "hcom_allReduce_", 1000, 1450);
    ADD (1, 1, tasks);
    event_read (NULL);
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allReduce_|" KEY "|1|0.00045|0|0.0002|0.0002|"
                         "0.00025|step|collective\n");
    assert_string_equal (event_rows (TABLE_BANDWIDTH), "");
}

/* Newer databases say which plane is the master, and the op's device. */
static void test_masters (void **state)
{
    const struct task tasks[] = {
        OTHER (0, WAIT, 1000, 100), OTHER (1, WAIT, 1010, 30),
        DATA (0, MEMCPY, 1200, 50, 4000000, 24, 0, 1),
        DATA (1, MEMCPY, 1100, 700, 4000000, 25, 0, 2),
    };

    (void)state;
    event_make ("ALTER TABLE COMMUNICATION_TASK_INFO ADD COLUMN isMaster;"
                "ALTER TABLE COMMUNICATION_OP ADD COLUMN deviceId;"
                "CREATE TRIGGER x AFTER INSERT ON COMMUNICATION_OP BEGIN SELECT"
                " 1; END;");
    event_run ("INSERT INTO STRING_IDS VALUES (101, 'hcom_allGather__1_1_1');"
               "INSERT INTO COMMUNICATION_OP VALUES (101, 900, 2000, 77, 9, 1, "
               "0, 0, 41, 0, 1, 0, 4)");
    for (size_t i = 0; i < 4; i++) {
        char sql[512];
        const struct task *t = &tasks[i];

        (void)snprintf (
            sql, sizeof (sql),
            "INSERT INTO TASK VALUES (%lld, %lld, 4, 1, %zu, 0, 0, 0, 0, 0, 0);"
            "INSERT INTO COMMUNICATION_TASK_INFO VALUES (0, %zu, %d, %d, 5, 0, "
            "99, %lld, %lld, %d, %lld, 99, %d, 1, %d)",
            (long long)t->start, (long long)(t->start + t->ns), i, i, t->type,
            t->plane, (long long)t->src, (long long)t->dst, t->transport,
            (long long)t->bytes, t->link, t->plane == 0);
        event_run (sql);
    }
    event_read (NULL);
    is_complete ();
    // a group that is a number is the hash already
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allGather__1_1_1|12345|1|0.00025|5e-05|0.0001|"
                         "0.0001|0.0001|step|collective\n");
    event_has_line (TABLE_BANDWIDTH,
                    "hcom_allGather__1_1_1|12345|SIO|4|5e-05|80000|0|4|1|5e-05|"
                    "step|collective");
    event_has_line (TABLE_BANDWIDTH,
                    "hcom_allGather__1_1_1|12345|HCCS|4|0.0007|5714.2857|0|4|1|"
                    "0.0007|step|collective");
    event_has_line (TABLE_BANDWIDTH,
                    "hcom_allGather__1_1_1|12345|SDMA|8|0.00075|10666.6667|0|0|"
                    "0|0|step|collective");
    event_has_line (TABLE_MATRIX, "allgather-total|12345|0|2|HCCS|4|0.0007|"
                    "5714.2857|step|collective|");
    assert_string_equal (event_rows (TABLE_STEP),
                         "3||0|0|0|0|0|0|0|0|0\n4||0|1.1|0|1.1|0|1.1|0|1.1|0\n");
}

/* Replayed graphs have a task id again: those within the op count. */
static void test_replay (void **state)
{
    const struct task tasks[] = { OTHER (1, WAIT, 1000, 100) };

    (void)state;
    event_make ("");
    add_op (1, "hcom_broadcast__1_1_1", 1000, 1200);
    ADD (1, 7, tasks);
    event_run ("INSERT INTO TASK VALUES (1110, 1150, 3, 1, 7, 0,0,0,0,0,0);"
               "INSERT INTO TASK VALUES (5000, 9000, 3, 1, 7, 0,0,0,0,0,0);");
    event_read (NULL);
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_broadcast__1_1_1|" KEY "|1|0.0002|0|0.00014|"
                         "0.00014|6e-05|step|collective\n");
}

/* At Level0 the tasks of ops are not known: what was to be moved is. */
static void test_level0 (void **state)
{
    (void)state;
    event_make ("INSERT INTO TASK VALUES (1000,1100,3,1001,1,0,0,0,0,0,0);"
                "INSERT INTO COMMUNICATION_TASK_INFO VALUES (0,1,3,4294967295,"
                "5,0,99,4294967295,4294967295,99,-1,99,99,1);");
    add_op (1, "hcom_allReduce__612_0_1", 1000, 3000);
    event_read (NULL);
    is_complete ();
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allReduce__612_0_1|" KEY "|1|0.002|||||step|"
                         "collective\n");
    assert_string_equal (event_rows (TABLE_BANDWIDTH),
                         "hcom_allReduce__612_0_1|" KEY "||0.004|||||||step|"
                         "collective\n");
    assert_string_equal (event_rows (TABLE_MATRIX), "");
    assert_non_null (strstr (event_capture ()->reason, "Level1"));
}

/* ---- steps ---- */

static void add_compute (int first, const int64_t (*spans)[2], size_t n)
{
    char sql[256];

    for (size_t i = 0; i < n; i++) {
        (void)snprintf (
            sql, sizeof (sql),
            "INSERT INTO TASK VALUES (%lld, %lld, 3, %d, %d, 0,0,0,0,0,0);"
            "INSERT INTO COMPUTE_TASK_INFO VALUES (6, %d, 1, 1, 7, 6)",
            (long long)spans[i][0], (long long)spans[i][1], first + (int)i,
            first + (int)i, first + (int)i);
        event_run (sql);
    }
}

static void add_comm (int op, const char *name, int64_t start, int64_t end)
{
    char sql[128];

    add_op (op, name, start, end);
    (void)snprintf (sql, sizeof (sql), "INSERT INTO TASK VALUES (%lld, %lld, 3, "
                    "%d, %d, 0,0,0,0,0,0)", (long long)start, (long long)end,
                    1000 + op, 900 + op);
    event_run (sql);
}

static void test_step_overlap (void **state)
{
    const int64_t spans[][2] = { { 20000, 30000 }, { 0, 10000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);");
    add_compute (1, spans, 2);
    add_comm (1, "hcom_allReduce__1_1_1", 5000, 12000);
    add_comm (2, "hcom_allReduce__1_2_1", 25000, 40000);
    event_read (NULL);
    is_complete ();
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|7|20|12|10|22|8|40|0|12|0\n");
    assert_string_equal (event_rows (TABLE_STEP_EXTRA), "3|7|0|50|\n");
    event_has_line (TABLE_OPERATOR, "3|MatMul|AI_CORE|2|20|10|10");
}

static void test_step_compute_only (void **state)
{
    const int64_t spans[][2] = { { 0, 10000 }, { 10000, 20000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);");
    add_compute (1, spans, 2);
    event_read (NULL);
    is_complete ();
    assert_string_equal (event_rows (TABLE_STEP), "3|7|20|0|0|0|0|20|0|0|0\n");
    assert_string_equal (event_rows (TABLE_TIME), "");
}

/* Receiving is not merged, and a step that computes nothing has not prepared
 * anything: so does the profiler.
 */
static void test_step_receive_only (void **state)
{
    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 1000, 50000);");
    add_comm (1, "hcom_receive__1_1_1", 2000, 6000);
    add_comm (2, "hcom_receive__1_2_1", 4000, 8000);
    event_read (NULL);
    is_complete ();
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|7|0|6|0|6|0|-2|8|0|0\n");
}

/* A step's range on the device is that of what its calls launched. */
static void test_step_ranges (void **state)
{
    const int64_t spans[][2] = { { 9000, 9500 }, { 12000, 30000 },
                                 { 40000, 41000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 10000, 20000);"
                "INSERT INTO STEP_TIME VALUES (8, 20000, 32000);"
                "INSERT INTO STEP_TIME VALUES (9, 90000, 95000);"
                "INSERT INTO CANN_API VALUES (10100, 10200, 50, 1, 1, 1);"
                "INSERT INTO CANN_API VALUES (11000, 12000, 50, 1, 2, 1);"
                "INSERT INTO CANN_API VALUES (19000, 21000, 50, 1, 99, 1);"
                "INSERT INTO CANN_API VALUES (21000, 22000, 50, 1, 3, 1);"
                "INSERT INTO CANN_API VALUES (21000, 22000, 52, 1, 4, 1);");
    add_compute (1, spans, 3);
    add_comm (1, "hcom_allReduce__1_1_1", 25000, 26000);
    add_comm (2, "hcom_allReduce__1_2_1", 35000, 36000);
    event_read (NULL);
    is_complete ();
    // step 7: 9000 to 30000; step 8: 40000 to 41000
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|7|18.5|0|1|1|2.5|21|0|0|-1\n"
                         "3|8|1|0|0|0|0|1|0|0|20\n"
                         "3|9|0|0|0|0|0|0|0|0|0\n");
    // an op in no step belongs to none
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allReduce__1_1_1|" KEY "|25|0.001|||||step7|"
                         "collective\n");
    event_has_line (TABLE_API, "|node|Memcpy|4|4.1|0.1|2");
    event_read ("8");
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|8|1|0|0|0|0|1|0|0|20\n");
    assert_string_equal (event_rows (TABLE_TIME), "");
}

/* Without a schedule there is one step, without a name. */
static void test_nameless_step (void **state)
{
    const int64_t spans[][2] = { { 5000, 9000 }, { 20000, 30000 } };

    (void)state;
    event_make ("DROP TABLE STEP_TIME;"
                "INSERT INTO CANN_API VALUES (11000, 12000, 50, 1, 2, 1);"
                "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, type "
                "INTEGER);"
                "INSERT INTO PYTORCH_API VALUES ('4000', '5000', 51);"
                "INSERT INTO PYTORCH_API VALUES ('1000', '5000', 52);");
    add_compute (1, spans, 2);
    event_read (NULL);
    is_complete ();
    // it begins with the first task of a call: 20000
    assert_string_equal (event_rows (TABLE_STEP),
                         "3||10|0|0|0|0|10|0|0|16\n");
    assert_string_equal (event_rows (TABLE_STEP_EXTRA), "");
}

/* An op whose tasks are on two devices counts on none; each device has rows. */
static void test_devices (void **state)
{
    const int64_t spans[][2] = { { 5000, 9000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);"
                "INSERT INTO RANK_DEVICE_MAP VALUES (0, 1);"
                "INSERT INTO RANK_DEVICE_MAP VALUES (0, -1);");
    add_compute (1, spans, 1);
    add_comm (1, "hcom_allReduce__1_1_1", 10000, 11000);
    event_run ("INSERT INTO TASK VALUES (10500,10600,1,1001,90,0,0,0,0,0,0)");
    event_read (NULL);
    is_complete ();
    assert_string_equal (event_rows (TABLE_STEP),
                         "1|7|0|0|0|0|0|0|0|0|0\n3|7|4|0|0|0|0|4|0|0|5\n");
}

/* ---- what else ---- */

static void test_other_tables (void **state)
{
    (void)state;
    event_make (
        "CREATE TABLE META_DATA (name TEXT, value TEXT);"
        "INSERT INTO META_DATA VALUES ('SCHEMA_VERSION', '1.1.0'),"
        "('distributed_args', '{\"world_size\": 4}'),('parallel_group_info',"
        "'{\"group_name_0\": {\"group_name\": \"tp\", \"group_rank\": 1, "
        "\"global_ranks\": [2, 0]}}');"
        "CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);"
        "INSERT INTO HOST_INFO VALUES ('17', 'node9');"
        "CREATE TABLE NPU_MEM (type INTEGER, ddr NUMERIC, hbm NUMERIC, "
        "timestampNs INTEGER, deviceId INTEGER);"
        "INSERT INTO STRING_IDS VALUES (20, 'app'), (21, 'load'), "
        "(22, 'default'), (23, 'communication');"
        "INSERT INTO NPU_MEM VALUES (20, 0, 5000000, 1000, 3), "
        "(20, 0, 7340032, 3000, 3), (20, 0, 6000000, 2000, 3);"
        "CREATE TABLE HCCS (deviceId INTEGER, timestampNs INTEGER, "
        "txThroughput INTEGER, rxThroughput INTEGER);"
        "INSERT INTO HCCS VALUES (3, 1, 10, 0), (3, 2, 30, 5);"
        "CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType "
        "INTEGER, message INTEGER, domainId INTEGER, connectionId INTEGER);"
        "INSERT INTO MSTX_EVENTS VALUES (1000, 2000, 2, 21, 22, 1), "
        "(5000, 9000, 2, 21, 22, 2), (1, 2, 2, 20, 23, 3);"
        "INSERT INTO COMPUTE_TASK_INFO VALUES (6, 1, 1, 1, 7, 6);");
    event_read (NULL);
    event_has_line (TABLE_INFO, "metadata|SCHEMA_VERSION|1.1.0");
    event_has_line (TABLE_INFO, "host|hostName|node9");
    event_has_line (TABLE_MEMORY, "3|app|hbm|7|3");
    event_has_line (TABLE_LINK, "3|HCCS|txThroughput|B/s|2|20|30");
    assert_string_equal (event_rows (TABLE_RANGE),
                         "mstx|default|load|2|5|1|4|1\n");
    assert_int_equal (event_capture ()->world_size, 4);
    assert_int_equal (event_capture ()->ngroups, 1);
    assert_string_equal (event_capture ()->groups[0].name, KEY);
    assert_string_equal (event_capture ()->groups[0].pg_name, "tp");
}

/* ---- damage ---- */

static void make_whole (void)
{
    const int64_t spans[][2] = { { 5000, 9000 }, { 20000, 30000 } };
    const struct task tasks[] = { OTHER (1, WAIT, 1000, 100) };

    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);"
                "INSERT INTO CANN_API VALUES (11000, 12000, 50, 1, 2, 1);");
    add_compute (1, spans, 2);
    add_op (1, "hcom_broadcast__1_1_1", 1000, 1200);
    ADD (1, 7, tasks);
}

/* Whatever is wrong has a state and words for it, and nothing crashes. */
static void is_named (void)
{
    const struct capture *c = event_capture ();

    assert_true (c->state == CAPTURE_PARTIAL || c->state == CAPTURE_FAILED);
    assert_true (c->reason[0] != '\0');
}

static void test_wrong_values (void **state)
{
    static const char *const sql[] = {
        "UPDATE TASK SET startNs='x'",
        "UPDATE TASK SET startNs=endNs+1",
        "UPDATE TASK SET startNs=-5",
        "UPDATE TASK SET endNs=9223372036854775807",
        "UPDATE TASK SET startNs=x'00ff', endNs=NULL",
        "UPDATE TASK SET deviceId=-7",
        "UPDATE STEP_TIME SET endNs=-1",
        "UPDATE STEP_TIME SET startNs='abc'",
        "UPDATE CANN_API SET endNs=0",
        "UPDATE COMMUNICATION_OP SET startNs=9e99",
        "UPDATE COMMUNICATION_OP SET opName=555",
        "UPDATE STRING_IDS SET value=x'ff00ff' WHERE id=101",
        "UPDATE STRING_IDS SET value=printf('%.9000c','x') WHERE id=101",
        "ALTER TABLE TASK DROP COLUMN globalTaskId",
        "ALTER TABLE STEP_TIME DROP COLUMN id",
        "ALTER TABLE COMMUNICATION_OP DROP COLUMN groupName",
        "ALTER TABLE COMMUNICATION_TASK_INFO DROP COLUMN planeId",
        "DROP TABLE STRING_IDS",
        "DROP TABLE STRING_IDS; CREATE VIEW STRING_IDS AS SELECT 1 id, 'x' value",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (sql) / sizeof (sql[0]); i++) {
        make_whole ();
        event_run (sql[i]);
        event_read (NULL);
        if (event_capture ()->state == CAPTURE_COMPLETE)
            fail_msg ("complete after %s", sql[i]);
        is_named ();
    }
}

/* Values that mean nothing are no damage, and no row of them is wrong. */
static void test_odd_values (void **state)
{
    static const char *const sql[] = {
        "UPDATE COMMUNICATION_TASK_INFO SET size=-1, planeId=NULL, srcRank=-4",
        "UPDATE COMMUNICATION_TASK_INFO SET size=9223372036854775807",
        "UPDATE COMMUNICATION_TASK_INFO SET opId=77",
        "UPDATE TASK SET connectionId=NULL",
        "UPDATE COMMUNICATION_OP SET count=9e999",
        "DROP TABLE ENUM_HCCL_LINK_TYPE",
        "DROP TABLE RANK_DEVICE_MAP",
        "DROP TABLE CANN_API",
        "DROP TABLE COMMUNICATION_TASK_INFO",
        "ALTER TABLE TASK ADD COLUMN depth INTEGER",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (sql) / sizeof (sql[0]); i++) {
        make_whole ();
        event_run (sql[i]);
        event_read (NULL);
        is_complete ();
    }
}

/* A page that nothing is read of may be anything: then all rows are right. */
static void is_named_or (const char *steps, const char *times)
{
    event_read (NULL);
    if (event_capture ()->state == CAPTURE_COMPLETE) {
        assert_string_equal (event_rows (TABLE_STEP), steps);
        assert_string_equal (event_rows (TABLE_TIME), times);
    } else {
        is_named ();
    }
}

/* The file cut in each page, and with each page overwritten. */
static void test_broken_file (void **state)
{
    char *steps, *times;
    struct stat st;

    (void)state;
    make_whole ();
    event_read (NULL);
    is_complete ();
    steps = strdup (event_rows (TABLE_STEP));
    times = strdup (event_rows (TABLE_TIME));
    assert_int_equal (stat (event_path (), &st), 0);
    for (off_t at = 0; at < st.st_size; at += 512) {
        char junk[512];
        int fd;

        make_whole ();
        assert_int_equal (truncate (event_path (), at + 100), 0);
        is_named_or (steps, times);
        make_whole ();
        memset (junk, 0xa5, sizeof (junk));
        assert_true ((fd = open (event_path (), O_WRONLY)) >= 0);
        assert_int_equal (pwrite (fd, junk, sizeof (junk), at), 512);
        assert_int_equal (close (fd), 0);
        is_named_or (steps, times);
    }
    free (steps);
    free (times);
}

/* Steps that all overlap would cost more than the file is worth. */
static void test_overlapping_steps (void **state)
{
    (void)state;
    make_whole ();
    event_run ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
               "LIMIT 20000) INSERT INTO STEP_TIME SELECT i, 0, 100000 FROM n;"
               "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM "
               "n LIMIT 20000) INSERT INTO CANN_API SELECT 1, 2, 50, 1, i, 1 "
               "FROM n;");
    event_read (NULL);
    is_named ();
    assert_non_null (strstr (event_capture ()->reason, "overlap"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_real_op),
        cmocka_unit_test (test_rdma_collective),
        cmocka_unit_test (test_rdma_send),
        cmocka_unit_test (test_rdma_incomplete),
        cmocka_unit_test (test_masters),
        cmocka_unit_test (test_replay),
        cmocka_unit_test (test_level0),
        cmocka_unit_test (test_step_overlap),
        cmocka_unit_test (test_step_compute_only),
        cmocka_unit_test (test_step_receive_only),
        cmocka_unit_test (test_step_ranges),
        cmocka_unit_test (test_nameless_step),
        cmocka_unit_test (test_devices),
        cmocka_unit_test (test_other_tables),
        cmocka_unit_test (test_wrong_values),
        cmocka_unit_test (test_odd_values),
        cmocka_unit_test (test_broken_file),
        cmocka_unit_test (test_overlapping_steps),
    };

    return cmocka_run_group_tests (tests, event_check_setup,
                                   event_check_teardown);
}
