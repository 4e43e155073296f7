/* tests/unit/node_agent/test_extras.c - what else a capture holds, as text */
#include "capture_check.h"

#include "extract/extras.h"

#include <math.h>
#include <zlib.h>

#define OUT "ASCEND_PROFILER_OUTPUT/"
#define STEPS \
    "Step,Computing,Communication(Not Overlapped),Overlapped," \
    "Communication,Free,Stage,Bubble,Communication(Not Overlapped and " \
    "Exclude Receive)\n13,1,0,0,0,0,0,0,0\n"
#define OPS_HEAD "OP Type,Core Type,Count,Total Time(us),Min Time(us)," \
    "Avg Time(us),Max Time(us),Ratio(%)\n"
#define API_HEAD "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us)," \
    "Max(us),Variance\n"
#define MEMORY_HEAD "Component,Timestamp(us),Total Allocated(MB)," \
    "Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
#define MODULE_HEAD "Device_id,Component,Timestamp(us),Total Reserved(MB)," \
    "Device\n"

static int setup (void **state)
{
    (void)state;
    return capture_begin ("rank_0_ascend_pt");
}

static void put_gz (const char *name, const char *text)
{
    gzFile f = gzopen (capture_path (name), "w");

    assert_non_null (f);
    assert_int_equal (gzputs (f, text), strlen (text));
    assert_int_equal (gzclose (f), Z_OK);
}

/* A capture of one step, complete without anything else. */
static void make_capture (void)
{
    assert_int_equal (fileio_remove_tree (capture_chosen (), NULL), 0);
    capture_put ("profiler_info_0.json",
                 "{\"config\":{\"experimental_config\":{\"_profiler_level\":"
                 "\"Level0\"}}}");
    capture_put (OUT "step_trace_time.csv", STEPS);
}

/* A sink that keeps the rows of one table as text. */
struct kept {
    enum table_id table;
    char text[65536];
    size_t rows;
};

static void keep_value (struct kept *k, const struct batch *b, unsigned col,
                        uint32_t row)
{
    size_t used = strlen (k->text), size, left = sizeof (k->text) - used;
    const char *sep = col > 0 ? "|" : "";
    const char *text;

    if (b->real[col] && isnan (b->real[col][row])) {
        (void)snprintf (k->text + used, left, "%s", sep);
    } else if (b->real[col]) {
        (void)snprintf (k->text + used, left, "%s%.17g", sep,
                        b->real[col][row]);
    } else {
        text = batch_text_at (b, b->text[col][row], &size);
        (void)snprintf (k->text + used, left, "%s%s", sep,
                        text ? text : "NULL");
    }
}

static int keep_rows (void *arg, const struct batch *b, struct err *err)
{
    struct kept *k = arg;

    (void)err;
    for (uint32_t row = 0; b->table == k->table && row < b->nrows; row++) {
        for (unsigned c = 0; c < schema_table (b->table)->ncolumns; c++)
            keep_value (k, b, c, row);
        (void)snprintf (k->text + strlen (k->text),
                        sizeof (k->text) - strlen (k->text), "\n");
        k->rows++;
    }
    return 0;
}

static struct kept kept;

static void read_table (enum table_id table, struct capture *c)
{
    const struct row_sink sink = { keep_rows, sink_forget_nothing, &kept };

    kept.table = table;
    kept.text[0] = '\0';
    kept.rows = 0;
    assert_int_equal (capture_read (&sink, c), 0);
}

static void check (enum table_id table, const char *rows,
                   enum capture_state state, const char *reason)
{
    struct capture c;

    read_table (table, &c);
    assert_string_equal (kept.text, rows);
    if (c.state != state || !strstr (c.reason, reason))
        fail_msg ("%s: no \"%s\" in \"%s\"", capture_state_name (c.state),
                  reason, c.reason);
    capture_fini (&c);
}

