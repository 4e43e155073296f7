/* tests/unit/aggregator/select/test_capture_select.c - which captures count,
 * for which rank */
#include "aggregator/select/select_check.h"

#include "model/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_order (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, CAPTURE_NO_RANK, "x", "h", 1, CAPTURE_COMPLETE);
    job_add (&j, 2, "late", "h", 9, CAPTURE_COMPLETE);
    job_add (&j, 0, "zero", "h", 5, CAPTURE_COMPLETE);
    job_add (&j, 2, "early", "h", 3, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    assert_string_equal (j.items[0].capture.name, "zero");
    assert_string_equal (j.items[1].capture.name, "early");
    assert_string_equal (j.items[2].capture.name, "late");
    assert_string_equal (j.items[3].capture.name, "x");
    take_no_rank (&j.items[3]);
    assert_false (j.items[0].skip);
    job_fini (&j);
}

/* Ids and rowids of a rank do not depend on other ranks. */
static void test_ids (void **state)
{
    static const struct {
        int64_t rank, id, first_row;
        uint64_t rows_max;
    } want[] = {
        { 2, 3, 3LL << 32, 1ULL << 31 },
        { 2, 1000003, 7LL << 31, 1ULL << 31 },
        { CAPTURE_WORLD_DEFAULT - 1, CAPTURE_WORLD_DEFAULT, 1LL << 49, 1ULL << 32 },
        { CAPTURE_NO_RANK, 1000000, ((1LL << 17) + 1) << 32, 1ULL << 32 },
        { CAPTURE_NO_RANK, 2000000, ((1LL << 17) + 2) << 32, 1ULL << 32 },
    };
    static const int64_t unknown[] = { INT64_MIN, -1, 0, 1, 2, 4, 1000004,
                                       2000003, 3000000, INT64_MAX };
    struct job j = { .n = 0 };

    (void)state;
    for (size_t i = sizeof (want) / sizeof (want[0]); i-- > 0;)
        job_add (&j, want[i].rank, "x", "h", (int64_t)i, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    for (size_t i = 0; i < j.n; i++) {
        assert_int_equal (j.items[i].rank, want[i].rank);
        assert_int_equal (j.items[i].id, want[i].id);
        assert_int_equal (j.items[i].first_row, want[i].first_row);
        assert_int_equal (j.items[i].rows_max, want[i].rows_max);
        assert_int_equal (select_place (j.items, j.n, want[i].id), i);
    }
    for (size_t i = 0; i < sizeof (unknown) / sizeof (unknown[0]); i++)
        assert_int_equal (select_place (j.items, j.n, unknown[i]), j.n);
    job_fini (&j);
}

/* A root may have higher ranks than this process would take in. */
static void test_ids_above_ranks (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, CAPTURE_WORLD_DEFAULT, "high", "h", 1, CAPTURE_COMPLETE);
    job_add (&j, CAPTURE_NO_RANK, "x", "h", 1, CAPTURE_COMPLETE);
    job_add (&j, 0, "low", "h", 1, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    for (size_t i = 0; i + 1 < j.n; i++)
        assert_true (j.items[i].first_row + (int64_t)j.items[i].rows_max <=
                     j.items[i + 1].first_row);
    job_fini (&j);
}

/* Each of three captures has to name the host that is not its own. */
static void test_two_hosts (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, 1, "a", "alpha", 1, CAPTURE_COMPLETE);
    job_add (&j, 1, "b", "alpha", 2, CAPTURE_COMPLETE);
    job_add (&j, 1, "c", "beta", 3, CAPTURE_COMPLETE);
    job_add (&j, 2, "d", "gamma", 3, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    select_settle (j.items, j.n);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal (j.items[i].capture.state, CAPTURE_FAILED);
        assert_true (j.items[i].drop);
        assert_non_null (strstr (j.items[i].capture.reason, "alpha ("));
        assert_non_null (strstr (j.items[i].capture.reason, "beta ("));
    }
    assert_int_equal (j.items[3].capture.state, CAPTURE_COMPLETE);
    job_fini (&j);
}

/* A host that is not known proves nothing. */
static void test_unknown_host (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, 1, "a", "", 1, CAPTURE_COMPLETE);
    job_add (&j, 1, "b", "beta", 2, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    select_settle (j.items, j.n);
    assert_int_equal (j.items[0].capture.state, CAPTURE_COMPLETE);
    assert_int_equal (j.items[1].capture.state, CAPTURE_COMPLETE);
    job_fini (&j);
}

/* Nor does a capture of which nothing could be read: it may be what is left of
 * a warm-up elsewhere.
 */
static void test_failed_host (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, 1, "a", "alpha", 1, CAPTURE_FAILED);
    job_add (&j, 1, "b", "beta", 2, CAPTURE_COMPLETE);
    job_add (&j, 1, "c", "gamma", 3, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    j.items[2].capture.state = CAPTURE_FAILED;  // which reading showed
    select_settle (j.items, j.n);
    assert_int_equal (j.items[1].capture.state, CAPTURE_COMPLETE);
    assert_false (j.items[1].drop);
    assert_string_equal (j.items[0].capture.reason, "");
    job_fini (&j);
}

static void check_copies (enum capture_state first, enum capture_state second,
                          size_t winner)
{
    struct job j = { .n = 0 };

    job_add (&j, 1, "same", "h", 1, first);
    job_add (&j, 1, "same", "h", 1, second);
    select_plan (j.items, j.n);
    select_settle (j.items, j.n);
    assert_int_equal (j.items[!winner].capture.state, CAPTURE_SUPERSEDED);
    assert_true (j.items[!winner].drop);
    assert_false (j.items[winner].drop);
    assert_int_equal (j.items[winner].capture.state, winner ? second : first);
    job_fini (&j);
}

