/* tests/unit/node_agent/extract/event_db/test_event_comm.c - ops of event
 * databases
 *
 * The numbers are those of the profiler's own analysis of the same tasks:
 * another one would tell a person of waiting or of a slow link that is not.
 */
#include "node_agent/extract/event_db/event_check.h"

#include <stdio.h>
#include <string.h>

#define OP_START 1736410576431631806LL
#define OP_END 1736410576520382799LL

#define PAYLOAD(start, ns, bytes) \
    { 0, SEND, start, ns, bytes, 11, 23, 31, 0, 1 }
#define NOTIFY(start, ns) { 0, SEND, start, ns, 4, 11, 23, 30, 0, 1 }

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
    event_put_op (1, "hcom_allReduce__612_0_1", OP_START, OP_END);
    ADD (1, 1, tasks);
    event_read (NULL);
    event_is_complete ();
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
    event_put_op (1, name, 1000, 1450);
    ADD (1, 1, tasks);
    event_read (NULL);
    event_is_complete ();
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
    event_put_op (1, "hcom_allReduce_", 1000, 1450);
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
    event_is_complete ();
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
    // without a master nothing is known of waiting, but of links it is
    event_run ("UPDATE COMMUNICATION_TASK_INFO SET isMaster=0");
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allGather__1_1_1|12345|0.9|0.0011|||||step|"
                         "collective\n");
    event_has_line (TABLE_BANDWIDTH,
                    "hcom_allGather__1_1_1|12345|SIO|4|5e-05|80000|0|4|1|5e-05|"
                    "step|collective");
    assert_null (strstr (event_rows (TABLE_BANDWIDTH), "12345||"));
    assert_non_null (strstr (event_capture ()->reason,
                             "no task is marked as master of 1 op: "));
    event_has_line (TABLE_MATRIX, "allgather-total|12345|0|2|HCCS|4|0.0007|"
                    "5714.2857|step|collective|");
    assert_string_equal (event_rows (TABLE_STEP),
                         "3||0|0|0|0|0|0|0|0|0\n"
                         "4||0|1.1|0|1.1|0|1.1|0|1.1|0\n");
}

/* Replayed graphs have a task id again: those within the op count. */
static void test_replay (void **state)
{
    const struct task tasks[] = { OTHER (1, WAIT, 1000, 100) };

    (void)state;
    event_make ("");
    event_put_op (1, "hcom_broadcast__1_1_1", 1000, 1200);
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
    event_put_op (1, "hcom_allReduce__612_0_1", 1000, 3000);
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allReduce__612_0_1|" KEY "|1|0.002|||||step|"
                         "collective\n");
    assert_string_equal (event_rows (TABLE_BANDWIDTH),
                         "hcom_allReduce__612_0_1|" KEY "||0.004|||||||step|"
                         "collective\n");
    assert_string_equal (event_rows (TABLE_MATRIX), "");
    assert_non_null (strstr (event_capture ()->reason, "Level1"));
}

/* A process may use several devices, each of which has its ops. */
static void test_devices (void **state)
{
    const struct task first[] = { OTHER (1, WAIT, 1000, 100) };
    const struct task second[] = { OTHER (1, WAIT, 5000, 100) };

    (void)state;
    event_make ("");
    event_put_op (1, "hcom_allReduce__612_0_1", 1000, 1200);
    event_put_op (2, "hcom_allGather__612_1_1", 5000, 5300);
    ADD (1, 1, first);
    ADD (2, 2, second);
    // an op that does not say where it is is where its tasks are
    event_run ("ALTER TABLE COMMUNICATION_OP ADD COLUMN deviceId;"
               "UPDATE COMMUNICATION_OP SET deviceId=3 WHERE opId=1");
    event_read (NULL);
    event_is_complete ();
    event_has_line (TABLE_STEP, "3||0|0.5|0|0.5|3.8|4.3|0|0.5|0");
    event_run ("UPDATE COMMUNICATION_OP SET deviceId=opId, opName=101");
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (
        event_rows (TABLE_TIME),
        "hcom_allReduce__612_0_1|" KEY "|1|0.0002|0|0.0001|0.0001|0.0001|step|"
        "collective\n"
        "hcom_allReduce__612_0_1|" KEY "|5|0.0003|0|0.0001|0.0001|0.0002|step|"
        "collective\n");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_real_op),
        cmocka_unit_test (test_rdma_collective),
        cmocka_unit_test (test_rdma_send),
        cmocka_unit_test (test_rdma_incomplete),
        cmocka_unit_test (test_masters),
        cmocka_unit_test (test_devices),
        cmocka_unit_test (test_replay),
        cmocka_unit_test (test_level0),
    };

    return cmocka_run_group_tests (tests, event_check_setup,
                                   event_check_teardown);
}
