/* tests/unit/common/base/test_cmp.c - orders of plain values, and medians */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cmp.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Numbers whose difference is none of their type: a comparison by subtraction
 * gets their order wrong.
 */
static void test_ends (void **state)
{
    int32_t i32[] = { INT32_MAX, 0, INT32_MIN };
    int64_t i64[] = { INT64_MAX, 0, INT64_MIN };
    double real[] = { INFINITY, 0.5, 0.25, -INFINITY };

    (void)state;
    qsort (i32, 3, sizeof (i32[0]), cmp_int32);
    assert_int_equal (i32[0], INT32_MIN);
    assert_int_equal (i32[2], INT32_MAX);
    qsort (i64, 3, sizeof (i64[0]), cmp_int64);
    assert_true (i64[0] == INT64_MIN && i64[2] == INT64_MAX);
    qsort (real, 4, sizeof (real[0]), cmp_double);
    assert_true (real[0] < 0 && real[1] == 0.25 && real[3] == INFINITY);
    assert_int_equal (cmp_int64 (&i64[1], &i64[1]), 0);
}

static void test_text (void **state)
{
    const char *texts[] = { "rank10", "rank", "rank1", "\xc3\xa9" };

    (void)state;
    qsort (texts, 4, sizeof (texts[0]), cmp_text);
    assert_string_equal (texts[0], "rank");
    assert_string_equal (texts[2], "rank10");
    assert_string_equal (texts[3], "\xc3\xa9");     // by bytes, unsigned
}

static void test_place (void **state)
{
    static const struct {
        int64_t key;
        size_t place;
    } rows[] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 1 }, { 4, 4 }, { 5, 5 } };
    const int64_t list[] = { 1, 3, 3, 3, 4 };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        assert_int_equal (cmp_place (&rows[i].key, list, 5, sizeof (list[0]),
                                     cmp_int64), rows[i].place);
    assert_int_equal (cmp_place (&list[0], NULL, 0, sizeof (list[0]),
                                 cmp_int64), 0);
}

static void test_median (void **state)
{
    double odd[] = { 9, 1, 5 }, even[] = { 4, 1, 3, 2 };
    double large[] = { DBL_MAX, DBL_MAX };

    (void)state;
    assert_true (stats_median (odd, 3) == 5);
    assert_true (stats_median (even, 4) == 2.5);
    assert_true (even[0] == 1 && even[3] == 4);
    assert_true (stats_median (odd, 1) == 1);
    assert_true (stats_median (large, 2) == DBL_MAX);
    assert_true (isnan (stats_median (odd, 0)));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_ends),
        cmocka_unit_test (test_text),
        cmocka_unit_test (test_place),
        cmocka_unit_test (test_median),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
