/* tests/unit/node_agent/ship/test_choice.c - which aggregators stand in for
 * which, and for how long */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ship/choice.h"

#define AWAY (30 * NS_PER_S)

static int64_t at (int64_t seconds)
{
    return (1000 + seconds) * NS_PER_S;
}

/* All moves that are due; the number of them. */
static unsigned move (struct choice *c, int64_t now_ns)
{
    unsigned n = 0, copy;

    while (choice_next_move (c, &copy, now_ns))
        assert_true (++n < 10);
    return n;
}

static void test_stays (void **state)
{
    struct choice c;

    (void)state;
    choice_begin (&c, 3, 1, AWAY, at (0));
    assert_int_equal (move (&c, at (0)), 0);
    choice_heard (&c, 0, 0, at (30));
    assert_int_equal (move (&c, at (30)), 0);
    choice_heard (&c, 0, at (29), at (59));
    assert_int_equal (move (&c, at (59)), 0);
    assert_int_equal (c.copy[0].at, 0);
    assert_true (choice_is_first (&c));
    assert_int_equal (choice_next_probe (&c, 0), ENDPOINTS_MAX);
}

static void test_next (void **state)
{
    struct choice c;

    (void)state;
    choice_begin (&c, 3, 1, AWAY, at (0));
    choice_heard (&c, 0, at (1), at (32));
    assert_int_equal (move (&c, at (32)), 1);
    assert_int_equal (c.copy[0].at, 1);
    assert_false (choice_is_first (&c));
    assert_int_equal (choice_next_probe (&c, 0), 0);
    // the second one has its time, too, and then the third
    choice_heard (&c, 0, at (1), at (62));
    assert_int_equal (move (&c, at (62)), 0);
    choice_heard (&c, 0, at (1), at (63));
    assert_int_equal (move (&c, at (63)), 1);
    assert_int_equal (c.copy[0].at, 2);
    choice_heard (&c, 0, at (1), at (94));
    assert_int_equal (move (&c, at (94)), 0);
    assert_int_equal (choice_next_probe (&c, 0), 1);
    assert_int_equal (choice_next_probe (&c, 1), 0);
    // with nobody to talk to, whoever answers is right
    choice_probed (&c, 1, false, at (95));
    choice_probed (&c, 0, true, at (95));
    assert_int_equal (move (&c, at (95)), 1);
    assert_int_equal (c.copy[0].at, 0);
}

/* One that comes and goes would have everything read again each time. */
static void test_back (void **state)
{
    struct choice c;

    (void)state;
    choice_begin (&c, 2, 1, AWAY, at (0));
    choice_heard (&c, 0, 0, at (31));
    assert_int_equal (move (&c, at (31)), 1);
    choice_heard (&c, 0, at (40), at (40));
    choice_probed (&c, 0, true, at (40));
    choice_probed (&c, 0, false, at (50));
    choice_probed (&c, 0, true, at (60));
    choice_probed (&c, 0, true, at (80));
    assert_int_equal (move (&c, at (80)), 0);
    choice_probed (&c, 0, true, at (90));
    assert_int_equal (move (&c, at (90)), 1);
    assert_int_equal (c.copy[0].at, 0);
    assert_true (choice_is_first (&c));
}

static void test_copies (void **state)
{
    struct choice c;

    (void)state;
    choice_begin (&c, 3, 2, AWAY, at (0));
    choice_heard (&c, 0, 0, at (31));
    choice_heard (&c, 1, at (30), at (31));
    assert_int_equal (move (&c, at (31)), 1);
    // the other copy stays where it is
    assert_int_equal (c.copy[0].at, 2);
    assert_int_equal (c.copy[1].at, 1);
    assert_false (choice_is_first (&c));
    // nobody is left to stand in for the second one
    choice_heard (&c, 0, at (90), at (90));
    choice_heard (&c, 1, at (30), at (90));
    assert_int_equal (move (&c, at (90)), 0);
    choice_probed (&c, 0, true, at (91));
    assert_int_equal (move (&c, at (91)), 1);
    assert_int_equal (c.copy[0].at, 2);
    assert_int_equal (c.copy[1].at, 0);
    assert_int_equal (choice_next_probe (&c, 0), 1);
    choice_heard (&c, 0, at (100), at (100));
    choice_heard (&c, 1, at (100), at (100));
    choice_probed (&c, 1, true, at (100));
    choice_probed (&c, 1, true, at (130));
    assert_int_equal (move (&c, at (130)), 1);
    assert_int_equal (c.copy[0].at, 1);
    assert_true (choice_is_first (&c));
}

/* One of another version is left at once, and probed like any other. */
static void test_other_version (void **state)
{
    struct choice c;

    (void)state;
    choice_begin (&c, 3, 1, AWAY, at (0));
    assert_true (choice_refused (&c, 0, at (1)));
    choice_heard (&c, 0, 0, at (2));
    assert_int_equal (move (&c, at (2)), 1);
    assert_int_equal (c.copy[0].at, 1);
    assert_int_equal (choice_next_probe (&c, 0), 0);
    assert_true (choice_refused (&c, 0, at (3)));
    assert_int_equal (move (&c, at (3)), 1);
    assert_int_equal (c.copy[0].at, 2);
    assert_false (choice_refused (&c, 0, at (4)));
    // nobody is left: it stays, until one is another version by now
    assert_int_equal (move (&c, at (4)), 0);
    choice_probed (&c, 1, true, at (5));
    assert_int_equal (move (&c, at (5)), 1);
    assert_int_equal (c.copy[0].at, 1);
    // what was heard after a refusal ends it
    assert_false (choice_refused (&c, 0, at (6)));
    choice_heard (&c, 0, at (7), at (7));
    assert_int_equal (move (&c, at (7)), 0);
    assert_false (c.of[1].away);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_stays), cmocka_unit_test (test_next),
        cmocka_unit_test (test_back),  cmocka_unit_test (test_copies),
        cmocka_unit_test (test_other_version),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
