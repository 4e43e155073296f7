/* tests/unit/aggregator/compare/test_spread.c - medians, and how far to trust
 * them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare/spread.h"

#include <math.h>

#define NEAR(x, y) assert_true (fabs ((x) - (y)) < 1e-9)

static void test_median (void **state)
{
    double odd[] = { 9, 1, 5 }, even[] = { 4, 1, 3, 2 };

    (void)state;
    NEAR (spread_median (odd, 3), 5);
    NEAR (spread_median (even, 4), 2.5);
    NEAR (spread_median (odd, 1), 1);
    NEAR (spread_median (odd, 0), 0);
}

/* One step that took a hundred times as long changes nothing. */
static void test_spread (void **state)
{
    double calm[] = { 10, 12, 11, 13, 9 }, wild[] = { 10, 12, 11, 1300, 9 };
    struct spread s = spread_of (calm, 5), w = spread_of (wild, 5);

    (void)state;
    assert_int_equal (s.n, 5);
    NEAR (s.median, 11);
    NEAR (s.sigma, 1.4826 * 1.206);
    NEAR (w.median, 11);
    NEAR (w.sigma, 1.4826 * 1.206);
    NEAR (spread_error (&s), 1.2533 * 1.4826 * 1.206 / sqrt (5));
}

/* Two heaps: most are alike, and the rest is no accident. */
static void test_heaps (void **state)
{
    double heaps[] = { 10, 10, 10, 90, 90 };
    struct spread s = spread_of (heaps, 5);

    (void)state;
    NEAR (s.median, 10);
    NEAR (s.sigma, sqrt (80.0 * 80.0 / 3));
}

static void test_few (void **state)
{
    double two[] = { 1, 100 };
    struct spread s = spread_of (two, 2);

    (void)state;
    NEAR (spread_error (&s), 0);        // nobody can tell
    NEAR (s.median, 50.5);
}

/* Student's t at 0.1 %, of half as many degrees, never growing. */
static void test_factor (void **state)
{
    static const struct {
        size_t n;
        double t;
    } rows[] = { { 10, 8.61 }, { 14, 5.96 }, { 22, 4.59 }, { 42, 3.85 },
                 { 62, 3.65 }, { 2002, 3.30 } };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        assert_true (fabs (spread_factor (rows[i].n, 2) / rows[i].t - 1) <
                     0.07);
    for (size_t n = 1; n < 100; n++)
        assert_true (spread_factor (n + 1, 2) <= spread_factor (n, 2));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_median),
        cmocka_unit_test (test_spread),
        cmocka_unit_test (test_heaps),
        cmocka_unit_test (test_few),
        cmocka_unit_test (test_factor),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
