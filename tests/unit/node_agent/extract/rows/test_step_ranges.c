/* tests/unit/node_agent/extract/rows/test_step_ranges.c - steps by a time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/rows/step_ranges.h"

static void test_order (void **state)
{
    struct step_range r[] = { { 30, 35, 0, 0 }, { 10, 50, 0, 1 },
                              { 10, 20, 0, 2 }, { 60, 61, 0, 3 } };
    static const uint32_t steps[] = { 1, 2, 0, 3 };
    static const int64_t latest[] = { 50, 50, 50, 61 };

    (void)state;
    step_ranges_order (r, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal (r[i].step, steps[i]);
        assert_int_equal (r[i].latest, latest[i]);
    }
    step_ranges_order (NULL, 0);
}

static void test_begun (void **state)
{
    static const struct step_range r[] = { { 10, 0, 0, 0 }, { 10, 0, 0, 1 },
                                           { 20, 0, 0, 2 } };

    (void)state;
    assert_int_equal (step_ranges_begun (r, 3, 9), 0);
    assert_int_equal (step_ranges_begun (r, 3, 10), 2);
    assert_int_equal (step_ranges_begun (r, 3, 19), 2);
    assert_int_equal (step_ranges_begun (r, 3, 20), 3);
    assert_int_equal (step_ranges_begun (r, 0, 20), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_begun),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
