/* tests/unit/node_agent/identity/test_capture_name.c - what names say */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "identity/capture_name.h"

#include <stdlib.h>
#include <time.h>

static int64_t date_in (const char *zone, const char *name)
{
    struct capture_name f;

    assert_int_equal (setenv ("TZ", zone, 1), 0);
    tzset ();
    f = capture_name_parse (name);
    assert_int_equal (setenv ("TZ", "UTC", 1), 0);
    tzset ();
    return f.made_ns;
}

/* MindSpore dates its directories in UTC, the others in local time: else the
 * newer of two captures of a rank would be taken for the older.
 */
static void test_dates (void **state)
{
    const int64_t made = INT64_C (1764246877386000000), hour = 3600000000000;

    (void)state;
    assert_int_equal (date_in ("XXX-8", "n_1_20251127123437386_ascend_ms"),
                      made);
    assert_int_equal (date_in ("XXX-8", "n_1_20251127123437386_ascend_pt"),
                      made - 8 * hour);
    assert_int_equal (date_in ("XXX-8", "PROF_000001_20251127123437386_ABC"),
                      made - 8 * hour);
    assert_int_equal (date_in ("UTC", "PROF_000001_20251127123437_ABC"),
                      made - 386000000);
    assert_int_equal (date_in ("UTC", "PROF_000001_2025_ABC"), 0);
}

static void check_name (const char *name, const char *framework,
                        size_t worker_size, int64_t made_ns)
{
    struct capture_name f = capture_name_parse (name);

    assert_string_equal (f.framework, framework);
    assert_int_equal (f.worker_size, worker_size);
    assert_int_equal (f.made_ns, made_ns);
}

/* A trace's name has a date, and a pid that tells whose job it is, but no host:
 * "rank_3" would be one.
 */
static void test_trace_names (void **state)
{
    (void)state;
    check_name ("h_77.1764246877386000001.pt.trace.json.gz", "kineto", 0,
                INT64_C (1764246877386000001));
    check_name ("rank3.1764246877386.pt.trace.json", "kineto", 0,
                INT64_C (1764246877386000000));
    check_name ("rank3.9764246877386000001.pt.trace.json", "kineto", 0, 0);
    check_name ("rank3.9999000020440.pt.trace.json", "kineto", 0, 0);
    check_name ("1764246877386000001.pt.trace.json", "kineto", 0, 0);
    check_name ("r.17642468.pt.trace.json", "kineto", 0, 0);
    check_name (".pt.trace.json", "kineto", 0, 0);
    check_name ("a.trace.json", "", 0, 0);
    assert_int_equal (capture_name_parse (
                          "h_77.1764246877386000001.pt.trace.json.gz").pid, 77);
    assert_int_equal (capture_name_parse (
                          "h77.1764246877386.pt.trace.json").pid, 0);
}

/* Host names hold '_' and digits: the parts are found from the right. */
static void test_names (void **state)
{
    const int64_t made = INT64_C (1764246877386000000);

    (void)state;
    check_name ("node0_4711_20251127123437386_ascend_pt", "ascend_pt", 5,
                made);
    check_name ("a_b_7_4711_20251127123437386_ascend_pt", "ascend_pt", 5,
                made);
    check_name ("node0_4711_20251127123437386_ascend_ms", "ascend_ms", 5,
                made);
    check_name ("n_1_99991127123437386_ascend_pt", "ascend_pt", 1, 0);
    check_name ("rank_0_ascend_pt", "ascend_pt", 0, 0);
    check_name ("_ascend_pt", "ascend_pt", 0, 0);
    check_name ("20251127123437386_ascend_pt", "ascend_pt", 0, 0);
    check_name ("n_1_2025112712343738_ascend_pt", "ascend_pt", 0, 0);
    check_name ("_1_20251127123437386_ascend_pt", "ascend_pt", 0, made);
    check_name ("ascend_pt", "", 0, 0);
    check_name ("x_ascend_pt_op_args", "", 0, 0);
    check_name ("", "", 0, 0);
    check_name ("n_12.1712345.pt.trace.json", "kineto", 0, 0);
    check_name ("rank0.pt.trace.json.gz", "kineto", 0, 0);
    check_name ("rank0.json", "", 0, 0);
}

/* A time zone of its own: names hold local times. */
static int set_zone (void **state)
{
    (void)state;
    return setenv ("TZ", "UTC", 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_names),
        cmocka_unit_test (test_dates),
        cmocka_unit_test (test_trace_names),
    };

    return cmocka_run_group_tests (tests, set_zone, NULL);
}
