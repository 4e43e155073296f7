/* tests/unit/common/base/test_pace.c - pauses between pieces of work */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/pace.h"

#define MS NS_PER_MS

static int64_t pause_after (struct pace *p, int64_t took_ms)
{
    return pace_pause (p, took_ms * MS, 50, 250 * MS, 10000 * MS) / MS;
}

static void test_a_share (void **state)
{
    struct pace p = { 0 };

    (void)state;
    assert_int_equal (pause_after (&p, 20), 250);       // nobody knows yet
    assert_int_equal (pause_after (&p, 20), 1000);
    assert_int_equal (pause_after (&p, 30), 1000);
    assert_int_equal (pause_after (&p, 30), 1500);
    assert_int_equal (pause_after (&p, 1), 250);
    assert_int_equal (pause_after (&p, 0), 250);
}

/* With 50 times 4 s, a capture would be found after more than three minutes, and
 * at the end of a run after its deadline.
 */
static void test_the_machine_stood_still (void **state)
{
    struct pace p = { 0 };

    (void)state;
    assert_int_equal (pause_after (&p, 4000), 250);     // also at the first
    assert_int_equal (pause_after (&p, 2), 250);
    assert_int_equal (pause_after (&p, 4000), 250);
    assert_int_equal (pause_after (&p, 10), 500);
    assert_int_equal (pause_after (&p, 4000), 500);
    assert_int_equal (pause_after (&p, 4000), 10000);   // but not longer
    assert_int_equal (pace_pause (&p, INT64_MAX, 50, 1, INT64_MAX),
                      50 * 4000 * MS);
    assert_int_equal (pace_pause (&p, INT64_MAX, 50, 1, INT64_MAX), INT64_MAX);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_a_share),
        cmocka_unit_test (test_the_machine_stood_still),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