/* Columns of both years, quoted names, and what has no value. */
static void test_statistics (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "op_statistic.csv",
                 OPS_HEAD "MatMul,AI_CORE,8,921.498,16.54,115.187,346.567,"
                 "10.385\n\"a,\"\"b\"\"\nc\",,3,1.5,,N/A,1,2\r\n");
    check (TABLE_OPERATOR, "|MatMul|AI_CORE|8|921.49800000000005|"
           "16.539999999999999|346.56700000000001\n"
           "|a,\"b\"\nc|NULL|3|1.5||1\n", CAPTURE_COMPLETE, "");
    capture_put (OUT "api_statistic.csv",
                 API_HEAD "host,acl,x,2,4,1,0,1,9\n3,hccl,y,2,4,1,0,1,9\n");
    check (TABLE_API, "|acl|x|4|2|0|1\n3|hccl|y|4|2|0|1\n", CAPTURE_COMPLETE,
           "");
}

/* Rows before the damage stay, and nothing else of the capture is lost. */
static void test_bad_statistics (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "op_statistic.csv",
                 OPS_HEAD "a,b,1,2,3,4,5,6\na,b,x,2,3,4,5,6\n");
    check (TABLE_OPERATOR, "|a|b|1|2|3|5\n", CAPTURE_PARTIAL,
           "op_statistic.csv: line 3: not a number: \"x\" "
           "(OperatorStatistic)");
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL, "");
    capture_put (OUT "op_statistic.csv", OPS_HEAD "a,b,-1,2,3,4,5,6\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL,
           "line 2: less than nothing: \"-1\"");
    capture_put (OUT "op_statistic.csv", OPS_HEAD "a,b,1\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "line 2: fewer fields");
    capture_put (OUT "op_statistic.csv", OPS_HEAD "\"a\n\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL,
           "line 2: a quote that does not end");
    capture_put (OUT "op_statistic.csv",
                 OPS_HEAD "\"a\nb\xff\",c,1,2,3,4,5,6\n");
    check (TABLE_OPERATOR, "|a\nb\xef\xbf\xbd|c|1|2|3|5\n", CAPTURE_PARTIAL,
           "line 2: not valid UTF-8");
    capture_put (OUT "op_statistic.csv", "OP Type\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "no column \"Count\"");
    capture_put (OUT "op_statistic.csv", "");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "op_statistic.csv is empty");
}

/* A record that no buffer holds, and more rows than are carried. */
static void test_bounds (void **state)
{
    static char big[1u << 20];
    size_t used = (size_t)snprintf (big, sizeof (big), "%s",
                                     OPS_HEAD);
    struct capture c;

    (void)state;
    make_capture ();
    memset (big + used, 'x', sizeof (big) - used - 1);
    capture_put (OUT "op_statistic.csv", big);
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "line 2: it is too long");
    for (int i = 0; i < 4100; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "op%d,c,2,%d,%d,0,9,1\n", i, i, i);
    capture_put (OUT "op_statistic.csv", big);
    read_table (TABLE_OPERATOR, &c);
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_int_equal (kept.rows, 4097);
    assert_non_null (strstr (kept.text, "|op0|c|2|0|0|9\n"));
    capture_fini (&c);
}

/* The largest value of each component and kind, and when it came first. */
static void test_memory (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "memory_record.csv",
                 MEMORY_HEAD "PTA,100.5\t,1,7,2,897,NPU:0\r\n"
                 "APP,200\t,,5,,,NPU:0\r\n"
                 "PTA,300\t,3,7,,897,NPU:0\r\nPTA,400\t,3,0,0,897,NPU:1\r\n");
    capture_put (OUT "npu_module_mem.csv",
                 MODULE_HEAD "2,APP,100\t,9,NPU:2\n2,SLOG,100\t,0.0,NPU:2\n");
    check (TABLE_MEMORY, "0|PTA|allocated|3|300\n0|PTA|reserved|7|100.5\n"
           "0|PTA|active|2|100.5\n0|APP|reserved|5|200\n"
           "1|PTA|allocated|3|400\n2|APP|module|9|100\n", CAPTURE_COMPLETE,
           "");
}

