/* tests/unit/aggregator/waits/test_arrival.c - who came last to one op, op by
 * op */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "waits/arrivals.h"
#include "waits/clock_skew.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arrival row (uint32_t rank, double start_us, double elapse_ms)
{
    return (struct arrival){ .key = 1, .group = 1, .size = 3, .rank = rank & 0xffffff,
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
    const struct arrival a[] = { row (0, 5000, 2.5), row (1, 3000, 1.5),
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
    struct arrival a[] = { row (0, 5000, 2.5), row (4, 3000, 1.5),
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
    struct arrival a[] = { row (0, 1, 1), row (1, 2, 1), row (2, 2, 1) };
    double w[3];

    (void)state;
    assert_int_equal (arrival_wait (a, 3, w), 1);
    assert_true (w[2] == 0);
    a[0].by_start = 0;
    assert_int_equal (arrival_wait (a, 3, w), 0);
}

static void test_judge (void **state)
{
    struct arrival a[] = { row (0, 1, 1), row (1, 2, 1), row (2, 2, 1),
                           row (3, 1, 1) };

    (void)state;
    assert_int_equal (arrival_judge (a, 3), ARRIVAL_WHOLE);
    assert_int_equal (arrival_judge (a, 2), ARRIVAL_INCOMPLETE);
    assert_int_equal (arrival_judge (a, 4), ARRIVAL_AMBIGUOUS);
    a[1].rank = 0;
    assert_int_equal (arrival_judge (a, 3), ARRIVAL_AMBIGUOUS);
    assert_int_equal (arrival_judge (a, 2), ARRIVAL_AMBIGUOUS);
}

/* ---- all rows ---- */

#define RANKS 3

struct seen {
    uint64_t ops, rows;
    uint64_t digest;
    int fail_at;                // op
};

static int look (void *arg, const struct arrival *a, size_t n,
                 struct err *err)
{
    struct seen *s = arg;

    assert_int_equal (n, RANKS);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal (a[i].rank, i);
        assert_true (a[i].key == a[0].key);
        s->digest = s->digest * 31 + (uint64_t)a[i].row;
    }
    s->ops++;
    s->rows += n;
    return s->fail_at > 0 && s->ops == (uint64_t)s->fail_at
               ? err_set (err, EIO, "enough") : 0;
}

static void sort_all (uint64_t ops, uint64_t expected, struct seen *s)
{
    char path[] = "/tmp/test_arrival.XXXXXX";
    struct arrivals *x = NULL;
    uint64_t dropped;

    assert_non_null (mkdtemp (path));
    assert_int_equal (rmdir (path), 0);
    assert_int_equal (arrivals_create (expected, path, &x, NULL), 0);
    assert_int_equal (access (path, F_OK), -1);
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint64_t i = 0; i < ops; i++) {
            struct arrival a = row (r, 1, 1);

            a.key = i * i * 977;
            a.group = 1 + (uint32_t)(i % 3);
            a.row = (int64_t)(r * ops + i);
            assert_int_equal (arrivals_add (x, &a, NULL), 0);
        }
    }
    (void)arrivals_each (x, look, s, &dropped, NULL);
    assert_int_equal (dropped, 0);
    arrivals_destroy (x);
}

/* Too many for memory: nothing is lost, and always in the same order. */
static void test_file (void **state)
{
    struct seen inside = { 0 }, file = { 0 }, again = { 0 };

    (void)state;
    sort_all (50000, 150000, &inside);
    sort_all (50000, 10000000, &file);
    sort_all (50000, 10000000, &again);
    assert_int_equal (inside.ops, 50000);
    assert_int_equal (file.ops, 50000);
    assert_int_equal (file.rows, 150000);
    assert_true (file.digest == again.digest);
    // more than were expected
    memset (&inside, 0, sizeof (inside));
    sort_all (5000, 1, &inside);
    assert_int_equal (inside.ops, 5000);
}

static void test_stops (void **state)
{
    struct seen s = { .fail_at = 7 };

    (void)state;
    sort_all (100, 300, &s);
    assert_int_equal (s.ops, 7);
}

/* Rank 1's clock is 5 ms ahead: in every op it seems to start and end later. */
static void test_skew (void **state)
{
    struct clock_skew *s = clock_skew_create ();

    (void)state;
    assert_non_null (s);
    for (int i = 0; i < 1000; i++) {
        double start = 1.7e15 + i * 1e4;
        struct arrival a[] = { row (0, start, 3), row (1, start + 5000, 3),
                               row (200, start + 1000, 2) };

        assert_int_equal (clock_skew_add (s, a, 3, NULL), 0);
        assert_int_equal (clock_skew_add (s, a, 1, NULL), 0);   // tells nothing
    }
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
        cmocka_unit_test (test_file),      cmocka_unit_test (test_stops),
     cmocka_unit_test (test_skew),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
