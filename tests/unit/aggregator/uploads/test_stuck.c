/* tests/unit/aggregator/uploads/test_stuck.c - segments that cannot go to the store
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "uploads/stuck.h"
#include "uploads/uploads.h"

static void add (struct stuck *s, int64_t number, const char *etag,
                 int64_t now_ns)
{
    struct stuck_one one = { .segment = { number, 10 } };

    PRINT (one.etag, "%s", etag);
    assert_int_equal (stuck_add (s, &one, now_ns), 0);
}

/* One at a time, in turn, after growing pauses; what is damaged here is not. */
static void test_turns (void **state)
{
    const int64_t first = UPLOADS_AGAIN_FIRST_NS, most = UPLOADS_AGAIN_MAX_NS;
    struct stuck s = { .n = 0 };
    struct stuck_one one;
    int64_t now = 7;

    (void)state;
    assert_false (stuck_due (&s, now, &one));
    assert_int_equal (stuck_first (&s), 0);
    add (&s, 5, "five", now);
    add (&s, 4, "", now);
    add (&s, 6, "six", now);
    assert_int_equal (stuck_first (&s), 4);
    assert_false (stuck_due (&s, now + first - 1, &one));
    now += first;
    assert_true (stuck_due (&s, now, &one));
    assert_int_equal (one.segment.segment, 5);
    assert_false (stuck_due (&s, now + 2 * first - 1, &one));
    now += 2 * first;
    assert_true (stuck_due (&s, now, &one));
    assert_int_equal (one.segment.segment, 6);
    for (unsigned i = 0; i < 10; i++) {
        now += most;
        assert_true (stuck_due (&s, now, &one));
    }
    assert_false (stuck_due (&s, now + most - 1, &one));
    // what goes on its way lets the next one be looked at
    stuck_drop (&s, 5);
    assert_true (stuck_due (&s, now, &one));
    assert_int_equal (one.segment.segment, 6);
    assert_false (stuck_due (&s, now, &one));
    stuck_drop (&s, 6);
    assert_false (stuck_due (&s, now + most, &one));
    assert_int_equal (s.n, 1);
    stuck_fini (&s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_turns),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
