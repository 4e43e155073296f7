/* tests/unit/node_agent/extract/event_db/test_event_db.c - what else event
 * databases hold, and what becomes of damaged ones */
#include "node_agent/extract/event_db/event_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
        "CREATE TABLE ROCE (deviceId INTEGER, timestampNs INTEGER, "
        "rxByteRate INTEGER, txErrors INTEGER);"
        "INSERT INTO ROCE VALUES (3, 1000000000, 100, 1), "
        "(3, 3000000000, 300, 0), (4, 1, 7, 7);"
        "CREATE TABLE NIC (deviceId INTEGER, timestampNs INTEGER, "
        "txByteRate INTEGER, funcId INTEGER);"
        "INSERT INTO NIC VALUES (3, 1000000000, 100, 0), "
        "(3, 1000000000, 300, 1), (3, 3000000000, 100, 0), "
        "(3, 3000000000, 300, 1);"
        "CREATE TABLE CPU_USAGE (timestampNs, cpuId, usage NUMERIC);"
        "INSERT INTO CPU_USAGE VALUES (1, 0, 50), (1, 1, 100);"
        "CREATE TABLE HOST_MEM_USAGE (timestampNs, usage NUMERIC);"
        "CREATE TABLE HOST_NETWORK_USAGE (timestampNs, usage, speed);"
        "INSERT INTO HOST_NETWORK_USAGE VALUES (1, 0.5, 2000);"
        "CREATE TABLE OSRT_API (name INTEGER, globalTid, startNs, endNs);"
        "INSERT INTO OSRT_API VALUES (20, 1, 1000, 4000), "
        "(20, 1, 5000, 6000);"
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
    // of the host there is no device, and of a table without rows nothing
    event_has_line (TABLE_LINK, "|CPU_USAGE|usage|%|2|75|100");
    event_has_line (TABLE_LINK, "|HOST_NETWORK_USAGE|speed||1|2000|2000");
    assert_null (strstr (event_rows (TABLE_LINK), "HOST_MEM_USAGE"));
    // 200 B/s for 4 s; of one sample nobody knows for how long
    event_has_line (TABLE_LINK, "4|ROCE|rxByteRate|B/s|1|7|7");
    event_has_line (TABLE_INFO, "link_total|ROCE.rxByteRate.3|800 B");
    event_has_line (TABLE_INFO, "link_total|ROCE.txErrors.3|1 packets");
    assert_null (strstr (event_rows (TABLE_INFO), "ROCE.rxByteRate.4"));
    // both ports at once, 400 B/s for 4 s, and not one after the other
    event_has_line (TABLE_INFO, "link_total|NIC.txByteRate.3|1600 B");
    assert_string_equal (event_rows (TABLE_RANGE),
                         "mstx|default|load|2|5|1|4|1\n"
                         "osrt||app|2|4|1|3|1\n");
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
    event_put_compute (1, spans, 2);
    event_put_op (1, "hcom_broadcast__1_1_1", 1000, 1200);
    ADD (1, 7, tasks);
}

/* A record that goes on on other pages has the query read the rest of its
 * table: nothing may be lost or doubled where it takes over.
 */
