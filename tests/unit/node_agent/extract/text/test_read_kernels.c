/* tests/unit/node_agent/extract/text/test_read_kernels.c - rows of
 * kernel_details.csv */
#include "node_agent/extract/capture_check.h"

#include "extract/rows/kernel_sums.h"

#include <time.h>

static int setup (void **state)
{
    (void)state;
    return capture_begin ("a_1_20251127123437386_ascend_pt");
}

struct kept {
    char step[1024], time[1024];
};

static int keep_rows (void *arg, const struct batch *b, struct err *err)
{
    const unsigned key = b->table == TABLE_STEP ? STEP_STEP : TIME_OP;
    struct kept *k = arg;
    char *out = b->table == TABLE_STEP ? k->step : k->time;

    (void)err;
    if (b->table != TABLE_STEP && b->table != TABLE_TIME)
        return 0;
    for (uint32_t i = 0; i < b->nrows; i++) {
        size_t used = strlen (out), n;
        const char *name = batch_text_at (b, b->text[key][i], &n);

        used += (size_t)snprintf (out + used, 1024 - used, "%s",
                                  name ? name : "NULL");
        for (unsigned c = 0; c < schema_table (b->table)->ncolumns; c++) {
            if (b->real[c])
                used += (size_t)snprintf (out + used, 1024 - used, " %.10g",
                                          b->real[c][i]);
        }
        (void)snprintf (out + used, 1024 - used, "\n");
    }
    return 0;
}

static void check (const char *text, const char *steps, const char *times,
                   const char *reason)
{
    struct kept k = { "", "" };
    const struct row_sink sink = { keep_rows, sink_forget_nothing, &k };
    struct capture c;

    capture_put ("ASCEND_PROFILER_OUTPUT/kernel_details.csv", text);
    assert_int_equal (capture_read (&sink, &c), 0);
    assert_string_equal (k.step, steps);
    assert_string_equal (k.time, times);
    if (!strstr (c.reason, reason))
        fail_msg ("no \"%s\" in \"%s\"", reason, c.reason);
    capture_fini (&c);
}

#define HEAD "Name,Accelerator Core,Start Time(us),Duration(us)"

/* Computing, communicating, both, neither, from first to last. */
static void test_rows (void **state)
{
    (void)state;
    check ("Step Id,Device_id," HEAD ",Shapes\r\n"
           "13,4,k,AI_CORE,1000.000\t,10,\"\"\"1,2\n;3\"\"\"\r\n"
           "13,4,hcom_send__612_0_1,COMMUNICATION,1005.000\t,7,x\r\n"
           "13,4,k,AI_CORE,1020.000\t,10,\r\n"
           "13,4,hcom_receive__612_1_1,HCCL,1025.000\t,15.0005,\r\n",
           "13 4 20 12 10 22 8 25 15 0 nan\n",
           "hcom_send__612_0_1 1005 0.007 nan nan nan nan\n"
           "hcom_receive__612_1_1 1025 0.0150005 nan nan nan nan\n",
           "CommAnalyzerBandwidth is missing");
    // old ones have no device, and without a schedule there is no step
    check (HEAD "\nk,AI_CORE,1000.5,1e-05\n", "NULL nan 0 0 0 0 0 0 0 0 nan\n",
           "", "");
}

/* The group's key is known if one of the rank's groups ends as the name. */
static void test_groups (void **state)
{
    (void)state;
    capture_put ("profiler_metadata.json",
                 "{\"parallel_group_info\":{\"group_name_0\":{\"group_name\":"
                 "\"default_group\",\"group_rank\":0,"
                 "\"global_ranks\":[0,1]}}}");
    check ("Step Id," HEAD "\n13,hcom_send__612_0_1,HCCL,1005,7\n",
           "13 nan 0 7 0 7 0 7 0 7 nan\n",
           "hcom_send__612_0_1 1005 0.007 nan nan nan nan\n", "");
}

