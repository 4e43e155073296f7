/* tests/unit/aggregator/row_sums/test_sums.c - sums to the last bit, and keys */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "row_sums/sums.h"

#include <math.h>

#define N 1000

static double values[N];        // 1, 1/2, 1/3 ...

static void assert_same (double a, double b)
{
    if (a != b)
        fail_msg ("%.17g is not %.17g", a, b);
}

/* Added plainly they give ...343. */
static void test_kahan (void **state)
{
    struct sum s = { .known = false };

    (void)state;
    for (size_t i = 0; i < N; i++)
        sum_add (&s, values[i]);
    assert_true (s.known);
    assert_same (s.value, 7.485470860550345);
}

static void test_pairwise (void **state)
{
    (void)state;
    assert_same (sums_pairwise (values, N), 7.485470860550345);
    assert_same (sums_pairwise (values, 100), 5.187377517639621);
    assert_same (sums_pairwise (values, 7), 2.5928571428571425);
    assert_same (sums_pairwise (values, 0), 0);
}

/* Ties go to the even digit of the exact binary value, as Python has it. */
static void test_ratio (void **state)
{
    (void)state;
    assert_same (sums_ratio (2, 1), 0.6667);
    assert_same (sums_ratio (0, 0), 0);
    assert_same (sums_ratio (1, -1), 0);
    assert_same (sums_ratio (1, INFINITY), 0);
    assert_same (sums_round4 (0.00005), 0.0001);
    assert_same (sums_round4 (0.00015), 0.0001);
    assert_same (sums_round4 (7.12346), 7.1235);
    assert_same (sums_round4 (-2.00006), -2.0001);
    assert_same (sums_rate (1, 0), 0);
    assert_same (sums_rate (3, 8), 0.375);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_kahan),
        cmocka_unit_test (test_pairwise),
        cmocka_unit_test (test_ratio),
    };

    for (size_t i = 0; i < N; i++)
        values[i] = 1 / (double)(i + 1);
    return cmocka_run_group_tests (tests, NULL, NULL);
}