/* The copy that can be read counts, whatever else there is of it. */
static void test_copies (void **state)
{
    (void)state;
    check_copies (CAPTURE_COMPLETE, CAPTURE_COMPLETE, 1);
    check_copies (CAPTURE_COMPLETE, CAPTURE_RAW, 0);
    check_copies (CAPTURE_RAW, CAPTURE_COMPLETE, 1);
    check_copies (CAPTURE_RAW, CAPTURE_RAW, 1);
    check_copies (CAPTURE_COMPLETE, CAPTURE_FAILED, 0);
    check_copies (CAPTURE_COMPLETE, CAPTURE_PARTIAL, 0);
    check_copies (CAPTURE_PARTIAL, CAPTURE_COMPLETE, 1);
    check_copies (CAPTURE_PARTIAL, CAPTURE_FAILED, 0);
    check_copies (CAPTURE_PARTIAL, CAPTURE_PARTIAL, 1);
}

/* Of two damaged copies the one with more whole tables counts. */
static void test_copies_damaged (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    job_add (&j, 1, "same", "h", 1, CAPTURE_PARTIAL);
    job_add (&j, 1, "same", "h", 2, CAPTURE_PARTIAL);
    j.items[0].capture.whole_tables = 1u << TABLE_STEP | 1u << TABLE_TIME;
    j.items[1].capture.whole_tables = 1u << TABLE_STEP;
    select_settle (j.items, j.n);
    assert_false (j.items[0].drop);
    assert_int_equal (j.items[1].capture.state, CAPTURE_SUPERSEDED);
    assert_non_null (strstr (j.items[1].capture.reason, "is more complete"));
    job_fini (&j);
}

/* Traces that a program gives one name, in a directory for each step, are no
 * copies: one of them would be lost.
 */
static void test_traces_of_one_name (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        job_add (&j, 1, "rank1.pt.trace.json", "h", i + 1, CAPTURE_COMPLETE);
        (void)strcpy (j.items[i].capture.framework, "kineto");
        assert_int_equal (capture_note_step (&j.items[i].capture,
                                             i == 0 ? "7" : "9", 1), 0);
    }
    select_settle (j.items, j.n);
    assert_int_equal (j.items[0].capture.state, CAPTURE_COMPLETE);
    assert_int_equal (j.items[1].capture.state, CAPTURE_SUPERSEDED);
    assert_int_equal (j.items[2].capture.state, CAPTURE_COMPLETE);
    job_fini (&j);
}

/* What select_plan found for a capture that stands alone outlasts reading. */
static void test_take (void **state)
{
    struct job j = { .n = 0 };
    struct capture fresh;

    (void)state;
    job_add (&j, CAPTURE_NO_RANK, "x", "h", 1, CAPTURE_COMPLETE);
    select_plan (j.items, j.n);
    capture_init (&fresh);
    select_take (&j.items[0], &fresh);
    assert_int_equal (j.items[0].capture.rank, 0);
    assert_int_equal (j.items[0].capture.world_size, 1);
    job_fini (&j);
}

static void check_conflict (const struct select_conflict *c, int64_t capture,
                            const char *step)
{
    assert_int_equal (c->rank, 1);
    assert_int_equal (c->capture, capture);
    assert_string_equal (c->step, step);
}

/* Each step that two captures of a rank have is listed with both. */
static void test_conflicts (void **state)
{
    struct select_conflict *list = NULL;
    struct job j = { .n = 0 };
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[8];

        (void)snprintf (name, sizeof (name), "c%d", i);
        job_add (&j, 1, name, "h", i, CAPTURE_COMPLETE);
    }
    job_add (&j, 2, "other", "h", 1, CAPTURE_COMPLETE);
    note_steps (&j.items[0].capture, "1", "2");
    note_steps (&j.items[1].capture, "2", "3");
    note_steps (&j.items[2].capture, "2", "3");
    note_steps (&j.items[3].capture, "1", "2");
    select_plan (j.items, j.n);
    assert_int_equal (select_conflicts (j.items, j.n, &list, &n), 0);
    assert_int_equal (n, 6);
    check_conflict (&list[0], 2, "2");
    check_conflict (&list[1], 1000002, "2");
    check_conflict (&list[2], 1000002, "2");
    check_conflict (&list[3], 2000002, "2");
    check_conflict (&list[4], 1000002, "3");
    check_conflict (&list[5], 2000002, "3");
    assert_non_null (strstr (j.items[1].capture.reason,
                             "steps 2, 3: taken from the newer capture c2"));
    assert_non_null (strstr (j.items[0].capture.reason,
                             "step 2: taken from the newer capture c1"));
    assert_string_equal (j.items[3].capture.reason, "");
    free (list);
    job_fini (&j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_ids),
        cmocka_unit_test (test_ids_above_ranks),
        cmocka_unit_test (test_two_hosts),
        cmocka_unit_test (test_unknown_host),
        cmocka_unit_test (test_failed_host),
        cmocka_unit_test (test_copies),
        cmocka_unit_test (test_copies_damaged),
        cmocka_unit_test (test_traces_of_one_name),
        cmocka_unit_test (test_take),
        cmocka_unit_test (test_conflicts),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
