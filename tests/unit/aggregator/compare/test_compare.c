/* tests/unit/aggregator/compare/test_compare.c - is it more than noise? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare/compare.h"

#include <math.h>
#include <string.h>

#define RANKS 16

static struct compare_rank ranks[2][RANKS];
static struct compare_metric metric;
static uint32_t seed;

/* Between -1 and 1, the same in every test run. */
static double chance (void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1u << 23) - 1;
}

/* Ranks 0 to n-1 of a run with so many steps around 'level'; that a step is
 * long or short, all ranks see.
 */
static void run (int run, size_t n, size_t steps, double level)
{
    double values[RANKS][64];

    for (size_t s = 0; s < steps; s++) {
        double all = chance ();

        for (size_t r = 0; r < n; r++)
            values[r][s] = level + all + 0.2 * chance ();
    }
    for (size_t r = 0; r < n; r++)
        ranks[run][r] = (struct compare_rank){
            (int64_t)r, spread_of (values[r], steps), { steps, 1, 0.01 }
        };
    metric.runs[run] = (struct compare_series){ ranks[run], n };
}

static void begin (void)
{
    memset (&metric, 0, sizeof (metric));
    metric.better = -1;
    seed = 1;
}

static void is (enum compare_verdict verdict, size_t outliers)
{
    compare_judge (&metric, 1);     // percent: what rollcall compare takes
    assert_int_equal (metric.verdict, verdict);
    assert_int_equal (metric.noutliers, outliers);
}

static void test_directions (void **state)
{
    (void)state;
    begin ();
    run (0, 8, 12, 20);
    run (1, 8, 12, 30);
    is (COMPARE_WORSE, 0);
    assert_true (fabs (metric.difference - 10) < 1.5);
    metric.better = 1;
    is (COMPARE_BETTER, 0);
    metric.better = 0;
    is (COMPARE_CHANGED, 0);
    assert_string_equal (compare_verdict_text (&metric), "more");
}

/* Healthy pairs of all sizes: hardly ever a false alarm. */
static void test_false_alarms (void **state)
{
    unsigned alarms = 0, pairs = 0;

    (void)state;
    for (size_t steps = 3; steps <= 20; steps++) {
        for (int i = 0; i < 100; i++, pairs++) {
            uint32_t kept = seed;

            begin ();
            seed = pairs == 0 ? 7 : kept;
            run (0, 8, steps, 20);
            run (1, 8, steps, 20);
            compare_judge (&metric, 0);
            alarms += metric.verdict != COMPARE_SAME || metric.noutliers > 0;
        }
    }
    assert_true (alarms * 200 <= pairs);        // 0.5 %
}

static void test_few_steps (void **state)
{
    (void)state;
    begin ();
    run (0, 8, 2, 20);
    run (1, 8, 12, 90);
    is (COMPARE_UNKNOWN, 0);
    assert_string_equal (compare_verdict_text (&metric), "too few steps");
}

/* A difference that is smaller than the floor does not count. */
static void test_floor (void **state)
{
    (void)state;
    begin ();
    for (int r = 0; r < 2; r++) {
        run (r, 8, 12, 100 + 0.5 * r);
        for (size_t i = 0; i < 8; i++)
            ranks[r][i].s = (struct spread){ 12, 100 + 0.5 * r, 0 };
    }
    is (COMPARE_SAME, 0);
    compare_judge (&metric, 0.1);
    assert_int_equal (metric.verdict, COMPARE_WORSE);
}

/* One rank is slow: the job's median is not, and the rank is named. */
static void test_outlier (void **state)
{
    (void)state;
    begin ();
    run (0, RANKS, 12, 20);
    run (1, RANKS, 12, 20);
    ranks[1][5].share.median = 1.5;
    is (COMPARE_SAME, 1);
    assert_int_equal (metric.outliers[0].rank, 5);
    // more than are shown: the farthest, in this order
    for (size_t i = 0; i < 7; i++)
        ranks[1][i].share.median = i == 5 ? 1.5 : 2 + (double)i;
    is (COMPARE_SAME, 7);
    assert_int_equal (metric.outliers[0].rank, 6);
    assert_int_equal (metric.outliers[1].rank, 4);
    assert_int_equal (metric.outliers[4].rank, 1);
}

static void test_ranks_matched (void **state)
{
    (void)state;
    begin ();
    run (0, 8, 12, 20);
    run (1, 4, 12, 20);
    for (int i = 0; i < 4; i++)
        ranks[1][i].rank = 2 * i + 1;           // 1, 3, 5, 7
    is (COMPARE_SAME, 0);
    assert_int_equal (metric.ranks, 4);
    for (int i = 0; i < 4; i++)
        ranks[1][i].rank += 100;
    metric.ranks = 0;
    is (COMPARE_UNKNOWN, 0);
    assert_string_equal (compare_verdict_text (&metric), "no rank in both");
    metric.runs[1].n = 0;
    is (COMPARE_ONLY_A, 0);
    metric.runs[0].n = 0;
    metric.runs[1].n = 4;
    is (COMPARE_ONLY_B, 0);
}

/* Medians of 4.2 and 3.2 beside a difference of 0: most ranks are as before, and
 * the one in the middle is another one.
 */
static void test_ranks_disagree (void **state)
{
    static const double levels[2][3] = { { 3.2, 4.2, 5 }, { 3.2, 3, 5.1 } };

    (void)state;
    begin ();
    for (int r = 0; r < 2; r++) {
        run (r, 3, 12, 4);
        for (int i = 0; i < 3; i++)
            ranks[r][i].s = (struct spread){ 12, levels[r][i], 0 };
    }
    compare_judge (&metric, 1);
    assert_true (metric.a == 4.2 && metric.b == 3.2 && metric.difference == 0);
    metric.noise = 0;
    assert_false (compare_ranks_agree (&metric));
    assert_string_equal (compare_verdict_text (&metric), "ranks disagree");
    metric.noise = 1.5;                 // one run of two equal ones may be so
    assert_true (compare_ranks_agree (&metric));
    assert_string_equal (compare_verdict_text (&metric), "same");
}

/* Peaks are measured once: only ranks tell. */
static void test_stepless (void **state)
{
    (void)state;
    begin ();
    metric.stepless = true;
    for (int r = 0; r < 2; r++) {
        run (r, 8, 1, 100);
        for (int i = 0; i < 8; i++)
            ranks[r][i].s.median = 100 + i + 20 * r;
    }
    is (COMPARE_WORSE, 0);
    metric.runs[0].n = metric.runs[1].n = 2;
    is (COMPARE_UNKNOWN, 0);
    metric.runs[1] = metric.runs[0];
    is (COMPARE_SAME, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_directions),
        cmocka_unit_test (test_false_alarms),
        cmocka_unit_test (test_few_steps),
        cmocka_unit_test (test_floor),
        cmocka_unit_test (test_outlier),
        cmocka_unit_test (test_ranks_matched),
        cmocka_unit_test (test_ranks_disagree),
        cmocka_unit_test (test_stepless),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