/* Both files are damaged: each is named, and what came before them stays. */
static void test_bad_memory (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "memory_record.csv",
                 MEMORY_HEAD "PTA,100\t,1,7,2,897,NPU:0\n"
                 "PTA,1e,1,7,2,897,NPU:0\n");
    capture_put (OUT "npu_module_mem.csv", MODULE_HEAD "2,APP,100\t,9\n");
    check (TABLE_MEMORY, "0|PTA|allocated|1|100\n0|PTA|reserved|7|100\n"
           "0|PTA|active|2|100\n", CAPTURE_PARTIAL,
           "memory_record.csv: line 3: not a number: \"1e");
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL,
           "npu_module_mem.csv: line 2: fewer fields");
}

/* More than one buffer, and records across its edges. */
static void test_large_file (void **state)
{
    static char big[4u << 20];
    size_t used = (size_t)snprintf (big, sizeof (big), "%s", MODULE_HEAD);
    char want[128];
    int i;

    (void)state;
    make_capture ();
    for (i = 0; used < sizeof (big) - 100; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "0,\"HC\nCL\",%d.5\t,%d.25,NPU:0\r\n",
                                  1000000 + i, 1 + i);
    capture_put (OUT "npu_module_mem.csv", big);
    (void)snprintf (want, sizeof (want), "0|HC\nCL|module|%d.25|%d.5\n", i,
                    1000000 + i - 1);
    check (TABLE_MEMORY, want, CAPTURE_COMPLETE, "");
    (void)snprintf (big + used, sizeof (big) - used, "0,a,b,c,d\n");
    capture_put (OUT "npu_module_mem.csv", big);
    (void)snprintf (want, sizeof (want), "npu_module_mem.csv: line %d: not a "
                    "number: \"c\"", 2 * i + 2);
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL, want);
}

/* Components beyond all measure share rows. */
static void test_many_components (void **state)
{
    static char big[1u << 18];
    size_t used = (size_t)snprintf (big, sizeof (big), "%s",
                                     MODULE_HEAD);
    struct capture c;

    (void)state;
    make_capture ();
    for (int i = 0; i < 3000; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "0,c%d,100\t,%d,NPU:0\n", i, i + 1);
    capture_put (OUT "npu_module_mem.csv", big);
    read_table (TABLE_MEMORY, &c);
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_int_equal (kept.rows, EXTRAS_PEAKS_MAX + 1);
    assert_non_null (strstr (kept.text, "|(others)|module|3000|100\n"));
    capture_fini (&c);
}

static void test_info (void **state)
{
    (void)state;
    make_capture ();
    capture_put ("profiler_info_0.json",
                 "{\"torch_npu_version\":\"2.7\",\"config\":{"
                 "\"common_config\":{\"schedule\":{\"wait\":1},"
                 "\"with_stack\":true},"
                 "\"experimental_config\":{\"_profiler_level\":\"Level0\","
                 "\"_export_type\":[\"text\"]}}}");
    capture_put ("profiler_metadata.json",
                 "{\"trace_id\":\"ab\",\"lr\":1e-5,\"ENV_VARIABLES\":{"
                 "\"A\":\"\",\"API_TOKEN\":\"hunter2\","
                 "\"aws_secret\":\"hunter2\","
                 "\"EMPTY_KEY\":\"\"},\"distributed_args\":{\"world_size\":1,"
                 "\"sequence_parallel\":false},\"user\":{"
                 "\"list\":[1,\"a\\\"b\",{}],"
                 "\"deep\":{\"password\":\"hunter2\",\"n\":null}},"
                 "\"parallel_group_info\":{}}");
    check (TABLE_INFO,
           "config|torch_npu_version|2.7\nconfig|schedule|{\"wait\":1}\n"
           "config|with_stack|true\nconfig|_profiler_level|Level0\n"
           "config|_export_type|[\"text\"]\n"
           "metadata|trace_id|ab\nmetadata|lr|1e-5\nenvironment|A|\n"
           "environment|API_TOKEN|(not shown)\n"
           "environment|aws_secret|(not shown)\nenvironment|EMPTY_KEY|\n"
           "metadata|distributed_args.world_size|1\n"
           "metadata|distributed_args.sequence_parallel|false\n"
           "metadata|user.list|[1,\"a\\\"b\",{}]\n"
           "metadata|user.deep|{\"password\":\"(not shown)\",\"n\":null}\n",
           CAPTURE_COMPLETE, "");
}

