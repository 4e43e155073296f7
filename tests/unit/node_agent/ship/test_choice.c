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
    // it may be the only one that has what it acknowledged
    assert_false (choice_is_first (&c));
    assert_int_equal (choice_next_probe (&c, 0), 1);
    assert_int_equal (choice_next_probe (&c, 1), 0);
    // with nobody to talk to, whoever answers is right
    choice_probed (&c, 1, false, at (95));
    choice_probed (&c, 0, true, at (95));
    assert_int_equal (move (&c, at (95)), 1);
    assert_int_equal (c.copy[0].at, 0);
}

/* An agent that was stopped for a minute would move all its captures. */
static void test_deaf (void **state)
{
    struct choice c;

    (void)state;
    choice_begin (&c, 2, 2, AWAY, at (0));
    choice_was_deaf (&c, 60 * NS_PER_S);
    for (unsigned i = 0; i < 2; i++)
        choice_heard (&c, i, 0, at (90));
    assert_int_equal (move (&c, at (90)), 0);
    assert_false (c.of[0].away || c.of[1].away);
    choice_heard (&c, 1, 0, at (91));
    assert_true (c.of[1].away);
}

/* That it answers before and after is not that it answered all the while. */
static void test_deaf_to_one_that_is_back (void **state)
{
    struct choice c;

    (void)state;
    choice_begin (&c, 2, 1, AWAY, at (0));
    choice_heard (&c, 0, 0, at (31));
    assert_int_equal (move (&c, at (31)), 1);
    choice_heard (&c, 0, at (40), at (40));
    choice_probed (&c, 0, true, at (40));
    choice_was_deaf (&c, 60 * NS_PER_S);
    choice_probed (&c, 0, true, at (101));
    assert_int_equal (move (&c, at (101)), 0);
    choice_probed (&c, 0, true, at (130));
    assert_int_equal (move (&c, at (130)), 1);
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
    assert_true (choice_is_first (&c));         // an object store does
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

/* The copies that speak, as a text. */
static const char *speak (const struct choice *c)
{
    static char text[SPOOL_COPIES_ALL + 1];
    size_t n = 0;

    for EACH_CHOSEN (i, c)
        text[n++] = (char)('0' + i);
    text[n] = '\0';
    return text;
}

static void hear_all (struct choice *c, int64_t now_ns, size_t but)
{
    for EACH_CHOSEN (i, c)
        choice_heard (c, i, c->copy[i].at == but ? at (0) : now_ns, now_ns);
}

/* Raw files go to the last one of three, and rows to the first. */
static void test_divided (void **state)
{
    const size_t order[] = { 2, 0, 1 };
    struct choice c;

    (void)state;
    choice_begin (&c, 3, 1, AWAY, at (0));
    assert_string_equal (speak (&c), "0");
    choice_divide (&c, order);
    assert_string_equal (speak (&c), "02");
    assert_int_equal (c.copy[SPOOL_RAW_COPY].at, 2);
    assert_true (choice_is_first (&c));
    assert_false (choice_has_raw (&c, 0));
    // it goes: the first one has both, by one connection
    hear_all (&c, at (31), 2);
    assert_int_equal (move (&c, at (31)), 1);
    assert_int_equal (c.copy[SPOOL_RAW_COPY].at, 0);
    assert_string_equal (speak (&c), "0");
    assert_true (choice_is_shared (&c, SPOOL_RAW_COPY));
    assert_true (choice_has_raw (&c, 0));
    assert_false (choice_is_first (&c));
    // the home goes, too: nobody else is left for either
    hear_all (&c, at (62), 0);
    choice_heard (&c, 0, at (0), at (62));
    assert_int_equal (move (&c, at (62)), 2);
    assert_int_equal (c.copy[0].at, 1);
    assert_int_equal (c.copy[SPOOL_RAW_COPY].at, 1);
    assert_string_equal (speak (&c), "0");
    // whoever answers, is for both as it is in the order of each
    hear_all (&c, at (70), ENDPOINTS_MAX);
    choice_probed (&c, 2, true, at (70));
    choice_probed (&c, 2, true, at (100));
    hear_all (&c, at (100), ENDPOINTS_MAX);
    assert_int_equal (move (&c, at (100)), 1);
    assert_int_equal (c.copy[0].at, 1);
    assert_int_equal (c.copy[SPOOL_RAW_COPY].at, 2);
    assert_string_equal (speak (&c), "02");
}

static void test_divided_copies (void **state)
{
    const size_t order[] = { 1, 2, 0 };
    struct choice c;

    (void)state;
    choice_begin (&c, 3, 2, AWAY, at (0));
    choice_divide (&c, order);
    // 0 and 1 have rows, 1 and 2 raw files
    assert_string_equal (speak (&c), "013");
    assert_true (choice_has_raw (&c, 1));
    assert_false (choice_has_raw (&c, 0));
    hear_all (&c, at (31), 1);
    assert_int_equal (move (&c, at (31)), 2);
    // 0 and 2 have both
    assert_string_equal (speak (&c), "01");
    assert_true (choice_has_raw (&c, 0) && choice_has_raw (&c, 1));
    assert_int_equal (choice_next_probe (&c, 0), 1);
    assert_false (choice_is_first (&c));
    // an object store stands in: captures would stay until that one is back
    hear_all (&c, at (62), 2);
    assert_int_equal (move (&c, at (62)), 0);
    assert_true (choice_is_first (&c));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_stays), cmocka_unit_test (test_next),
        cmocka_unit_test (test_deaf),
        cmocka_unit_test (test_deaf_to_one_that_is_back),
        cmocka_unit_test (test_back),  cmocka_unit_test (test_copies),
        cmocka_unit_test (test_other_version),
        cmocka_unit_test (test_divided),
        cmocka_unit_test (test_divided_copies),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