static void test_bad (void **state)
{
    (void)state;
    check ("Name,Start Time(us)\n", "", "", "Accelerator Core");
    check ("", "", "", "is empty");
    check (HEAD "\nk,AI_CORE,1000,1\nk,AI_CORE,999.999,1\n", "", "",
           "line 3: starts before");
    check (HEAD "\nk,AI_CORE,x,1\n", "", "", "line 2: not a time");
    check (HEAD "\nk,AI_CORE,9000000000000000,1\n", "", "", "not a time");
    check (HEAD "\nk,AI_CORE,1,-1\n", "", "", "not a duration");
    check (HEAD "\nk,AI_CORE,1,1e30\n", "", "", "not a duration");
    check (HEAD "\nk,AI_CORE,1,\n", "", "", "not a duration");
    check (HEAD "\nk,AI_CORE,1\n", "", "", "line 2");
    check ("Step Id," HEAD "\nx,k,AI_CORE,1,1\n", "", "", "not a step");
    check ("Step Id," HEAD "\n1234567890123456789012345,k,AI_CORE,1,1\n", "",
           "", "not a step");
    check (HEAD "\nk,\"AI_CORE,1,1\n", "", "", "line 2");
}

static int count_rows (void *arg, const struct batch *b, struct err *err)
{
    uint32_t *n = arg;

    (void)err;
    *n += b->table == TABLE_STEP ? b->nrows : 0;
    return 0;
}

/* Rows of many steps by turns: a search of all of them for each row would
 * take minutes of a file that is read in seconds.
 */
static void test_many_steps (void **state)
{
    const uint32_t steps = 60000;
    struct row_sink sink = { count_rows, sink_forget_nothing,
                             &(uint32_t){ 0 } };
    size_t used = 0, max = 4 * 40 * (size_t)steps;
    char *text = malloc (max);
    clock_t began = clock ();
    struct capture c;

    (void)state;
    assert_non_null (text);
    used += (size_t)snprintf (text, max, "Step Id," HEAD "\n");
    for (uint32_t i = 0; i < 3 * steps; i++)
        used += (size_t)snprintf (text + used, max - used,
                                  "%u,k,AI_CORE,%u,1\n", i % steps, i);
    capture_put ("ASCEND_PROFILER_OUTPUT/kernel_details.csv", text);
    free (text);
    assert_int_equal (capture_read (&sink, &c), 0);
    capture_fini (&c);
    assert_int_equal (*(uint32_t *)sink.arg, steps);
    assert_true (clock () - began < 5 * CLOCKS_PER_SEC);
}

struct span {
    int64_t start, end;
    bool communicates;
};

static void check_sums (const struct span *v, size_t n, const int64_t want[5])
{
    struct kernel_sums k = { .any = false };

    for (size_t i = 0; i < n; i++)
        assert_true (kernel_sums_add (&k, v[i].start, v[i].end,
                                      v[i].communicates));
    kernel_sums_end (&k);
    assert_int_equal (k.computing, want[0]);
    assert_int_equal (k.communicating, want[1]);
    assert_int_equal (k.both, want[2]);
    assert_int_equal (k.at - k.start - k.either, want[3]);
    assert_int_equal (k.at - k.start, want[4]);
}

/* The vectors of doc/formats.md: merged, touching, none of one kind. */
static void test_sums (void **state)
{
    static const struct span a[] = { { 0, 10, false }, { 5, 12, true },
                                     { 20, 30, false }, { 25, 40, true } };
    static const struct span b[] = { { 0, 10, false }, { 10, 20, false } };
    static const struct span c[] = { { 0, 4, true }, { 2, 6, true } };
    struct kernel_sums k = { .any = false };

    (void)state;
    check_sums (a, 4, (const int64_t[]){ 20, 22, 10, 8, 40 });
    check_sums (b, 2, (const int64_t[]){ 20, 0, 0, 0, 20 });
    check_sums (c, 2, (const int64_t[]){ 0, 6, 0, 0, 6 });
    kernel_sums_end (&k);               // none at all
    assert_int_equal (k.at - k.start, 0);
    assert_true (kernel_sums_add (&k, 5, 6, false));
    assert_false (kernel_sums_add (&k, 4, 9, false));
}

int main (void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_rows),
        cmocka_unit_test (test_groups),
        cmocka_unit_test (test_bad),
        cmocka_unit_test (test_many_steps),
        cmocka_unit_test (test_sums),
    };

    return cmocka_run_group_tests (tests, setup, capture_teardown);
}