static void test_query_takes_over (void **state)
{
    static const char *const tables[] = { "TASK", "COMPUTE_TASK_INFO",
                                          "COMMUNICATION_TASK_INFO",
                                          "CANN_API" };
    char *steps, *times, *apis, sql[256];

    (void)state;
    make_whole ();
    event_read (NULL);
    assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
    steps = strdup (event_rows (TABLE_STEP));
    times = strdup (event_rows (TABLE_TIME));
    apis = strdup (event_rows (TABLE_API));
    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]); i++) {
        make_whole ();
        (void)snprintf (sql, sizeof (sql), "ALTER TABLE %s ADD COLUMN note; "
                        "UPDATE %s SET note=zeroblob(3000) WHERE rowid=(SELECT "
                        "max(rowid) FROM %s)", tables[i], tables[i], tables[i]);
        event_run (sql);
        event_read (NULL);
        assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
        assert_string_equal (event_rows (TABLE_STEP), steps);
        assert_string_equal (event_rows (TABLE_TIME), times);
        assert_string_equal (event_rows (TABLE_API), apis);
    }
    free (steps);
    free (times);
    free (apis);
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
        // cut off while it was written, table by table
        "DROP TABLE TASK",
        "DELETE FROM TASK",
        "DROP TABLE COMMUNICATION_OP",
        "DROP TABLE ENUM_HCCL_LINK_TYPE",
        "DROP TABLE ENUM_API_TYPE",
        "DELETE FROM ENUM_API_TYPE",
        "DROP TABLE ENUM_HCCL_RDMA_TYPE",
        "DELETE FROM ENUM_HCCL_TRANSPORT_TYPE",
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
        // ids that lead nowhere: what they lead to is lost
        "UPDATE COMMUNICATION_TASK_INFO SET opId=77",
        "DELETE FROM TASK WHERE globalTaskId=1",
        "DELETE FROM TASK WHERE globalTaskId=2",
        "DELETE FROM TASK WHERE globalTaskId=7",
        "DROP TABLE STRING_IDS",
        ("DROP TABLE STRING_IDS;"
         "CREATE VIEW STRING_IDS AS SELECT 1 id, 'x' value"),
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
        "UPDATE COMMUNICATION_TASK_INFO SET opId=77, planeId=4294967295",
        ("UPDATE COMMUNICATION_TASK_INFO SET globalTaskId=77, "
         "planeId=4294967295"),
        "UPDATE TASK SET connectionId=NULL",
        "UPDATE COMMUNICATION_OP SET count=9e999",
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
        event_is_complete ();
    }
}

