/* tests/unit/aggregator/select/test_select_roster.c - the roster that captures make
 */
#include "aggregator/select/select_check.h"

#include <stdio.h>
#include <string.h>

static enum roster_state state_for (struct job *j, int64_t world)
{
    struct roster r;
    enum roster_state s;

    roster_init (&r);
    assert_int_equal (roster_expect_world (&r, world, "--world-size"), 0);
    assert_int_equal (select_fill_roster (j->items, j->n, &r), 0);
    s = roster_at (&r, 1)->state;
    if (s == ROSTER_UNEXPECTED)
        assert_non_null (roster_at (&r, 1)->reason);
    roster_fini (&r);
    return s;
}

static void check_state (enum capture_state a, enum capture_state b,
                         enum roster_state want)
{
    struct job j = { .n = 0 };

    job_add (&j, 1, "a", "h", 1, a);
    job_add (&j, 1, "b", "h", 2, b);
    select_plan (j.items, j.n);
    select_settle (j.items, j.n);
    assert_int_equal (state_for (&j, 2), want);
    assert_int_equal (state_for (&j, 1), ROSTER_UNEXPECTED);
    job_fini (&j);
}

/* Present only if all of it is; never missing if some of it is. */
static void test_roster (void **state)
{
    (void)state;
    check_state (CAPTURE_COMPLETE, CAPTURE_COMPLETE, ROSTER_PRESENT);
    check_state (CAPTURE_COMPLETE, CAPTURE_PARTIAL, ROSTER_PARTIAL);
    check_state (CAPTURE_COMPLETE, CAPTURE_FAILED, ROSTER_PARTIAL);
    check_state (CAPTURE_RAW, CAPTURE_COMPLETE, ROSTER_PARTIAL);
    check_state (CAPTURE_RAW, CAPTURE_COLLECTING, ROSTER_RAW);
    check_state (CAPTURE_FAILED, CAPTURE_FAILED, ROSTER_FAILED);
    check_state (CAPTURE_FAILED, CAPTURE_PARTIAL, ROSTER_PARTIAL);
}

/* Where a rank runs is what its newest capture that counts says. */
static void test_place (void **state)
{
    struct job j = { .n = 0 };
    struct roster_entry *e;
    struct roster r;

    (void)state;
    job_add (&j, 1, "old", "h", 1, CAPTURE_COMPLETE);
    job_add (&j, 1, "new", "h", 2, CAPTURE_COMPLETE);
    job_add (&j, 1, "silent", "", 3, CAPTURE_COMPLETE);
    job_add (&j, 1, "raw", "h", 4, CAPTURE_RAW);
    j.items[0].capture.device_id = 1;
    j.items[1].capture.device_id = 2;
    j.items[3].capture.device_id = 4;
    select_plan (j.items, j.n);
    roster_init (&r);
    assert_int_equal (roster_expect_world (&r, 2, "--world-size"), 0);
    assert_int_equal (select_fill_roster (j.items, j.n, &r), 0);
    e = roster_at (&r, 1);
    assert_int_equal (e->device_id, 2);
    assert_string_equal (e->host, "h");
    // nothing that is known is forgotten
    job_fini (&j);
    j.n = 0;
    job_add (&j, 1, "raw", "", 4, CAPTURE_RAW);
    select_plan (j.items, j.n);
    assert_int_equal (select_fill_roster (j.items, 1, &r), 0);
    assert_int_equal (e->device_id, 2);
    assert_string_equal (e->host, "h");
    roster_fini (&r);
    job_fini (&j);
}

/* A build that begins again says of a missing rank what it has said. */
static void test_twice (void **state)
{
    struct job j = { .n = 0 };
    char first[CAPTURE_REASON_MAX];
    struct roster r;

    (void)state;
    job_add (&j, 1, "a", "h", 1, CAPTURE_COMPLETE);
    j.items[0].capture.world_size = 2;
    select_plan (j.items, j.n);
    roster_init (&r);
    assert_int_equal (roster_expect_world (&r, 3, "--world-size"), 0);
    assert_int_equal (select_fill_roster (j.items, j.n, &r), 0);
    PRINT (first, "%s", roster_at (&r, 2)->reason);
    assert_non_null (strstr (first, "there are 2 ranks"));
    assert_int_equal (select_fill_roster (j.items, j.n, &r), 0);
    assert_string_equal (roster_at (&r, 2)->reason, first);
    roster_fini (&r);
    job_fini (&j);
}

static void test_world_size (void **state)
{
    const char *by = NULL;
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, 5, "a", "h", 1, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    assert_int_equal (select_world_size (j.items, j.n, &by), 6);
    assert_string_equal (by, "guess");
    j.items[0].launcher_size = 5;       // of the launcher's nodes?
    assert_int_equal (select_world_size (j.items, j.n, &by), 6);
    assert_string_equal (by, "guess");
    j.items[0].launcher_size = 12;
    assert_int_equal (select_world_size (j.items, j.n, &by), 12);
    assert_string_equal (by, SELECT_BY_MARKS);
    j.items[0].capture.world_size = 8;  // the capture's own statement
    assert_int_equal (select_world_size (j.items, j.n, &by), 8);
    assert_string_equal (by, "metadata of the captures");
    job_fini (&j);
}

/* A number that somebody mistyped makes ranks up.  They stay missing, since
 * who is expected is not inferred from what came, but it can be seen why.
 */
static void test_made_up (void **state)
{
    struct job j = { .n = 0 };
    struct roster r;

    (void)state;
    job_add (&j, 0, "a", "h", 1, CAPTURE_COMPLETE);
    j.items[0].capture.world_size = 2;
    select_plan (j.items, j.n);
    roster_init (&r);
    assert_int_equal (roster_expect_world (&r, 4, "agents"), 0);
    assert_int_equal (select_fill_roster (j.items, j.n, &r), 0);
    assert_string_equal (roster_at (&r, 1)->reason,
                         "no capture of it was found");
    assert_string_equal (roster_at (&r, 3)->reason,
                         "no capture of it was found (the captures' own "
                         "metadata say that there are 2 ranks)");
    roster_fini (&r);
    job_fini (&j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_roster),
        cmocka_unit_test (test_place),
        cmocka_unit_test (test_twice),
        cmocka_unit_test (test_world_size),
        cmocka_unit_test (test_made_up),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