/* A text that no scanner would hold is cut, and is no damage. */
static void test_huge_info (void **state)
{
    static char big[300000];
    struct capture c;

    (void)state;
    make_capture ();
    memset (big, 'v', sizeof (big) - 1);
    memcpy (big, "{\"a\":\"\\u00e4\xff", 13);
    memcpy (big + sizeof (big) - 14, "\",\"b\":[\"12\"]}", 14);
    capture_put ("profiler_metadata.json", big);
    read_table (TABLE_INFO, &c);
    if (c.state != CAPTURE_COMPLETE)
        fail_msg ("%s", c.reason);
    assert_non_null (strstr (kept.text, "metadata|a|\\u00e4\xef\xbf\xbdvv"));
    assert_non_null (strstr (kept.text, "vvv...\nmetadata|b|[\"12\"]\n"));
    capture_fini (&c);
}

/* Names and values of any length, and more than are carried. */
static void test_long_info (void **state)
{
    static char big[1u << 18];
    size_t used = 0;
    struct capture c;

    (void)state;
    make_capture ();
    used = (size_t)snprintf (big, sizeof (big), "{\"deep\":[[[[[[[[[[[1]]]]]]]"
                             "]]]],\"ENV_VARIABLES\":{\"");
    memset (big + used, 'n', 1000);
    used += 1000;
    used += (size_t)snprintf (big + used, sizeof (big) - used, "\":\"");
    memset (big + used, 'v', 5000);
    used += 5000;
    used += (size_t)snprintf (big + used, sizeof (big) - used, "\"");
    for (int i = 0; i < 2000; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  ",\"n%d\":\"%d\"", i, i);
    (void)snprintf (big + used, sizeof (big) - used, "}}");
    capture_put ("profiler_metadata.json", big);
    read_table (TABLE_INFO, &c);
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_int_equal (kept.rows, EXTRAS_INFO_MAX + 1);
    assert_non_null (strstr (kept.text, "deep|[[[[[[[[...]]]]]]]]\n"));
    assert_non_null (strstr (kept.text, "nnn...|vvv"));
    assert_non_null (strstr (kept.text, "vvv...\n"));
    assert_non_null (strstr (kept.text, "more|(979 more)|NULL\n"));
    capture_fini (&c);
}

/* Summaries and samples; both names that files have. */
static void test_links (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "hccs_20250101.csv", "Device_id,Mode,Max,Min,Average\n"
                 "0,Tx (MB/s),9,1,4.5\n0,Rx (MB/s),7,N/A,N/A\n");
    capture_put (OUT "pcie.csv", "Mode,Min,Max,Avg\nTx_p(B/us),1,3,2\n");
    capture_put (OUT "nic.csv", "Device_id,Timestamp(us),Bandwidth(MB/s),"
                 "Rx Bandwidth efficiency(%),rxPacket/s,funcId\n"
                 "0,100.5\t,8,1,5,0\n"
                 "0,101.5\t,8,2,N/A,1\n1,101.5\t,8,7,1,0\n");
    check (TABLE_LINK, "0|HCCS|Tx|MB/s||4.5|9\n0|HCCS|Rx|MB/s|||7\n"
           "0|NIC|Bandwidth|MB/s|2|8|8\n"
           "0|NIC|Rx Bandwidth efficiency|%|2|1.5|2\n"
           "0|NIC|rxPacket/s|NULL|1|5|5\n1|NIC|Bandwidth|MB/s|1|8|8\n"
           "1|NIC|Rx Bandwidth efficiency|%|1|7|7\n"
           "1|NIC|rxPacket/s|NULL|1|1|1\n|PCIE|Tx_p|B/us||2|3\n",
           CAPTURE_COMPLETE, "");
    check (TABLE_FILE, "", CAPTURE_COMPLETE, "");
    capture_put (OUT "roce_1.csv", "Timestamp(us),a\n1,2\n1\n");
    capture_put (OUT "nic_other", "x");
    check (TABLE_FILE, OUT "nic_other|1\n", CAPTURE_PARTIAL,
           "roce_1.csv: line 3: fewer fields");
}

