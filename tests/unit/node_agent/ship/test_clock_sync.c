/* tests/unit/node_agent/ship/test_clock_sync.c - which answer is believed of a
 * clock
 *
 * Time is given, never waited for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ship/clock_sync.h"

#define S NS_PER_S
#define MS NS_PER_MS
#define WALL (INT64_C (1700000000) * S)

/* An answer after 'took' ns from an aggregator that is 'ahead', whose share of
 * the way back is 'back' ns.
 */
static bool answer (struct clock_sync *c, int64_t mono, int64_t took,
                    int64_t back, int64_t ahead)
{
    return clock_sync_take (c, mono - took, mono, WALL + mono,
                            WALL + mono - back + ahead);
}

static void test_offset (void **state)
{
    struct clock_sync c = { .known = false };

    (void)state;
    assert_true (answer (&c, 100 * S, 20 * MS, 10 * MS, 3 * S));
    assert_int_equal (c.offset_ns, 3 * S);      // the same both ways: exact
    assert_int_equal (c.error_ns, 10 * MS);
    assert_true (clock_sync_is_off (&c));
}

/* However lopsided the ways are, the truth is within the error. */
static void test_error (void **state)
{
    (void)state;
    for (int64_t back = 0; back <= 20 * MS; back += MS) {
        struct clock_sync c = { .known = false };

        assert_true (answer (&c, 100 * S, 20 * MS, back, -2 * S));
        assert_in_range ((uint64_t)(c.offset_ns + 2 * S + c.error_ns), 0,
                         (uint64_t)(2 * c.error_ns));
        assert_true (clock_sync_is_off (&c));
    }
}

/* The quickest answer counts, until it is old. */
static void test_best (void **state)
{
    struct clock_sync c = { .known = false };
    int64_t renew = 100 * S + CLOCK_SYNC_RENEW_NS;

    (void)state;
    assert_true (answer (&c, 100 * S, 4 * MS, 2 * MS, 5 * MS));
    assert_false (answer (&c, 101 * S, 90 * MS, 0, 5 * MS));
    assert_int_equal (c.error_ns, 2 * MS);
    assert_true (answer (&c, 102 * S, 2 * MS, MS, 6 * MS));
    assert_int_equal (c.offset_ns, 6 * MS);
    assert_false (answer (&c, renew, 90 * MS, 45 * MS, 7 * MS));
    assert_true (answer (&c, renew + 2 * S, 90 * MS, 45 * MS, 7 * MS));
    assert_int_equal (c.offset_ns, 7 * MS);
    assert_int_equal (c.error_ns, 45 * MS);
    assert_false (clock_sync_is_off (&c));
}

/* What says nothing: no clock, another process's HELLO, an answer from the
 * future, one that took for ever.
 */
static void test_nonsense (void **state)
{
    struct clock_sync c = { .known = false };

    (void)state;
    assert_false (clock_sync_take (&c, 0, 5 * S, WALL, WALL));
    assert_false (clock_sync_take (&c, 6 * S, 5 * S, WALL, WALL));
    assert_false (clock_sync_take (&c, S, 40 * S, WALL, WALL));
    assert_false (clock_sync_take (&c, 4 * S, 5 * S, WALL, 0));
    assert_false (clock_sync_take (&c, 4 * S, 5 * S, WALL, INT64_MIN));
    assert_false (clock_sync_take (&c, 4 * S, 5 * S, WALL, INT64_MAX));
    assert_false (clock_sync_take (&c, INT64_MIN, 5 * S, WALL, WALL));
    assert_false (c.known);
    assert_false (clock_sync_is_off (&c));
}

/* A second is told of only if it is one for certain. */
static void test_off (void **state)
{
    struct clock_sync c = { .known = false };

    (void)state;
    assert_true (answer (&c, 100 * S, 600 * MS, 300 * MS, -1200 * MS));
    assert_false (clock_sync_is_off (&c));
    assert_true (answer (&c, 101 * S, 2 * MS, MS, -1200 * MS));
    assert_true (clock_sync_is_off (&c));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_offset), cmocka_unit_test (test_error),
        cmocka_unit_test (test_best), cmocka_unit_test (test_nonsense),
        cmocka_unit_test (test_off),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
