/* tests/unit/aggregator/export/test_trace.c - a result as a trace: its times */
#include "aggregator/findings/job_check.h"

#include "json/json.h"
#include "export/trace.h"

#include <stdlib.h>
#include <string.h>

/* Two ranks, one op and one step; the clock of rank 1 is 2 ms ahead. */
static const char rows[] =
    "INSERT INTO Roster (rank, host, expected, state)"
    " VALUES (0, 'h', 1, 'present'), (1, 'h', 1, 'present');"
    "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name, start_timestamp,"
    " elapse_time, transit_time, wait_time, synchronization_time, idle_time,"
    " step, type, rank, capture) VALUES"
    " ('op', 'g', 1000000.5, 8.5, 4.25, 3.5, 0.5, 0.75, 'step7',"
    "  'collective', 0, 1),"
    " ('op', 'g', 1004000.5, 6.5, 4.25, 1.5, 0.5, 0.75, 'step7',"
    "  'collective', 1, 2);"
    "INSERT INTO StepTraceTime (step, computing, communication_not_overlapped,"
    " overlapped, free, bubble, rank, capture) VALUES"
    " ('7', 60000, 20000, 40000, 1000, 500, 0, 1);"
    "INSERT INTO StepExtra (step, host_start, host_end, rank, capture) VALUES"
    " ('7', 1000000.5, 1081500.5, 0, 1);"
    "INSERT INTO CaptureInfo (kind, name, value, rank, capture) VALUES"
    " ('clock', 'offset_ms', '2.0', 1, 2);";

static int setup (void **state)
{
    struct job *j = job_make ();

    run (j, rows);
    *state = j;
    return 0;
}

static int teardown (void **state)
{
    job_destroy (*state);
    return 0;
}

static struct json *write_trace (struct job *j, bool raw_clocks)
{
    const struct trace_options opt = { .raw_clocks = raw_clocks, .rank = -1 };
    struct trace_counts counts;
    struct err err = { "" };
    struct json *trace;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream (&text, &n);

    assert_non_null (f);
    if (trace_write (j->db, &opt, f, &counts, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (fclose (f), 0);
    assert_int_equal (counts.ops, 2);
    assert_int_equal (counts.steps, 1);
    trace = json_parse (text, n, &err);
    if (!trace)
        fail_msg ("%s: %s", err.text, text);
    free (text);
    return trace;
}

static double real_of (const struct json *o, const char *key)
{
    double v = -1;

    if (!json_number (json_get (o, key), &v))
        fail_msg ("no %s", key);
    return v;
}

/* The span of a rank that is of this category. */
static const struct json *span (const struct json *trace, int64_t rank,
                                const char *cat)
{
    const struct json *e = json_first (json_get (trace, "traceEvents"));
    int64_t pid = -1;

    for (; e; e = json_next (e)) {
        if (strcmp (json_text (json_get (e, "cat"), ""), cat) == 0 &&
            json_int (json_get (e, "pid"), &pid) && pid == rank)
            return e;
    }
    fail_msg ("no %s of rank %d", cat, (int)rank);
    return NULL;
}

/* A viewer takes ts and dur for us; members whose names end in _ms are ms, as
 * the database has them of ops, and as they come of its us of steps.
 */
static void test_units (void **state)
{
    struct json *trace = write_trace (*state, false);
    const struct json *op = span (trace, 0, "collective"), *args, *step;

    assert_true (real_of (op, "ts") == 0);
    assert_true (real_of (op, "dur") == 8500);
    args = json_get (op, "args");
    assert_true (real_of (args, "wait_ms") == 3.5);
    assert_true (real_of (args, "transit_ms") == 4.25);
    assert_true (real_of (args, "synchronization_ms") == 0.5);
    assert_true (real_of (args, "idle_ms") == 0.75);
    step = span (trace, 0, "step");
    assert_true (real_of (step, "dur") == 81500);
    args = json_get (step, "args");
    assert_true (real_of (args, "computing_ms") == 60);
    assert_true (real_of (args, "communication_not_overlapped_ms") == 20);
    assert_true (real_of (args, "overlapped_ms") == 40);
    assert_true (real_of (args, "free_ms") == 1);
    assert_true (real_of (args, "bubble_ms") == 0.5);
    json_free (trace);
}

/* Offsets are subtracted, in ms; or left. */
static void test_clocks (void **state)
{
    struct json *trace = write_trace (*state, false);

    assert_true (real_of (span (trace, 1, "collective"), "ts") == 2000);
    json_free (trace);
    trace = write_trace (*state, true);
    assert_true (real_of (span (trace, 1, "collective"), "ts") == 4000);
    json_free (trace);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = { TEST (test_units), TEST (test_clocks) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