/* More devices than a file is expected to have share a row. */
static void test_many_devices (void **state)
{
    static char big[4096];
    size_t used = (size_t)snprintf (big, sizeof (big),
                                    "Device_id,Timestamp(us),a\n");
    struct capture c;

    (void)state;
    make_capture ();
    for (int i = 0; i < 40; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "%d,1,%d\n", i, i);
    capture_put (OUT "nic.csv", big);
    read_table (TABLE_LINK, &c);
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_int_equal (kept.rows, 16);
    assert_non_null (strstr (kept.text, "|NIC|a|NULL|25|27|39\n"));
    capture_fini (&c);
}

#define MIB2 "2097152"

/* Both forms of torch's file, under any name, also compressed. */
static void test_timelines (void **state)
{
    static const char samples[] =
        "[[1700000000000000, 1700000000000005], [[0, 1048576, 0, 0, 0, 0, 0, "
        "0, 0], [0, 0, 0, 0, " MIB2 ", 0, 0, 0, 1048576]]]";
    static const char events[] =
        "[[-1, 1, 1048576, 0], [1700000000000005000, 2, " MIB2 ", 3], "
        "[1700000000000006000, 4, -" MIB2 ", 3]]";

    (void)state;
    make_capture ();
    capture_put (OUT "whatever.json", samples);
    check (TABLE_MEMORY, "|PARAMETER|timeline|1|1700000000000000\n"
           "|TEMPORARY|timeline|2|1700000000000005\n"
           "|UNKNOWN|timeline|1|1700000000000005\n"
           "|TOTAL|timeline|3|1700000000000005\n", CAPTURE_COMPLETE, "");
    make_capture ();
    put_gz ("sub.raw.json.gz", events);
    check (TABLE_MEMORY, "|PARAMETER|timeline|1|\n"
           "|TEMPORARY|timeline|2|1700000000000005\n"
           "|TOTAL|timeline|3|1700000000000005\n", CAPTURE_COMPLETE, "");
    check (TABLE_FILE, "", CAPTURE_COMPLETE, "");
    make_capture ();
    capture_put (OUT "one.json", "[[5000, 2, 1048576, 7]]");
    capture_put (OUT "none.json", "[[], []]");
    check (TABLE_MEMORY, "|UNKNOWN|timeline|1|5\n|TOTAL|timeline|1|5\n",
           CAPTURE_COMPLETE, "");
}

static void bad_timeline (const char *text, const char *reason)
{
    make_capture ();
    capture_put (OUT "t.json", text);
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL, reason);
}

