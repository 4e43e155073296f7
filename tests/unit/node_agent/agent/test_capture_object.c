/* tests/unit/node_agent/agent/test_capture_object.c - captures on the way */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/capture_object.h"

#include <string.h>

#define PATH "/d/a_ascend_pt"

static const struct find_id some_id = { .dev = 1, .ino = 2 };

static struct capture_object *the_object (const struct capture_objects *all)
{
    return capture_object_find (all, PATH);
}

/* By which events one comes there from the start. */
static void be_in (struct capture_objects *all, enum capture_stage state)
{
    static const enum stage_event by[] = {
        [STAGE_WAITING] = STAGE_NO_ROOM,
        [STAGE_QUEUED] = STAGE_HANDED_ON,
        [STAGE_FAILED] = STAGE_SEAL_FAILED,
    };

    memset (all, 0, sizeof (*all));
    if (state != STAGE_SETTLED)
        assert_true (capture_object_take (all, PATH, by[state], NULL));
}

/* An open state has an object, and no other has: it would never go. */
static void test_objects (void **state)
{
    (void)state;
    for (unsigned s = STAGE_SETTLED; s <= STAGE_LAST_OPEN; s++) {
        for (unsigned e = STAGE_NO_ROOM; e < STAGE_EVENTS; e++) {
            bool edge = states_have (&capture_stages, s, e);
            struct capture_objects all;
            const struct capture_object *c;

            be_in (&all, s);
            assert_int_equal (edge, capture_object_take (&all, PATH, e, NULL));
            c = the_object (&all);
            if (!edge)
                assert_true (c ? c->state.now == s : s == STAGE_SETTLED);
            else if (c)
                assert_true (c->state.now <= STAGE_LAST_OPEN);
            capture_object_forget_all (&all);
            assert_null (all.first);
            assert_null (all.last);
            assert_null (all.by_path);
        }
    }
    for (unsigned s = STAGE_LAST_OPEN + 1; s < STAGE_STATES; s++) {
        for (unsigned e = 0; e < STAGE_EVENTS; e++)
            assert_false (states_have (&capture_stages, s, e));
    }
}

/* It counts as one that failed until it is sealed, also while it is tried
 * again: else an end in that moment would call all of it delivered.
 */
static void test_failed (void **state)
{
    struct capture_objects all = { .level = LOG_LEVEL_DEBUG };
    struct err why = { "no space" }, other = { "no memory" };
    struct capture_object *c;
    bool first = false;

    (void)state;
    assert_true (capture_object_take (&all, PATH, STAGE_HANDED_ON, NULL));
    assert_false (capture_object_has_failed (&all, PATH));
    c = capture_object_fail (&all, PATH, &some_id, &why, &first);
    assert_non_null (c);
    assert_true (first);
    assert_int_equal (c->id.ino, 2);
    assert_true (capture_object_take (&all, PATH, STAGE_HANDED_ON, NULL));
    assert_true (capture_object_has_failed (&all, PATH));
    assert_int_equal (all.failed, 1);
    c = capture_object_fail (&all, PATH, &some_id, &other, &first);
    assert_false (first);       // it is told of once
    assert_string_equal (c->why.text, "no memory");
    assert_int_equal (all.failed, 1);
    assert_true (capture_object_take (&all, PATH, STAGE_HANDED_ON, NULL));
    assert_true (capture_object_take (&all, PATH, STAGE_IS_SEALED, NULL));
    assert_int_equal (all.failed, 0);
    assert_false (capture_object_has_failed (&all, PATH));
}

/* In the order in which they came; those that did not fail are passed over. */
static void test_order (void **state)
{
    static const char *const paths[] = { "/c", "/b", "/a", "/d" };
    struct capture_objects all = { .level = LOG_LEVEL_DEBUG };
    struct err why = { "no space" };
    const struct capture_object *c;
    bool first;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_true (capture_object_take (&all, paths[i], STAGE_HANDED_ON,
                                          NULL));
    for (int i = 3; i >= 0; i--) {
        if (i != 1)
            assert_non_null (capture_object_fail (&all, paths[i], &some_id,
                                                  &why, &first));
    }
    c = capture_object_next_failed (&all, NULL);
    assert_string_equal (c->path, "/c");
    c = capture_object_next_failed (&all, c);
    assert_string_equal (c->path, "/a");
    assert_true (capture_object_take (&all, "/d", STAGE_GONE, NULL));
    assert_null (capture_object_next_failed (&all, c));
    assert_true (capture_object_take (&all, "/c", STAGE_GONE, NULL));
    c = capture_object_next_failed (&all, NULL);
    assert_string_equal (c->path, "/a");
    assert_int_equal (all.failed, 1);
    capture_object_forget_all (&all);
    assert_int_equal (all.failed, 0);
}

/* What the sealer gives back after it was forgotten is no new object, unless
 * it failed: that has to be tried again.
 */
static void test_forgotten (void **state)
{
    struct capture_objects all = { .level = LOG_LEVEL_DEBUG };
    struct err why = { "" };
    bool first;

    (void)state;
    assert_false (capture_object_take (&all, PATH, STAGE_IS_SEALED, NULL));
    assert_null (the_object (&all));
    assert_non_null (capture_object_fail (&all, PATH, &some_id, &why, &first));
    // a reason that is not told is one, too
    assert_true (capture_object_has_failed (&all, PATH));
    capture_object_forget_all (&all);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_objects),
        cmocka_unit_test (test_failed),
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_forgotten),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
