/* tests/unit/common/base/test_clock.c - for how long a process did not listen */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

#define SECOND NS_PER_S

static int64_t asked_ns;

static int64_t missed_at (int64_t seconds)
{
    return clock_missed_ns (&asked_ns, seconds * SECOND, SECOND) / SECOND;
}

/* A laptop that slept, or an agent that read 100,000 captures in one turn, would
 * say that an aggregator is gone which it did not listen to.
 */
static void test_stood_still (void **state)
{
    (void)state;
    asked_ns = 0;
    assert_int_equal (missed_at (100), 0);      // it has just begun
    assert_int_equal (missed_at (101), 0);
    assert_int_equal (missed_at (103), 0);      // no turn is exact
    assert_int_equal (missed_at (163), 59);
    assert_int_equal (missed_at (164), 0);
    assert_int_equal (missed_at (168), 3);      // many short ones, too
    assert_int_equal (missed_at (172), 3);
}

/* On a node without CPU time who is silent is gone all the same, after as many
 * turns as there are seconds.
 */
static void test_always_slow (void **state)
{
    int64_t silent = 0;

    (void)state;
    asked_ns = 0;
    for (int64_t at = 100; at <= 400; at += 10)
        silent += (at > 100 ? 10 : 0) - missed_at (at);
    assert_int_equal (silent, 30);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_stood_still),
        cmocka_unit_test (test_always_slow),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
