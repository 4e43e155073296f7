/* tests/unit/node_agent/extract/test_read_capture.c - a capture's identity, its
 * state and step_trace_time.csv */
#include "node_agent/extract/capture_check.h"

#include <errno.h>
#include <unistd.h>

#define OUT "ASCEND_PROFILER_OUTPUT"
#define CSV OUT "/step_trace_time.csv"
#define TAIL ",Computing,Communication(Not Overlapped),Overlapped," \
    "Communication,Free,Stage,Bubble,Communication(Not Overlapped and " \
    "Exclude Receive)"

static int setup (void **state)
{
    (void)state;
    if (capture_begin ("host_a_12_20251127123437386_ascend_pt") < 0)
        return -1;
    return fileio_mkdirs (capture_chosen (), 0700, NULL);
}

/* A sink that keeps the rows of StepTraceTime as text. */
struct kept {
    char text[4096];
    int refuse;                 // what it answers instead of taking rows
};

static int keep_rows (void *arg, const struct batch *b, struct err *err)
{
    struct kept *k = arg;

    if (k->refuse)
        return err_set (err, k->refuse, "refused");
    for (uint32_t i = 0; b->table == TABLE_STEP && i < b->nrows; i++) {
        size_t used = strlen (k->text), n;
        const char *step = batch_text_at (b, b->text[STEP_STEP][i], &n);

        (void)snprintf (k->text + used, sizeof (k->text) - used,
                        "%g %s %.17g %g\n", b->real[STEP_DEVICE][i],
                        step ? step : "NULL", b->real[STEP_COMPUTING][i],
                        b->real[STEP_PREPARING][i]);
    }
    return 0;
}

static int read_it (struct kept *k, struct capture *c)
{
    const struct row_sink sink = { keep_rows, sink_forget_nothing, k };

    k->text[0] = '\0';
    return capture_read (&sink, c);
}

static void check_csv (const char *text, const char *rows,
                       enum capture_state state, const char *reason)
{
    struct kept k = { .refuse = 0 };
    struct capture c;

    capture_put (CSV, text);
    assert_int_equal (read_it (&k, &c), 0);
    assert_string_equal (k.text, rows);
    assert_int_equal (c.state, state);
    if (!strstr (c.reason, reason))
        fail_msg ("no \"%s\" in \"%s\"", reason, c.reason);
    capture_fini (&c);
}

/* Columns of all years, both ends of lines, a byte order mark. */
static void test_csv (void **state)
{
    (void)state;
    check_csv ("Device_id,Step" TAIL ",Preparing\n"
               "0,13,231290.09999999995,0,0,0,0,0,0,0,206.25\n",
               "0 13 231290.09999999995 206.25\n", CAPTURE_COMPLETE, "");
    check_csv ("Step" TAIL "\n13,1.5,0,0,0,0,0,0,0\n14,2,0,0,0,0,0,0,0\n",
               "nan 13 1.5 nan\nnan 14 2 nan\n", CAPTURE_COMPLETE, "");
    check_csv ("\xef\xbb\xbfStep" TAIL "\r\n,1,0,0,0,0,0,0,0\r\n\r\n",
               "nan NULL 1 nan\n", CAPTURE_COMPLETE, "");
    check_csv ("New,Step" TAIL "\nx,13,1,0,0,0,0,0,0,0\n",
               "nan 13 1 nan\n", CAPTURE_COMPLETE, "");
}

/* Whose it is, and that a file which was read is another's. */
static void test_owner (void **state)
{
    struct kept k = { .refuse = 0 };
    struct capture c;

    (void)state;
    capture_put (CSV, "Step" TAIL "\n13,1,0,0,0,0,0,0,0\n");
    for (int other = 0; other < 2; other++) {
        if (other && geteuid () != 0)
            skip ();            // only root gives files away
        if (other)
            assert_int_equal (chown (capture_path (CSV), 1, 1), 0);
        assert_int_equal (read_it (&k, &c), 0);
        assert_int_equal (c.owner, geteuid ());
        assert_int_equal (c.many_owners, other);
        capture_fini (&c);
    }
}

static void test_bad_csv (void **state)
{
    (void)state;
    check_csv ("Step" TAIL "\n13,1,0,0,0,0,0,0,0\n14,x,0,0,0,0,0,0,0\n",
               "nan 13 1 nan\n", CAPTURE_PARTIAL,
               "line 3: not a number: \"x\"");
    check_csv ("Step" TAIL "\n13,nan,0,0,0,0,0,0,0\n", "", CAPTURE_FAILED,
               "line 2: not a number");
    check_csv ("Step" TAIL "\n13,1\n", "", CAPTURE_FAILED,
               "line 2: fewer fields");
    check_csv ("Step" TAIL "\n1\x01,1,0,0,0,0,0,0,0\n", "", CAPTURE_FAILED,
               "line 2: not a step");
    check_csv ("Step,Computing\n13,1\n", "", CAPTURE_FAILED,
               "line 1: no column");
    check_csv ("", "", CAPTURE_FAILED, "is empty");
    // cut off within a number, or behind the first line
    check_csv ("Step" TAIL "\n13,1,0,0,0,0,0,0,0\n14,2,0,0,0,0,0,0,10",
               "nan 13 1 nan\n", CAPTURE_PARTIAL,
               "line 3: the line has no end");
    check_csv ("Step" TAIL "\n", "", CAPTURE_FAILED,
               "line 1: nothing is below it");
    // the reason quotes it, and must be UTF-8 all the same
    check_csv ("Step" TAIL "\n13,\xff,0,0,0,0,0,0,0\n", "", CAPTURE_FAILED,
               "\xef\xbf\xbd");
}

