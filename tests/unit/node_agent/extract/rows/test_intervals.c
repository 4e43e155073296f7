/* tests/unit/node_agent/extract/rows/test_intervals.c - unions of intervals
 *
 * Every time of StepTraceTime is one of these lengths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/rows/intervals.h"

#include <stdlib.h>
#include <string.h>

static int64_t length_of (const struct interval *v, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i].end - v[i].start;
    return sum;
}

static void test_merge (void **state)
{
    struct interval v[] = { { 20, 30 }, { 0, 10 }, { 10, 12 }, { 5, 8 },
                            { 30, 30 }, { 40, 41 } };

    (void)state;
    assert_int_equal (intervals_merge (v, 6), 3);       // touching ones join
    assert_int_equal (v[0].start, 0);
    assert_int_equal (v[0].end, 12);
    assert_int_equal (v[1].end, 30);
    assert_int_equal (v[2].start, 40);
    assert_int_equal (length_of (v, 3), 23);
    assert_int_equal (intervals_merge (v, 0), 0);
    assert_int_equal (length_of (NULL, 0), 0);
}

static void test_common (void **state)
{
    const struct interval a[] = { { 0, 10 }, { 20, 30 } };
    const struct interval b[] = { { 5, 12 }, { 25, 40 } };

    (void)state;
    assert_int_equal (intervals_common (a, 2, b, 2), 10);
    assert_int_equal (intervals_common (b, 2, a, 2), 10);
    assert_int_equal (intervals_common (a, 2, b, 0), 0);
}

/* In one pass as in lists, for intervals of any kind. */
static void test_one_pass (void **state)
{
    struct interval v[60], w[60], all[120];

    (void)state;
    srandom (1);
    for (int round = 0; round < 2000; round++) {
        struct interval_union u = { .any = false }, both = { .any = false };
        size_t n = (size_t)random () % 60, m = (size_t)random () % 60, kept;
        size_t nw, i = 0, j = 0;
        int64_t common;

        for (size_t k = 0; k < n + m; k++) {
            int64_t start = random () % 500;

            all[k] = (struct interval){ start, start + random () % 20 };
        }
        memcpy (v, all, n * sizeof (*v));
        memcpy (w, all + n, m * sizeof (*w));
        kept = intervals_merge (v, n);
        nw = intervals_merge (w, m);
        for (size_t k = 0; k < kept; k++)
            interval_union_add (&u, v[k].start, v[k].end);
        assert_int_equal (interval_union_length (&u),
                          length_of (v, kept));
        while (i < kept || j < nw) {
            const struct interval *p =
                j == nw || (i < kept && v[i].start <= w[j].start) ? &v[i++]
                                                                  : &w[j++];

            interval_union_add (&both, p->start, p->end);
        }
        common = intervals_common (v, kept, w, nw);
        assert_int_equal (interval_union_length (&both),
                          length_of (v, kept) +
                              length_of (w, nw) - common);
    }
}

/* Times at the ends of what is allowed, and an end before its start. */
static void test_extremes (void **state)
{
    struct interval_union u = { .any = false };

    (void)state;
    interval_union_add (&u, INTERVALS_MIN, INTERVALS_MIN);
    interval_union_add (&u, INTERVALS_MIN, INTERVALS_MAX);
    interval_union_add (&u, 5, 3);
    assert_int_equal (interval_union_length (&u),
                      INTERVALS_MAX - INTERVALS_MIN);
    assert_int_equal (u.first, INTERVALS_MIN);
    assert_int_equal (u.last, INTERVALS_MAX);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_merge),
        cmocka_unit_test (test_common),
        cmocka_unit_test (test_one_pass),
        cmocka_unit_test (test_extremes),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