static void test_bad_timelines (void **state)
{
    static const char text[] = "[[1, 2], [[0, 1], [0, 2]]]";
    static const char events[] = "[[1, 1, 5, 0], [2, 1, 5, 0], [3, 1, 5, 0]]";
    char head[64];

    (void)state;
    bad_timeline ("[[1,1,1,8]]", "t.json: byte ");
    bad_timeline ("[[1,1,1,8]]", "no such category: 8 (MemoryPeak)");
    bad_timeline ("[[1,1,1,0],[2,1,1]]", "an event has 4 numbers, not 3");
    bad_timeline ("[[1,1,1,0],[2,1,1,0,0]]", "more than 4 numbers");
    bad_timeline ("[[1],[2,1,1,0]]", "an event has 4 numbers, not 1");
    bad_timeline ("[[1],[[0,1],[0,1]]]", "more samples than times");
    bad_timeline ("[[1],[[0,1,2,3,4,5,6,7,8,9]]]", "more than 9 numbers");
    bad_timeline ("[[1],[[0,1]],[]]", "something behind");
    bad_timeline ("[[1],[]]", "times without samples");
    bad_timeline ("[[\"a\"]]", "where a number was expected");
    for (size_t n = 2; n < sizeof (text) - 1; n++) {
        (void)snprintf (head, sizeof (head), "%.*s", (int)n, text);
        bad_timeline (head, "t.json: byte ");
    }
    for (size_t n = 2; n < sizeof (events) - 1; n++) {
        (void)snprintf (head, sizeof (head), "%.*s", (int)n, events);
        bad_timeline (head, "t.json: byte ");
    }
    make_capture ();
    capture_put_bytes (OUT "t.json.gz", "\x1f\x8b\x08\0\0\0\0\0\0\3[[", 12);
    check (TABLE_FILE, OUT "t.json.gz|12\n", CAPTURE_COMPLETE, "");
}

/* Results one by one, raw data by directory; what is read is not listed. */
static void test_other_files (void **state)
{
    char name[64];

    (void)state;
    make_capture ();
    capture_put (OUT "kernels.csv", "12345");
    capture_put (OUT "sub/stacks.txt", "1");
    capture_put ("FRAMEWORK/a", "123");
    capture_put ("FRAMEWORK/deep/b", "1234");
    capture_put ("notes\xff.txt", "12");
    capture_put ("../rank_0_ascend_pt_op_args/x", "123456");
    capture_put (OUT "analyse.done", "");
    capture_put (OUT "sub/analyse.done", "");
    check (TABLE_FILE, "../rank_0_ascend_pt_op_args/|6\n" OUT
           "kernels.csv|5\n" OUT "sub/analyse.done|0\n" OUT
           "sub/stacks.txt|1\nFRAMEWORK/|7\n"
           "notes\xef\xbf\xbd.txt|2\n", CAPTURE_COMPLETE, "");
    assert_int_equal (fileio_remove_tree (
                          capture_path ("../rank_0_ascend_pt_op_args"), NULL),
                      0);
    make_capture ();
    for (int i = 0; i < 300; i++) {
        (void)snprintf (name, sizeof (name), OUT "f%03d", 299 - i);
        capture_put (name, "12");
    }
    {
        struct capture c;

        read_table (TABLE_FILE, &c);
        assert_int_equal (kept.rows, EXTRAS_FILES_MAX + 1);
        assert_memory_equal (kept.text, OUT "f000|2\n",
                             strlen (OUT "f000|2\n"));
        assert_non_null (strstr (kept.text, OUT "f255|2\n(44 more)|88\n"));
        capture_fini (&c);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_statistics),
        cmocka_unit_test (test_bad_statistics),
        cmocka_unit_test (test_bounds),
        cmocka_unit_test (test_memory),
        cmocka_unit_test (test_bad_memory),
        cmocka_unit_test (test_large_file),
        cmocka_unit_test (test_many_components),
        cmocka_unit_test (test_info),
        cmocka_unit_test (test_long_info),
        cmocka_unit_test (test_huge_info),
        cmocka_unit_test (test_links),
        cmocka_unit_test (test_many_devices),
        cmocka_unit_test (test_timelines),
        cmocka_unit_test (test_bad_timelines),
        cmocka_unit_test (test_other_files),
    };

    return cmocka_run_group_tests (tests, setup, capture_teardown);
}
