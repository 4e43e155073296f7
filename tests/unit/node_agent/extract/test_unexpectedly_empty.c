/* tests/unit/node_agent/extract/test_unexpectedly_empty.c - tables that are
 * there, and empty
 *
 * An empty table may be all that there is to say; where the capture itself says
 * otherwise it is damage, and the next form of the table counts.
 */
#include "node_agent/extract/capture_check.h"

#include <sqlite3.h>

#define OUT "ASCEND_PROFILER_OUTPUT/"
#define STEPS(communication) \
    "INSERT INTO StepTraceTime VALUES (0, '7', 10, " communication ", 0, " \
    communication ", 1, 30, 0, 5, 1);"
#define OP "INSERT INTO CommAnalyzerTime VALUES ('hcom_x__1_1_1', '1', 1, 2," \
    " 3, 4, 5, 6, 'step7', 'collective');"
#define BAND "INSERT INTO CommAnalyzerBandwidth VALUES ('hcom_x__1_1_1', '1'," \
    " 'HCCS', 1, 2, 3, 0, 1, 1, 2, 'step7', 'collective');"

#define JSON_TIME \
    "{\"Communication Time Info\": {\"Start Timestamp(us)\": 1.5, " \
    "\"Elapse Time(ms)\": 2, \"Transit Time(ms)\": 3, \"Wait Time(ms)\": 4, " \
    "\"Synchronization Time(ms)\": 5, \"Idle Time(ms)\": 6}, " \
    "\"Communication Bandwidth Info\": {}}"
#define CSV \
    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped," \
    "Communication,Free,Stage,Bubble,Communication(Not Overlapped and " \
    "Exclude Receive),Preparing\n0,7,10,20,0,20,1,30,0,20,1\n"

static int setup (void **state)
{
    (void)state;
    return capture_begin ("a_ascend_pt");
}