/* Sums without them would pass for true ones. */
static void test_lost_rows (void **state)
{
    static const struct {
        const char *sql, *reason;
    } lost[] = {
        { "UPDATE COMMUNICATION_TASK_INFO SET opId=77",
          "COMMUNICATION_TASK_INFO: a task is of an op that does not exist "
          "(row 77); bad rows in all: 1" },
        { "DELETE FROM TASK WHERE globalTaskId=7",
          "COMMUNICATION_TASK_INFO: a task is not in TASK (row 7); bad rows in "
          "all: 1" },
        { "DELETE FROM TASK WHERE globalTaskId<=2",
          "COMPUTE_TASK_INFO: a task is not in TASK (row 1); bad rows in all: "
          "2" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (lost) / sizeof (lost[0]); i++) {
        make_whole ();
        event_run (lost[i].sql);
        event_read (NULL);
        assert_int_equal (event_capture ()->state, CAPTURE_PARTIAL);
        if (!strstr (event_capture ()->reason, lost[i].reason))
            fail_msg ("%s", event_capture ()->reason);
    }
}

/* An op that nobody can name is none, and not one with a made up name. */
static void test_lost_names (void **state)
{
    static const struct {
        const char *sql, *reason;
    } lost[] = {
        { "UPDATE COMMUNICATION_OP SET opName=555",
          "an op has no name (row 1); bad rows in all: 1" },
        { "UPDATE STRING_IDS SET value=NULL WHERE id=101",
          "an op has no name (row 1); bad rows in all: 1" },
        { "INSERT INTO STRING_IDS VALUES (0, 'x');"
          "UPDATE COMMUNICATION_OP SET opName=NULL",
          "an op has no name (row 1); bad rows in all: 1" },
        { "UPDATE COMMUNICATION_OP SET groupName=555",
          "an op has no group (row 1); bad rows in all: 1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (lost) / sizeof (lost[0]); i++) {
        make_whole ();
        event_run ("DELETE FROM STEP_TIME");    // all that happens is in one
        event_run (lost[i].sql);
        event_read (NULL);
        assert_int_equal (event_capture ()->state, CAPTURE_PARTIAL);
        assert_string_equal (event_rows (TABLE_TIME), "");
        if (!strstr (event_capture ()->reason, lost[i].reason))
            fail_msg ("%s", event_capture ()->reason);
    }
}

/* The file that says at which level it was profiled, "" to remove it. */
static void put_level (const char *level)
{
    char path[512];
    FILE *f;

    (void)snprintf (path, sizeof (path), "%.*s/../profiler_info_0.json",
                    (int)(strrchr (event_path (), '/') - event_path ()),
                    event_path ());
    if (!*level) {
        assert_int_equal (unlink (path), 0);
        return;
    }
    assert_non_null (f = fopen (path, "w"));
    (void)fprintf (f, "{\"config\": {\"experimental_config\": "
                   "{\"_profiler_level\": \"%s\"}}}", level);
    assert_int_equal (fclose (f), 0);
}

/* Level0 has no tasks of ops; Level1 has, and lost them. */
static void test_lost_levels (void **state)
{
    (void)state;
    make_whole ();
    event_run ("DELETE FROM STEP_TIME; DELETE FROM COMMUNICATION_TASK_INFO");
    put_level ("Level0");
    event_read (NULL);
    event_is_complete ();
    assert_non_null (strstr (event_capture ()->reason, "Level1 has waiting"));
    put_level ("Level1");
    event_read (NULL);
    put_level ("");
    assert_int_equal (event_capture ()->state, CAPTURE_PARTIAL);
    assert_null (strstr (event_capture ()->reason, "Level1 has waiting"));
    assert_non_null (strstr (event_capture ()->reason, "profiled at Level1, "
                             "but it has no task of an op "
                             "(CommAnalyzerTime, CommAnalyzerBandwidth, "
                             "CommAnalyzerMatrix)"));
    event_has_line (TABLE_TIME, "hcom_broadcast__1_1_1|" KEY "|1|0.0002|||||"
                    "step|collective");
}

/* A schedule that makes no sense is no capture without one. */
static void test_lost_steps (void **state)
{
    (void)state;
    make_whole ();
    event_run ("UPDATE STEP_TIME SET endNs=-1");
    event_read (NULL);
    assert_string_equal (event_rows (TABLE_STEP), "");
    assert_string_equal (event_rows (TABLE_TIME), "");
    assert_non_null (strstr (event_capture ()->reason,
                             "STEP_TIME has no step with valid times"));
}

/* What two readers of one file say is the first one's. */
static void test_garbage (void **state)
{
    FILE *f;

    (void)state;
    make_whole ();
    assert_non_null (f = fopen (event_path (), "w"));
    assert_true (fputs ("this is no database at all", f) >= 0);
    assert_int_equal (fclose (f), 0);
    event_read (NULL);
    is_named ();
    assert_string_equal (event_capture ()->source, "event_db");
}

/* An id is one, whatever the column's type says. */
static void test_text_ids (void **state)
{
    char *steps, *times;

    (void)state;
    make_whole ();
    event_read (NULL);
    steps = strdup (event_rows (TABLE_STEP));
    times = strdup (event_rows (TABLE_TIME));
    event_run ("CREATE TABLE t (startNs INTEGER, endNs INTEGER, deviceId "
               "INTEGER, connectionId INTEGER, globalTaskId TEXT);"
               "INSERT INTO t SELECT startNs, endNs, deviceId, connectionId, "
               "globalTaskId FROM TASK;"
               "DROP TABLE TASK; ALTER TABLE t RENAME TO TASK");
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (event_rows (TABLE_STEP), steps);
    assert_string_equal (event_rows (TABLE_TIME), times);
    free (steps);
    free (times);
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
    event_is_complete ();
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
        cmocka_unit_test (test_other_tables),
        cmocka_unit_test (test_query_takes_over),
        cmocka_unit_test (test_wrong_values),
        cmocka_unit_test (test_odd_values),
        cmocka_unit_test (test_lost_rows),
        cmocka_unit_test (test_lost_names),
        cmocka_unit_test (test_lost_levels),
        cmocka_unit_test (test_lost_steps),
        cmocka_unit_test (test_garbage),
        cmocka_unit_test (test_text_ids),
        cmocka_unit_test (test_broken_file),
        cmocka_unit_test (test_overlapping_steps),
    };

    return cmocka_run_group_tests (tests, event_check_setup,
                                   event_check_teardown);
}