/* What the sink says stops the build; it is not damage. */
static void test_sink_fails (void **state)
{
    struct kept k = { .refuse = ENOSPC };
    struct capture c;

    (void)state;
    capture_put (CSV, "Step" TAIL "\n13,1,0,0,0,0,0,0,0\n");
    assert_int_equal (read_it (&k, &c), -ENOSPC);
    capture_fini (&c);
}

static void look (struct capture *c)
{
    struct extract_look l;
    struct err err = { "" };

    capture_init (c);
    assert_int_equal (extract_look (capture_chosen (), c, &l, &err), 0);
}

static void test_life (void **state)
{
    struct capture c;

    (void)state;
    look (&c);
    assert_int_equal (c.state, CAPTURE_COLLECTING);
    assert_string_equal (c.host, "host_a");
    assert_int_equal (c.rank, CAPTURE_NO_RANK);
    capture_fini (&c);
    capture_put ("profiler_info_7.json", "{}");
    look (&c);
    assert_int_equal (c.state, CAPTURE_RAW);
    assert_int_equal (c.rank, 7);
    capture_fini (&c);
    capture_put (OUT "/operator_details.csv", "");
    look (&c);
    assert_int_equal (c.state, CAPTURE_ANALYSING);
    capture_fini (&c);
    capture_put (OUT "/communication.json", "");
    look (&c);
    assert_int_equal (c.state, CAPTURE_COMPLETE);       // something to read
    capture_fini (&c);
}

static void check_rank (int64_t want)
{
    struct capture c;

    look (&c);
    assert_int_equal (c.rank, want);
    capture_fini (&c);
}

/* Sources of the rank, from the least to the most believed. */
static void test_rank (void **state)
{
    (void)state;
    capture_put ("profiler_metadata.json", "{\"parallel_group_info\": {\"w\": "
                 "{\"group_name\": \"default_group\", \"group_rank\": 1, "
                 "\"global_ranks\": [3, 5]}}}");
    capture_put ("profiler_info.json", "{}");
    check_rank (5);
    capture_put ("profiler_info.json", "{\"rank_id\": -1}");
    check_rank (5);
    capture_put ("profiler_info.json", "{\"rank_id\": 6}");
    check_rank (6);
    capture_put ("profiler_info.json", "{\"rank_id\": \"7\"}");
    check_rank (7);
    capture_put (OUT "/ascend_pytorch_profiler_8.db", "");
    check_rank (8);
    capture_put ("profiler_info_9.json", "{\"rank_id\": 6}");
    check_rank (9);
}

static void check_reason (const char *text)
{
    struct kept k = { .refuse = 0 };
    struct capture c;

    assert_int_equal (read_it (&k, &c), 0);
    assert_int_equal (c.rank, 3);
    if (!strstr (c.reason, text))
        fail_msg ("no \"%s\" in \"%s\"", text, c.reason);
    assert_int_not_equal (c.state, CAPTURE_COMPLETE);
    capture_fini (&c);
}

/* The rows of another rank would pass for those of this one. */
static void test_other_rank (void **state)
{
    (void)state;
    capture_put ("profiler_info_3.json", "{}");
    capture_put (CSV, "Step" TAIL "\n1,1,1,1,1,1,1,1,1\n");
    capture_put (OUT "/ascend_pytorch_profiler_2.db", "");
    // it is read: the build judges whose it is, by its ops
    check_reason ("ascend_pytorch_profiler_2.db is empty (");
    // however the directory lists them, the own one is read
    capture_put (OUT "/ascend_pytorch_profiler_3.db", "");
    check_reason ("it holds an event database of rank 2 and one of rank 3: ");
    check_reason ("ascend_pytorch_profiler_3.db is empty (");
    capture_put (OUT "/ascend_pytorch_profiler_4.db", "");
    check_reason ("ascend_pytorch_profiler_3.db is empty (");
}

static void test_metadata (void **state)
{
    struct capture c;

    (void)state;
    capture_put ("profiler_info_3.json",
                 "{\"config\": {\"experimental_config\": {\"_profiler_level\": "
                 "\"Level1\"}}, \"start_info\": {\"start_monotonic\": 1000}, "
                 "\"end_info\": {\"collectionTimeEnd\": 1764246877000000000, "
                 "\"MonotonicTimeEnd\": 3001000}}");
    capture_put ("profiler_metadata.json",
                 "{\"distributed_args\": {\"world_size\": 16}, "
                 "\"parallel_group_info\": {\"group_name_0\": {\"group_name\": "
                 "\"tp\", \"global_ranks\": [2, 3]}}}");
    look (&c);
    assert_string_equal (c.level, "Level1");
    assert_int_equal (c.world_size, 16);
    assert_true (c.ended_ns - c.started_ns == 3000000);
    assert_int_equal (c.ngroups, 1);
    assert_string_equal (c.groups[0].name, "5862276093215481612");
    assert_string_equal (c.groups[0].pg_name, "tp");
    assert_int_equal (c.groups[0].members[1], 3);
    capture_fini (&c);
}

int main (void)
{
#define IN_TOP(f) cmocka_unit_test_setup_teardown (f, setup, capture_teardown)
    const struct CMUnitTest tests[] = {
        IN_TOP (test_csv),  IN_TOP (test_bad_csv), IN_TOP (test_sink_fails),
        IN_TOP (test_life), IN_TOP (test_rank),    IN_TOP (test_metadata),
        IN_TOP (test_other_rank), IN_TOP (test_owner),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