static void put_database (const char *sql)
{
    char *why = NULL;
    sqlite3 *db;

    assert_int_equal (sqlite3_open (capture_path (OUT "analysis.db"), &db),
                      SQLITE_OK);
    if (sqlite3_exec (
            db, "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name "
            "TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, transit_time "
            "NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, "
            "idle_time NUMERIC, step TEXT, type TEXT);"
            "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name "
            "TEXT, transport_type TEXT, transit_size NUMERIC, transit_time "
            "NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, "
            "package_size NUMERIC, count NUMERIC, total_duration NUMERIC, step "
            "TEXT, type TEXT);"
            "CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name "
            "TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
            "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, "
            "step TEXT, type TEXT, op_name TEXT);"
            "CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, "
            "computing NUMERIC, communication_not_overlapped NUMERIC, "
            "overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage "
            "NUMERIC, bubble NUMERIC, "
            "communication_not_overlapped_and_exclude_receive NUMERIC, "
            "preparing NUMERIC);", NULL, NULL, &why) != SQLITE_OK ||
        sqlite3_exec (db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg ("%s", why);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

static void put_text (const char *ops)
{
    char text[2048];

    (void)snprintf (text, sizeof (text), "{\"step7\": {\"p2p\": {}, "
                    "\"collective\": {%s}}}", ops);
    capture_put (OUT "communication.json", text);
    capture_put (OUT "communication_matrix.json",
                 "{\"step7\": {\"p2p\": {}, \"collective\": {}}}");
    capture_put (OUT "step_trace_time.csv", CSV);
}

static const char *rows_of (const uint64_t rows[TABLE_COUNT])
{
    static char text[64];

    (void)snprintf (text, sizeof (text), "%d %d %d %d", (int)rows[TABLE_TIME],
                    (int)rows[TABLE_BANDWIDTH], (int)rows[TABLE_MATRIX],
                    (int)rows[TABLE_STEP]);
    return text;
}

static int count (void *arg, const struct batch *b, struct err *err)
{
    (void)err;
    ((uint64_t *)arg)[b->table] += b->nrows;
    return 0;
}

static int forget (void *arg, enum table_id table, struct err *err)
{
    (void)err;
    ((uint64_t *)arg)[table] = 0;
    return 0;
}

/* Read it: this state, numbers of rows, source, and words of the reason. */
static void reads (const char *steps, enum capture_state state,
                   const char *numbers, const char *source, const char *reason)
{
    uint64_t rows[TABLE_COUNT] = { 0 };
    const struct row_sink sink = { count, forget, rows };
    struct steps_filter filter;
    struct err err = { "" };
    struct capture c;

    capture_init (&c);
    if (steps)
        assert_int_equal (steps_parse (steps, &filter, &err), 0);
    assert_int_equal (extract_capture (capture_chosen (),
                                       steps ? &filter : NULL, &sink, &c,
                                       &err), 0);
    if (c.state != state || !strstr (c.reason, reason))
        fail_msg ("%s: %s", capture_state_name (c.state), c.reason);
    assert_string_equal (rows_of (rows), numbers);
    assert_string_equal (c.source, source);
    capture_fini (&c);
}

/* A step has a row, whatever happens in it. */
static void test_no_steps (void **state)
{
    (void)state;
    put_database (OP BAND);
    reads (NULL, CAPTURE_PARTIAL, "1 1 0 0", "analysis.db",
           "analysis.db: StepTraceTime has no rows");
    put_text ("");
    reads (NULL, CAPTURE_COMPLETE, "1 1 0 1",
           "CommAnalyzerTime=analysis.db,CommAnalyzerBandwidth=analysis.db,"
           "CommAnalyzerMatrix=analysis.db,StepTraceTime=text",
           "StepTraceTime has no rows; the text export was read instead");
}

/* Time that is spent communicating is spent in ops. */
static void test_no_ops (void **state)
{
    (void)state;
    put_database (STEPS ("20"));
    reads (NULL, CAPTURE_PARTIAL, "0 0 0 1", "analysis.db",
           "CommAnalyzerTime has no rows, but the steps communicate for 20 us");
    put_text ("\"hcom_x__1_1_1@1\": " JSON_TIME);
    reads ("7", CAPTURE_COMPLETE, "1 0 0 1",
           "CommAnalyzerTime=text,CommAnalyzerBandwidth=text,"
           "CommAnalyzerMatrix=text,StepTraceTime=analysis.db",
           "the text export was read instead");
    put_text ("");              // which is no better
    reads (NULL, CAPTURE_PARTIAL, "0 0 0 1",
           "CommAnalyzerTime=text,CommAnalyzerBandwidth=text,"
           "CommAnalyzerMatrix=text,StepTraceTime=analysis.db",
           "communication.json: CommAnalyzerTime has no rows");
}

/* What was moved was moved by ops, whatever the steps say. */
static void test_bands_only (void **state)
{
    (void)state;
    put_database (STEPS ("0") BAND);
    reads (NULL, CAPTURE_PARTIAL, "0 1 0 1", "analysis.db",
           "CommAnalyzerTime has no rows, but CommAnalyzerBandwidth has");
}

/* All four are empty: nothing of it counts. */
static void test_nothing (void **state)
{
    (void)state;
    put_database ("");
    put_text ("\"hcom_x__1_1_1@1\": " JSON_TIME);
    reads (NULL, CAPTURE_COMPLETE, "1 0 0 1", "text", "StepTraceTime");
}

/* Nothing is missing: nothing was communicated, or is wanted. */
static void test_truly_empty (void **state)
{
    (void)state;
    put_database (STEPS ("0"));
    reads (NULL, CAPTURE_COMPLETE, "0 0 0 1", "analysis.db", "");
    capture_put (OUT "analysis.db", "");        // anew
    put_database (STEPS ("20") OP BAND);
    reads ("9", CAPTURE_COMPLETE, "0 0 0 0", "analysis.db", "");
    capture_put (OUT "analysis.db", "");        // anew
    put_database (STEPS ("20"));
    capture_put ("profiler_info_0.json", "{\"config\": "
                 "{\"experimental_config\": "
                 "{\"_profiler_level\": \"Level0\"}}}");
    reads (NULL, CAPTURE_COMPLETE, "0 0 0 1", "analysis.db", "at Level0");
}

/* The profiler writes both categories of a step, and no file without steps. */
static void test_text (void **state)
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        { "{}", "it has no step" },
        { "{\"step7\": {}}", "step \"step7\" has no \"p2p\"" },
        { "{\"step7\": {\"p2p\": {}}}",
          "step \"step7\" has no \"collective\"" },
        { "{\"step7\": {\"p2p\": {}, \"collective\": {}}}",
          "CommAnalyzerTime has no rows, but the steps communicate for 20 us" },
    };

    (void)state;
    put_text ("\"hcom_x__1_1_1@1\": " JSON_TIME);
    reads (NULL, CAPTURE_COMPLETE, "1 0 0 1", "text", "");
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        capture_put (OUT "communication.json", bad[i].text);
        reads (NULL, CAPTURE_PARTIAL, "0 0 0 1", "text", bad[i].reason);
    }
    put_text ("\"hcom_x__1_1_1@1\": " JSON_TIME);
    capture_put (OUT "communication_matrix.json", "{}");
    reads (NULL, CAPTURE_PARTIAL, "1 0 0 1", "text",
           "communication_matrix.json: byte 2: it has no step");
}

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, setup, capture_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_no_steps),
        TEST (test_no_ops),
        TEST (test_bands_only),
        TEST (test_nothing),
        TEST (test_truly_empty),
        TEST (test_text),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
