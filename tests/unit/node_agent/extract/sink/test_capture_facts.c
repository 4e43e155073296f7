/* tests/unit/node_agent/extract/sink/test_capture_facts.c - what else a capture
 * holds: what it says of itself, memory over time, and files that nobody reads
 */
#include "node_agent/extract/sink/capture_facts_check.h"

#include "extract/sink/capture_facts.h"

#include <zlib.h>

static void put_gz (const char *name, const char *text)
{
    gzFile f = gzopen (capture_path (name), "w");

    assert_non_null (f);
    assert_int_equal (gzputs (f, text), strlen (text));
    assert_int_equal (gzclose (f), Z_OK);
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
                 "\"deep\":{\"password\":\"hunter2\",\"n\":null,"
                 "\"words\":[\"--with\",\"hf_abcdefghijklmnop\"]}},"
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
           "metadata|user.deep|{\"password\":\"(not shown)\",\"n\":null,"
           "\"words\":[\"--with\",\"(not shown)\"]}\n",
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
    assert_int_equal (kept.rows, CAPTURE_FACTS_INFO_MAX + 1);
    assert_non_null (strstr (kept.text, "deep|[[[[[[[[...]]]]]]]]\n"));
    assert_non_null (strstr (kept.text, "nnn...|vvv"));
    assert_non_null (strstr (kept.text, "vvv...\n"));
    assert_non_null (strstr (kept.text, "more|(979 more)|NULL\n"));
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
    bad_timeline ("[[1],[[0,1]],[]]", "unexpected data");
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
        assert_int_equal (kept.rows, CAPTURE_FACTS_FILES_MAX + 1);
        assert_memory_equal (kept.text, OUT "f000|2\n",
                             strlen (OUT "f000|2\n"));
        assert_non_null (strstr (kept.text, OUT "f255|2\n(44 more)|88\n"));
        capture_fini (&c);
    }
}

/* What MindSpore was told to profile, and of the pipeline that feeds it. */
static void test_mindspore (void **state)
{
    struct capture c;

    (void)state;
    make_capture ();
    capture_put ("profiler_info_0.json",
                 "{\"profiler_parameters\":{\"profiler_level\":\"Level1\","
                 "\"data_process\":true,\"api_key\":\"x\","
                 "\"a\":[{\"hf_token\":\"x\"}],\"b\":{\"c\":[\"u:p@h\"]},"
                 "\"d\":{\"e\":\"f\"}},"
                 "\"ms_profiler_info\":{\"rank_id\":0},"
                 "\"ms_version\":\"2.7\"}");
    capture_put (OUT "minddata_pipeline_summary_0.json",
                 "{\"op_names\":[\"Batch\",\"Map\"],"
                 "\"queue_empty_freq_pct\":[1.5,20]}");
    check (TABLE_INFO, "config|ms_version|2.7\n"
           "config|profiler_level|Level1\nconfig|data_process|true\n"
           "config|api_key|(not shown)\nconfig|a|(not shown)\n"
           "config|b|(not shown)\nconfig|d|{\"e\":\"f\"}\n"
           "minddata|op_names|[\"Batch\",\"Map\"]\n"
           "minddata|queue_empty_freq_pct|[1.5,20]\n", CAPTURE_COMPLETE, "");
    read_table (TABLE_FILE, &c);
    assert_null (strstr (kept.text, "minddata"));
    capture_fini (&c);
    // advice, of which no table needs anything: its rank is not blamed
    capture_put (OUT "minddata_pipeline_summary_0.json",
                 "{\"queue_empty_freq_pct\":[NaN]}");
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_COMPLETE,
           "minddata_pipeline_summary_0.json: ");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_mindspore),
        cmocka_unit_test (test_info),
        cmocka_unit_test (test_huge_info),
        cmocka_unit_test (test_long_info),
        cmocka_unit_test (test_timelines),
        cmocka_unit_test (test_bad_timelines),
        cmocka_unit_test (test_other_files),
    };

    return cmocka_run_group_tests (tests, extras_setup, capture_teardown);
}
