/* tests/unit/aggregator/waits/test_arrival.c - who came last to one op */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "waits/arrival.h"
#include "waits/clock_skew.h"

#include <math.h>
#include <string.h>

static struct op_row row (uint32_t rank, double start_us, double elapse_ms)
{
    return (struct op_row){ .key = 1, .group = 1, .size = 3, .rank = rank & 0xffffff,
                             .start_us = start_us, .elapse_ms = elapse_ms,
                             .by_start = 1 };
}

static bool mutual (const char *op)
{
    return arrival_is_mutual (op, strlen (op));
}

/* Where a root only sends or receives others do not wait for the last one. */
static void test_kinds (void **state)
{
    static const char *const yes[] = {
        "hcom_allReduce__097_4_1", "hcom_reduceScatter__097_4_1",
        "hcom_allGather__1", "hcom_alltoallv__0_0_1", "nccl_allToAll__x_3_1",
        "gloo_barrier__unknown_0_1", "hcom_send__1_0_1", "hcom_receive__1_0_1",
        "nccl_all_gather__1", "ALLREDUCE",
    };
    static const char *const no[] = {
        "hcom_broadcast__097_4_1", "hcom_scatter__1", "hcom_reduce__1",
        "nccl_gather__1", "", "__", "x__allReduce", "other",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (yes) / sizeof (yes[0]); i++) {
        if (!mutual (yes[i]))
            fail_msg ("%s", yes[i]);
    }
    for (size_t i = 0; i < sizeof (no) / sizeof (no[0]); i++) {
        if (mutual (no[i]))
            fail_msg ("%s", no[i]);
    }
}

static uint64_t key (const char *op, bool p2p)
{
    return arrival_key (op, strlen (op), p2p);
}

/* The two ends of a transfer have other names. */
static void test_keys (void **state)
{
    (void)state;
    assert_true (key ("a_send__1_0_1", true) == key ("a_receive__1_0_1",
                                                     true));
    assert_true (key ("a_send__1_0_1", true) == key ("b_recv__1_0_1", true));
    assert_true (key ("a_send__1_0_1", true) != key ("a_receive__1_1_1",
                                                     true));
    assert_true (key ("a_send__1_0_1", false) != key ("a_receive__1_0_1",
                                                      false));
    // another op with the same number
    assert_true (key ("a_send__1_0_1", true) !=
                 key ("a_batchSendRecv__1_0_1", true));
    assert_true (key ("a_send", true) != key ("a_receive", true));
}

/* S = 7000 us: 2 ms and 4 ms of waiting, but never more than the op took. */
static void test_by_start (void **state)
{
    const struct op_row a[] = { row (0, 5000, 2.5), row (1, 3000, 1.5),
                                 row (2, 7000, 0.5) };
    double w[3];

    (void)state;
    assert_int_equal (arrival_wait (a, 3, w), 2);
    assert_true (w[0] == 2 && w[1] == 1.5 && w[2] == 0);
    assert_false (arrival_fits (a, 3));         // rank 1 ended at 4500
    assert_true (arrival_fits (a + 2, 1));
}

static void test_by_elapse (void **state)
{
    struct op_row a[] = { row (0, 5000, 2.5), row (4, 3000, 1.5),
                           row (9, 7000, 4) };
    double w[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        a[i].by_start = i > 0;          // one that is not: none is
    assert_int_equal (arrival_wait (a, 3, w), 1);
    assert_true (w[0] == 1 && w[1] == 0 && w[2] == 2.5);
}

/* Of several that are last the lowest rank, always. */
static void test_ties (void **state)
{
    struct op_row a[] = { row (0, 1, 1), row (1, 2, 1), row (2, 2, 1) };
    double w[3];

    (void)state;
    assert_int_equal (arrival_wait (a, 3, w), 1);
    assert_true (w[2] == 0);
    a[0].by_start = 0;
    assert_int_equal (arrival_wait (a, 3, w), 0);
}

static void test_judge (void **state)
{
    struct op_row a[] = { row (0, 1, 1), row (1, 2, 1), row (2, 2, 1),
                           row (3, 1, 1) };

    (void)state;
    assert_int_equal (arrival_judge (a, 3), ARRIVAL_WHOLE);
    assert_int_equal (arrival_judge (a, 2), ARRIVAL_INCOMPLETE);
    assert_int_equal (arrival_judge (a, 4), ARRIVAL_AMBIGUOUS);
    a[1].rank = 0;
    assert_int_equal (arrival_judge (a, 3), ARRIVAL_AMBIGUOUS);
    assert_int_equal (arrival_judge (a, 2), ARRIVAL_AMBIGUOUS);
}

/* Rank 1's clock is 5 ms ahead: in every op it seems to start and end later. */
static void test_skew (void **state)
{
    struct clock_skew *s = clock_skew_create ();
    struct clock_ends ends = { .nops = 0 };

    (void)state;
    assert_non_null (s);
    for (int i = 0; i < 1000; i++) {
        double start = 1.7e15 + i * 1e4;
        struct op_row a[] = { row (0, start, 3), row (1, start + 5000, 3),
                               row (200, start + 1000, 2) };

        assert_int_equal (clock_ends_add (&ends, a, 3, NULL), 0);
        assert_int_equal (clock_ends_add (&ends, a, 1, NULL), 0);       // tells nothing
        if (i % 100 == 99) {
            assert_int_equal (clock_skew_add (s, &ends, NULL), 0);
            clock_ends_clear (&ends);
        }
    }
    clock_ends_fini (&ends);
    clock_skew_settle (s);
    assert_true (clock_skew_of (s, 0) == 0);
    assert_true (clock_skew_of (s, 1) == 5);
    assert_true (clock_skew_of (s, 200) == 0);
    assert_true (isnan (clock_skew_of (s, 2)));
    assert_true (isnan (clock_skew_of (s, 100000)));
    assert_true (clock_skew_of_ends (s) == 5);
    assert_true (clock_skew_between (s, 1, 1, 0) == 5);
    assert_true (clock_skew_between (s, 1, 0, 1) == 5);
    assert_true (isnan (clock_skew_between (s, 2, 0, 1)));  // not asked
    assert_true (isnan (clock_skew_between (s, 1, 0, 2)));
    clock_skew_destroy (s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_kinds),     cmocka_unit_test (test_keys),
        cmocka_unit_test (test_by_start),  cmocka_unit_test (test_by_elapse),
        cmocka_unit_test (test_ties),      cmocka_unit_test (test_judge),
        cmocka_unit_test (test_skew),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
