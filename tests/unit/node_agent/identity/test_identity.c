/* tests/unit/node_agent/identity/test_identity.c - what a capture shows of its
 * rank, process, host and window */
#include "node_agent/extract/capture_check.h"

#include <sqlite3.h>

#define OUT "ASCEND_PROFILER_OUTPUT"
#define CSV OUT "/step_trace_time.csv"
#define STEPS "Device_id,Step,Computing,Communication(Not Overlapped)," \
    "Overlapped,Communication,Free,Stage,Bubble,Communication(Not " \
    "Overlapped and Exclude Receive)\n0,1,1,1,1,1,1,1,1,1\n"

static int setup (void **state)
{
    (void)state;
    if (capture_begin ("main_12_20251127123437386_ascend_pt") < 0)
        return -1;
    capture_put (CSV, STEPS);
    return 0;
}

static void read_it (struct capture *c)
{
    uint64_t rows = 0;
    const struct row_sink sink = { sink_count, sink_forget_nothing, &rows };

    assert_int_equal (capture_read (&sink, c), 0);
}

static void put_db (const char *name, const char *sql)
{
    sqlite3 *db;

    assert_int_equal (sqlite3_open (capture_path (name), &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

static void test_info (void **state)
{
    struct capture c;

    (void)state;
    capture_put ("profiler_info_3.json",
                 "{\"rank_id\": \"2\", \"config\": {\"common_config\": "
                 "{\"schedule\": {\"skip_first\": 40, \"wait\": 0, \"warmup\": "
                 "10, \"active\": 1}}}, \"start_info\": {\"start_monotonic\": "
                 "173856218206460}, \"end_info\": {\"collectionTimeEnd\": "
                 "1736410576713429440, \"MonotonicTimeEnd\": "
                 "173856955012430}}");
    read_it (&c);
    assert_int_equal (c.rank, 3);
    assert_int_equal (c.evidence.ranks.info_name, 3);
    assert_int_equal (c.evidence.ranks.info, 2);
    assert_int_equal (c.evidence.ranks.db_name, EVIDENCE_UNKNOWN);
    assert_int_equal (c.evidence.pid, 12);
    assert_int_equal (c.evidence.mono_start_ns, 173856218206460);
    assert_int_equal (c.evidence.mono_end_ns, 173856955012430);
    assert_in_range (c.evidence.boot_ns, 1736236719758417010 - 256,
                     1736236719758417010 + 256);
    assert_int_equal (c.evidence.schedule.skip_first, 40);
    assert_int_equal (c.evidence.schedule.wait, 0);
    assert_int_equal (c.evidence.schedule.warmup, 10);
    assert_int_equal (c.evidence.schedule.active, 1);
    assert_int_equal (c.evidence.schedule.repeat, EVIDENCE_UNKNOWN);
    capture_fini (&c);
}

/* A host that is up for longer than 2^53 ns, 104 days, has a window, too. */
static void test_long_up (void **state)
{
    struct capture c;

    (void)state;
    capture_put ("profiler_info_3.json",
                 "{\"start_info\": {\"start_monotonic\": "
                 "17280001000000001}, \"end_info\": {\"collectionTimeEnd\": "
                 "1736410576713429440, \"MonotonicTimeEnd\": "
                 "17280003000000001}}");
    read_it (&c);
    assert_in_range (c.evidence.mono_start_ns, 17280001000000000,
                     17280001000000002);
    assert_in_range (c.evidence.mono_end_ns, 17280003000000000,
                     17280003000000002);
    assert_in_range (c.evidence.boot_ns, 1719130573713429439 - 256,
                     1719130573713429439 + 256);
    assert_in_range (c.started_ns, 1736410574713429440 - 256,
                     1736410574713429440 + 256);
    capture_fini (&c);
}

/* No date is no date of a boot, and nobody's schedule is empty. */
static void test_no_info (void **state)
{
    struct capture c;

    (void)state;
    capture_put ("profiler_info.json",
                 "{\"rank_id\": -1, \"config\": {\"common_config\": "
                 "{\"schedule\": {}}}, \"end_info\": {\"collectionTimeEnd\": "
                 "0, \"MonotonicTimeEnd\": 5}}");
    read_it (&c);
    assert_int_equal (c.evidence.ranks.info_name, EVIDENCE_UNKNOWN);
    assert_int_equal (c.evidence.ranks.info, EVIDENCE_UNKNOWN);
    assert_int_equal (c.evidence.boot_ns, 0);
    assert_int_equal (c.evidence.schedule.warmup, EVIDENCE_UNKNOWN);
    capture_fini (&c);
}

static void test_metadata (void **state)
{
    struct capture c;

    (void)state;
    capture_put ("profiler_metadata.json",
                 "{\"distributed_args\": {\"rank\": 1, \"world_size\": 4}, "
                 "\"parallel_group_info\": {\"a\": {\"group_name\": "
                 "\"default_group\", \"group_rank\": 2, \"global_ranks\": "
                 "[0, 1, 2, 3]}}}");
    capture_put ("profiler_info_0.json", "{}");
    read_it (&c);
    assert_int_equal (c.rank, 0);
    assert_int_equal (c.evidence.ranks.args, 1);
    assert_int_equal (c.evidence.ranks.group, 2);
    capture_fini (&c);
}

static void test_database (void **state)
{
    struct capture c;

    (void)state;
    capture_put ("profiler_info_1.json", "{}");
    put_db (OUT "/ascend_pytorch_profiler_1.db",
            "CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);"
            "INSERT INTO HOST_INFO VALUES (3538958389648580163, 'node7');"
            "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
            "INSERT INTO RANK_DEVICE_MAP VALUES (5, 1);"
            "CREATE TABLE TASK (globalPid INTEGER);"
            "INSERT INTO TASK VALUES (3136493);");
    read_it (&c);
    assert_int_equal (c.rank, 1);
    assert_int_equal (c.evidence.ranks.db_name, 1);
    assert_int_equal (c.evidence.ranks.db_map, 5);
    assert_int_equal (c.evidence.pid, 3136493);
    assert_string_equal (c.evidence.host_name, "node7");
    assert_string_equal (c.host, "node7");
    assert_string_equal (c.host_uid, "3538958389648580163");
    capture_fini (&c);
}

/* Whoever has more ranks than that learns which option says so. */
static void test_too_high (void **state)
{
    const int64_t most = capture_world_max;
    struct capture c;

    (void)state;
    capture_put ("profiler_info_7.json", "{}");
    capture_world_max = 7;
    read_it (&c);
    capture_world_max = most;
    assert_int_equal (c.rank, CAPTURE_NO_RANK);
    assert_string_equal (c.reason, "profiler_info_7.json: the number is not a "
                         "rank below 7 (--max-ranks)");
    capture_fini (&c);
    capture_put ("profiler_info_7.json", "{}");
    read_it (&c);
    assert_int_equal (c.rank, 7);
    capture_fini (&c);
}

/* Nothing of it is of the types that it should have. */
static void test_odd_database (void **state)
{
    struct capture c;

    (void)state;
    capture_put ("profiler_info_1.json", "{}");
    put_db (OUT "/ascend_pytorch_profiler_1.db",
            "CREATE TABLE HOST_INFO (hostUid BLOB, hostName BLOB);"
            "INSERT INTO HOST_INFO VALUES (NULL, x'6eff');"
            "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
            "INSERT INTO RANK_DEVICE_MAP VALUES (-1, -1);"
            "CREATE TABLE TASK (globalPid TEXT);"
            "CREATE TABLE PYTORCH_API (globalTid INTEGER);"
            "INSERT INTO PYTORCH_API VALUES (77 << 32 | 78);");
    read_it (&c);
    assert_int_equal (c.evidence.ranks.db_map, EVIDENCE_UNKNOWN);
    assert_int_equal (c.evidence.pid, 77);
    assert_string_equal (c.evidence.host_name, "n\xef\xbf\xbd");
    assert_string_equal (c.host_uid, "");
    capture_fini (&c);
}

int main (void)
{
#define IN_TOP(f) cmocka_unit_test_setup_teardown (f, setup, capture_teardown)
    const struct CMUnitTest tests[] = {
        IN_TOP (test_info),     IN_TOP (test_long_up), IN_TOP (test_no_info),
        IN_TOP (test_metadata), IN_TOP (test_database),
        IN_TOP (test_odd_database), IN_TOP (test_too_high),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
