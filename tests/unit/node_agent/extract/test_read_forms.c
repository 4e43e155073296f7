/* tests/unit/node_agent/extract/test_read_forms.c - captures of MindSpore and
 * of the msprof program, where they differ from torch_npu's */
#include "node_agent/extract/capture_check.h"
#include "../../../maker/event_schema.h"

#include <math.h>
#include <sqlite3.h>
#include <unistd.h>

#define OUT "ASCEND_PROFILER_OUTPUT/"
#define MS "host_12_20251127123437386_ascend_ms"
#define PROF "PROF_000001_20250109161601123_ABCDEF"

static void put (const char *capture, const char *name, const char *text)
{
    capture_choose (capture);
    capture_put (name, text);
}

static void put_db (const char *capture, const char *name, const char *sql)
{
    sqlite3 *db;

    put (capture, name, "");
    assert_int_equal (sqlite3_open (capture_path (name), &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

/* Rows of the profiler's tables as text: the number of the table, then all
 * columns.
 */
struct kept {
    char text[16384];
    char files[1024];           // that nobody reads
    struct capture c;
};

static int keep_rows (void *arg, const struct batch *b, struct err *err)
{
    struct kept *k = arg;
    size_t used = strlen (k->text), n;

    (void)err;
    for (uint32_t i = 0; b->table == TABLE_FILE && i < b->nrows; i++) {
        n = strlen (k->files);
        (void)snprintf (k->files + n, sizeof (k->files) - n, "%s ",
                        batch_text_at (b, b->text[0][i], &(size_t){ 0 }));
    }
    for (uint32_t i = 0; b->table < TABLE_PROFILER_COUNT && i < b->nrows;
         i++) {
        used += (size_t)snprintf (k->text + used, sizeof (k->text) - used,
                                  "%d", (int)b->table);
        for (unsigned c = 0; c < schema_table (b->table)->ncolumns; c++) {
            const char *s = b->text[c]
                                ? batch_text_at (b, b->text[c][i], &n) : NULL;

            if (b->text[c])
                used += (size_t)snprintf (k->text + used,
                                          sizeof (k->text) - used, "|%s",
                                          s ? s : "NULL");
            else
                used += (size_t)snprintf (k->text + used,
                                          sizeof (k->text) - used, "|%g",
                                          b->real[c][i]);
        }
        assert_true (used < sizeof (k->text) - 2);
        k->text[used++] = '\n';
        k->text[used] = '\0';
    }
    return 0;
}

static void read_steps (struct kept *k, const char *capture,
                        const struct steps_filter *steps)
{
    const struct row_sink sink = { keep_rows, sink_forget_nothing, k };
    struct err err = { "" };

    k->text[0] = k->files[0] = '\0';
    capture_init (&k->c);
    capture_choose (capture);
    assert_int_equal (extract_capture (capture_chosen (), steps, &sink, &k->c,
                                       &err), 0);
}

static void read_it (struct kept *k, const char *capture)
{
    read_steps (k, capture, NULL);
}

static void has (const char *text, const char *part)
{
    if (!strstr (text, part))
        fail_msg ("no \"%s\" in \"%s\"", part, text);
}

/* ---- MindSpore ---- */

#define TIME "\"Communication Time Info\":{\"Start Timestamp(us)\":5," \
    "\"Elapse Time(ms)\":1,\"Transit Time(ms)\":0,\"Wait Time(ms)\":0," \
    "\"Synchronization Time(ms)\":0,\"Idle Time(ms)\":1}"
#define OP(name) "\"" name "\":{" TIME ",\"Communication Bandwidth Info\":{}}"
#define LINK_ROW "\"Transport Type\":\"HCCS\",\"Transit Size(MB)\":4," \
    "\"Transit Time(ms)\":2,\"Bandwidth(GB/s)\":2"
#define PLACE(key, op) "\"" key "@7\":{\"0-1\":{" LINK_ROW op "}}"
#define CSV "Step,Computing,Communication(Not Overlapped),Overlapped," \
    "Communication,Free,Stage,Bubble,Communication(Not Overlapped and " \
    "Exclude Receive),Preparing\n"

static void make_mindspore (const char *capture)
{
    put (capture, "profiler_info_3.json",
         "{\"profiler_parameters\":{\"profiler_level\":\"Level1\"},"
         "\"ms_profiler_info\":{\"rank_id\":3,\"device_id\":\"5\"},"
         "\"ms_version\":\"2.7\"}");
    put (capture, OUT "communication.json",
         "{\"step0\":{\"p2p\":{" OP ("Send-op1@7") "},\"collective\":{"
         OP ("hcom_send__822_0@7") "," OP ("hcom_allReduce__822_0@7") ","
         "\"Total Op Info\":{}}}}");
    put (capture, OUT "communication_matrix.json",
         "{\"step0\":{\"p2p\":{},\"collective\":{"
         PLACE ("send-top1", ",\"op_name\":\"hcom_send__822_0@7\"") ","
         PLACE ("send-total", "") ","
         PLACE ("allreduce-top1", ",\"op_name\":\"hcom_allReduce__1@7\"") ","
         PLACE ("allreduce-total", "") "}}}");
    put (capture, OUT "step_trace_time.csv", CSV "0,1,2,3,4,5,6,7,-8,9\n");
}

/* What MindSpore calls p2p goes by the case of the letters: its own type would
 * make two kinds of one op in a job of both frameworks.
 */
static void test_mindspore (void **state)
{
    struct kept k;

    (void)state;
    make_mindspore (MS);
    read_it (&k, MS);
    has (k.text, "0|hcom_send__822_0|7|5|1|0|0|0|1|step0|p2p\n");
    has (k.text, "0|hcom_allReduce__822_0|7|5|1|0|0|0|1|step0|collective\n");
    has (k.text, "0|Send-op1|7|5|1|0|0|0|1|step0|collective\n");
    has (k.text, "2|send-top1|7|0|1|HCCS|4|2|2|step0|p2p|hcom_send__822_0@7");
    has (k.text, "2|send-total|7|0|1|HCCS|4|2|2|step0|p2p|\n");
    has (k.text, "2|allreduce-total|7|0|1|HCCS|4|2|2|step0|collective|\n");
    has (k.text, "3|5|0|1|2|3|4|5|6|7|-8|9\n");
    assert_int_equal (k.c.rank, 3);
    assert_int_equal (k.c.device_id, 5);
    assert_string_equal (k.c.level, "Level1");
    assert_string_equal (k.c.framework, "ascend_ms");
    assert_int_equal (k.c.state, CAPTURE_COMPLETE);
    capture_fini (&k.c);
}

/* A directory that was renamed is told by what is in it. */
static void test_mindspore_renamed (void **state)
{
    struct kept k;

    (void)state;
    make_mindspore ("rank_3");
    read_it (&k, "rank_3");
    assert_string_equal (k.c.framework, "ascend_ms");
    has (k.text, "0|hcom_send__822_0|7|5|1|0|0|0|1|step0|p2p\n");
    has (k.text, "3|5|0|1|");
    capture_fini (&k.c);
}

/* ---- CANN's database ---- */

static const char analyzer_sql[] =
    "CREATE TABLE CommAnalyzerTime(hccl_op_name TEXT, group_name TEXT,"
    " start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC,"
    " wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC);"
    "CREATE TABLE CommAnalyzerBandwidth(hccl_op_name TEXT, group_name TEXT,"
    " transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC,"
    " bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC,"
    " count NUMERIC, total_duration NUMERIC);"
    "CREATE TABLE CommAnalyzerMatrix(hccl_op_name TEXT, group_name TEXT,"
    " src_rank TEXT, dst_rank TEXT, transport_type TEXT,"
    " transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC);"
    "INSERT INTO CommAnalyzerTime VALUES"
    " ('hcom_send__822_0','7',5,1,0,0,0,1),"
    " ('hcom_allReduce__822_0','7',6,1,0,0,0,1),"
    " ('Total HCCL Operators','7',0,2,0,0,0,2);"
    "INSERT INTO CommAnalyzerBandwidth VALUES"
    " ('hcom_send__822_0','7','HCCS',4,2,2,0,4,1,2);"
    "INSERT INTO CommAnalyzerMatrix VALUES"
    " ('hcom_allReduce__822_0','7','0','1','HCCS',8,2,4),"
    " ('hcom_allReduce__822_1','7',0,1,'HCCS',8,4,2),"
    " ('hcom_send__822_0','7','0','1',NULL,4,2,2);";

static void check_analyzer (const struct kept *k)
{
    has (k->text, "0|hcom_send__822_0|7|5|1|0|0|0|1|step|p2p\n");
    has (k->text, "0|hcom_allReduce__822_0|7|6|1|0|0|0|1|step|collective\n");
    has (k->text, "1|hcom_send__822_0|7|HCCS|4|2|2|0|4|1|2|step|p2p\n");
    has (k->text, "2|send-top1|7|0|1|NULL|4|2|2|step|p2p|hcom_send__822_0\n"
         "2|send-middle|7|0|1|NULL|4|2|2|step|p2p|hcom_send__822_0\n"
         "2|send-bottom1|7|0|1|NULL|4|2|2|step|p2p|hcom_send__822_0\n"
         "2|send-total|7|0|1|NULL|4|2|2|step|p2p|\n"
         "2|allreduce-top1|7|0|1|HCCS|8|2|4|step|collective|"
         "hcom_allReduce__822_0\n"
         "2|allreduce-middle|7|0|1|HCCS|8|4|2|step|collective|"
         "hcom_allReduce__822_1\n");
    has (k->text,
         "2|allreduce-total|7|0|1|HCCS|16|6|2.6667|step|collective|\n");
    assert_null (strstr (k->text, "Total"));
}

/* It has no step and no type, and is all that a database export of MindSpore
 * has of communication.
 */
static void test_analyzer_db (void **state)
{
    struct kept k;

    (void)state;
    put (MS, "profiler_info_0.json", "{\"ms_profiler_info\":{}}");
    put_db (MS, OUT "communication_analyzer.db", analyzer_sql);
    read_it (&k, MS);
    check_analyzer (&k);
    assert_int_equal (k.c.state, CAPTURE_PARTIAL);
    has (k.c.reason, "StepTraceTime is missing");
    assert_string_equal (k.c.source, "communication_analyzer.db");
    capture_fini (&k.c);
}

/* Rows without a step are not those that --steps asks for. */
static void test_analyzer_steps (void **state)
{
    struct steps_filter steps = { .nranges = 0 };
    struct kept k;

    (void)state;
    assert_int_equal (steps_parse ("1-3", &steps, NULL), 0);
    put_db (MS, OUT "communication_analyzer.db", analyzer_sql);
    put (PROF, "analyze/communication.json", "{" OP ("hcom_a@7") "}");
    read_steps (&k, MS, &steps);
    assert_string_equal (k.text, "");
    capture_fini (&k.c);
    read_steps (&k, PROF, &steps);
    assert_string_equal (k.text, "");
    capture_fini (&k.c);
}

/* Beside it the event database of MindSpore has the steps that it lacks. */
static void test_analyzer_and_events (void **state)
{
    static const char events[] =
        EVENT_SCHEMA
        "INSERT INTO STRING_IDS VALUES (101, 'hcom_broadcast__1_1_1');"
        "INSERT INTO COMMUNICATION_OP VALUES (101, 1000, 1200, 1, 9, 1, 0, 0, "
        "41, 0, 1000, 0);"
        "INSERT INTO COMMUNICATION_TASK_INFO VALUES (0, 7, 3, 1, 9, 0, 99, 0, "
        "4294967295, 99, 0, 99, 99, 1);"
        "INSERT INTO TASK VALUES (1000, 1100, 3, 1, 7, 0, 0, 0, 0, 0, 0);";
    static const char step[] = "INSERT INTO STEP_TIME VALUES (2, 500, 50000);";
    struct steps_filter steps = { .nranges = 0 };
    char sql[sizeof (events) + sizeof (step)];
    struct kept k;

    (void)state;
    assert_int_equal (steps_parse ("2", &steps, NULL), 0);
    put (MS, "profiler_info_0.json", "{\"ms_profiler_info\":{}}");
    put_db (MS, OUT "communication_analyzer.db", analyzer_sql);
    put_db (MS, OUT "ascend_mindspore_profiler_0.db", events);
    read_it (&k, MS);
    check_analyzer (&k);
    assert_int_equal (k.c.state, CAPTURE_COMPLETE);
    assert_string_equal (
        k.c.source,
        "CommAnalyzerTime=communication_analyzer.db,CommAnalyzerBandwidth="
        "communication_analyzer.db,CommAnalyzerMatrix=communication_analyzer.db"
        ",StepTraceTime=event_db");
    capture_fini (&k.c);
    read_steps (&k, MS, &steps);
    assert_string_equal (k.text, "");
    has (k.c.reason, "its rows name no step");
    capture_fini (&k.c);
    (void)snprintf (sql, sizeof (sql), "%s%s", events, step);
    put_db (MS, OUT "ascend_mindspore_profiler_0.db", sql);
    read_steps (&k, MS, &steps);
    has (k.text, "0|hcom_broadcast__1_1_1|12345|1|");
    has (k.text, "|step2|collective\n");
    assert_string_equal (k.c.source, "event_db");
    has (k.c.reason, "0.200 us of step2, which by tasks would be 0.100 us");
    capture_fini (&k.c);
}

static void test_analyzer_damaged (void **state)
{
    struct kept k;

    (void)state;
    put_db (MS, OUT "communication_analyzer.db", analyzer_sql);
    put_db (MS, OUT "communication_analyzer.db",
            "CREATE TABLE CommAnalyzerMatrix(hccl_op_name TEXT, group_name,"
            " src_rank, dst_rank, transport_type, transit_size, transit_time,"
            " bandwidth);"
            "INSERT INTO CommAnalyzerMatrix VALUES"
            " ('hcom_send__1','7',0,1,'HCCS',8,2,4),"
            " ('hcom_send__2','7',0,1,'HCCS',NULL,2,4);"
            "CREATE TABLE CommAnalyzerTime(hccl_op_name TEXT)");
    read_it (&k, MS);
    has (k.text, "2|send-top1|7|0|1|HCCS|8|2|4|step|p2p|hcom_send__1\n");
    has (k.c.reason, "hcom_send__2 lacks a size");
    has (k.c.reason, "CommAnalyzerTime has no column group_name");
    capture_fini (&k.c);
}

/* ---- msprof ---- */

static void put_info (const char *capture, const char *rank)
{
    char text[256];

    (void)snprintf (text, sizeof (text), "{\"rank_id\":%s,\"hostUid\":"
                    "\"734\",\"hostname\":\"nodeA\",\"devices\":\"4\"}", rank);
    put (capture, "device_4/info.json.4", text);
}

#define RAW_LINK(key) "\"" key "@7\":{\"0-1\":{" LINK_ROW "}}"

/* Keys at the top, as CANN writes them, without steps and categories. */
static void test_msprof_text (void **state)
{
    struct kept k;

    (void)state;
    put_info (PROF, "6");
    put (PROF, "analyze/communication.json",
         "{" OP ("hcom_allReduce__822_0@7") "," OP ("hcom_receive__822_0@7")
         ",\"Total HCCL Operators\":{}}");
    put (PROF, "analyze/communication_matrix.json",
         "{" RAW_LINK ("hcom_allReduce__822_0") ","
         RAW_LINK ("hcom_receive__822_0") "}");
    read_it (&k, PROF);
    has (k.text, "0|hcom_allReduce__822_0|7|5|1|0|0|0|1|step|collective\n"
         "0|hcom_receive__822_0|7|5|1|0|0|0|1|step|p2p\n");
    has (k.text, "2|receive-total|7|0|1|HCCS|4|2|2|step|p2p|\n"
         "2|allreduce-top1|7|0|1|HCCS|4|2|2|step|collective|"
         "hcom_allReduce__822_0\n");
    assert_int_equal (k.c.rank, 6);
    assert_int_equal (k.c.device_id, 4);
    assert_string_equal (k.c.host, "nodeA");
    assert_string_equal (k.c.host_uid, "734");
    assert_string_equal (k.c.framework, "msprof");
    assert_int_equal (k.c.state, CAPTURE_PARTIAL);
    has (k.c.reason, "StepTraceTime is missing: neither an event database");
    assert_null (strstr (k.c.reason, "Comm"));
    assert_string_equal (k.files, "device_4/ ");
    capture_fini (&k.c);
}

static void test_msprof_db (void **state)
{
    struct kept k;

    (void)state;
    put_info (PROF, "-1");
    put_db (PROF, "analyze/communication_analyzer.db", analyzer_sql);
    read_it (&k, PROF);
    check_analyzer (&k);
    assert_int_equal (k.c.rank, CAPTURE_NO_RANK);
    assert_int_equal (k.c.state, CAPTURE_PARTIAL);
    capture_fini (&k.c);
}

/* Whatever the file with the rank holds: a state and a reason. */
static void test_msprof_info (void **state)
{
    static const struct {
        const char *text;
        int64_t rank;
        const char *reason;
    } cases[] = {
        { "{\"rank_id\":\"2\"}", 2, "never analysed" },
        { "{\"rank_id\":-1,\"hostUid\":77}", -1, "never analysed" },
        { "{\"rank_id\":1e300,\"hostname\":[]}", -1, "never analysed" },
        { "{\"rank_id\":", -1, "device_4/info.json.4" },
        { "[]", -1, "not a JSON object" },
        { "", -1, "device_4/info.json.4" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct kept k;

        put (PROF, "device_4/info.json.4", cases[i].text);
        read_it (&k, PROF);
        assert_int_equal (k.c.rank, cases[i].rank);
        assert_int_equal (k.c.state, CAPTURE_RAW);
        has (k.c.reason, cases[i].reason);
        capture_fini (&k.c);
    }
}

/* Several devices: one capture, and it says so. */
static void test_msprof_devices (void **state)
{
    struct kept k;

    (void)state;
    put_info (PROF, "6");
    put (PROF, "device_2/info.json.2", "{\"rank_id\":1}");
    read_it (&k, PROF);
    assert_int_equal (k.c.device_id, 2);
    assert_int_equal (k.c.rank, 1);
    has (k.c.reason, "2 devices");
    capture_fini (&k.c);
}

/* Every file cut at many places: a state and, if it is not whole, a reason. */
static void test_cut (void **state)
{
    static const char *const files[][2] = {
        { PROF, "analyze/communication.json" },
        { PROF, "analyze/communication_matrix.json" },
        { PROF, "analyze/communication_analyzer.db" },
        { PROF, "device_4/info.json.4" },
    };

    test_msprof_text (state);
    put_db (PROF, "analyze/communication_analyzer.db", analyzer_sql);
    for (size_t f = 0; f < 4; f++) {
        char path[512], *all;
        struct buf text;
        size_t size;

        capture_choose (files[f][0]);
        (void)snprintf (path, sizeof (path), "%s",
                        capture_path (files[f][1]));
        buf_init (&text, 1 << 20);
        assert_int_equal (fileio_read_at (-1, path, &text, NULL), 0);
        size = text.size;
        assert_non_null (all = malloc (size));
        memcpy (all, text.data, size);
        for (size_t at = 0; at < size; at += size > 4096 ? 401 : 7) {
            struct kept k;

            assert_int_equal (truncate (path, (off_t)at), 0);
            read_it (&k, PROF);
            assert_true (k.c.state == CAPTURE_PARTIAL);
            assert_true (k.c.reason[0]);
            capture_fini (&k.c);
            assert_int_equal (fileio_replace (path, all, size, 0600, NULL), 0);
        }
        free (all);
        buf_fini (&text);
    }
}

int main (void)
{
#define IN_TOP(f) \
    cmocka_unit_test_setup_teardown (f, capture_setup, capture_teardown)
    const struct CMUnitTest tests[] = {
        IN_TOP (test_mindspore),     IN_TOP (test_mindspore_renamed),
        IN_TOP (test_analyzer_db),   IN_TOP (test_analyzer_steps),
        IN_TOP (test_analyzer_and_events),
        IN_TOP (test_analyzer_damaged), IN_TOP (test_msprof_text),
        IN_TOP (test_msprof_db),     IN_TOP (test_msprof_info),
        IN_TOP (test_msprof_devices), IN_TOP (test_cut),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
