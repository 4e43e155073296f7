/* tests/unit/aggregator/select/test_select_verify.c - is each rank the one that
 * it says it is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "select/select_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 8
#define WORLD 4

static int32_t members[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, others[] = { 4, 5, 6, 7 };

static char of_all[] = "default_group", of_two[] = "tp";

/* A group of all ranks, one of two, and one that has the name of the first. */
static struct comm_group world = { .name = "w", .pg_name = of_all,
                                   .members = members, .nmembers = WORLD };
static struct comm_group pair = { .name = "p", .pg_name = of_two,
                                  .members = members + 2, .nmembers = 2 };
static struct comm_group second = { .name = "w", .pg_name = of_all,
                                    .members = others, .nmembers = WORLD };

struct job {
    struct select_item items[ITEMS];
    size_t n;
    bool again;
};

static struct select_item *add (struct job *j, int64_t rank,
                                const struct comm_group *lists, int32_t own)
{
    struct select_item *item = &j->items[j->n++];
    struct evidence *e;

    *item = (struct select_item){ .rank = rank };
    capture_init (&item->capture);
    item->capture.state = CAPTURE_COMPLETE;
    item->capture.rank = rank;
    item->capture.world_size = WORLD;
    e = &item->capture.evidence;
    e->ranks.info_name = e->ranks.info = rank;
    if (lists) {
        item->groups.list = calloc (2, sizeof (*item->groups.list));
        assert_non_null (item->groups.list);
        item->groups.list[item->groups.n++] = lists;
    }
    if (own != EVIDENCE_UNKNOWN)
        evidence_group_at (e, "w", 1)->own = own;
    return item;
}

static void verify (struct job *j)
{
    assert_int_equal (select_verify (j->items, j->n, &j->again), 0);
}

static void fini (struct job *j)
{
    select_free (j->items, j->n);
}

static void check (const struct select_item *item, int64_t rank, bool verified,
                   bool rank_contradicted, bool doubt)
{
    assert_int_equal (item->rank, rank);
    assert_int_equal (item->capture.rank, rank);
    assert_int_equal (item->verified, verified);
    assert_int_equal (item->rank_contradicted, rank_contradicted);
    assert_int_equal (item->doubt, doubt);
    assert_int_equal (item->capture.state,
                      doubt ? CAPTURE_PARTIAL : CAPTURE_COMPLETE);
    assert_int_equal (item->capture.reason[0] != '\0', rank_contradicted ||
                      doubt);
}

static void test_all_is_well (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    for (int i = 0; i < WORLD; i++)
        add (&j, i, &world, i);
    add (&j, 1, NULL, EVIDENCE_UNKNOWN);        // without metadata and ops
    j.items[4].capture.state = CAPTURE_FAILED;
    j.items[4].capture.evidence.ranks.info = 7;
    verify (&j);
    assert_false (j.again);
    for (int i = 0; i < WORLD; i++)
        check (&j.items[i], i, true, false, false);
    fini (&j);
}

/* What captures do not show MPI may know; it does not make a capture sure whose
 * places differ, or whose ops are another's.
 */
static void test_mpi_confirms (void **state)
{
    static const struct select_mpi mpi[WORLD] = {
        { 0, 0, 4 }, { 1, 1, 4 }, { 2, 2, 4 }, { 3, 3, 4 },
    };
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, NULL, EVIDENCE_UNKNOWN);
    add (&j, 1, NULL, EVIDENCE_UNKNOWN)->capture.evidence.ranks.info = 2;
    add (&j, 2, &world, 3);
    add (&j, 3, NULL, EVIDENCE_UNKNOWN);
    for (int i = 0; i < WORLD; i++)
        j.items[i].mpi = &mpi[i];
    j.items[3].mpi = NULL;
    verify (&j);
    check (&j.items[0], 0, true, false, false);
    check (&j.items[1], 1, false, false, true);
    check (&j.items[2], 2, false, false, true);
    check (&j.items[3], 3, false, false, false);
    fini (&j);
}

/* MPI says another rank than the launcher: ops decide, or nobody. */
static void test_mpi_contradicts (void **state)
{
    static const struct select_mpi mpi[2] = { { 0, 1, 4 }, { 1, 0, 4 } };
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, NULL, EVIDENCE_UNKNOWN);
    add (&j, 1, &world, 1);
    add (&j, 2, NULL, EVIDENCE_UNKNOWN);
    for (int i = 0; i < 2; i++)
        j.items[i].mpi = &mpi[i];
    verify (&j);
    assert_false (j.again);
    check (&j.items[0], 0, false, false, true);
    check (&j.items[1], 1, true, true, false);
    check (&j.items[2], 2, false, false, false);
    assert_non_null (strstr (j.items[0].capture.reason, "the launcher's "
                             "rank 0 is rank 1 of 4 in MPI: "
                             "its rank is in doubt"));
    assert_non_null (strstr (j.items[1].capture.reason, "is rank 0 of 4 in "
                             "MPI: filed as its ops say"));
    fini (&j);
}

/* Two, and three in a ring: each is filed where its ops are. */
static void test_exchanged (void **state)
{
    static const int32_t own[2][WORLD] = { { 1, 0, 2, 3 }, { 0, 2, 3, 1 } };

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct job j = { .n = 0 };
        struct capture fresh;

        for (int i = 0; i < WORLD; i++)
            add (&j, i, &world, own[k][i]);
        verify (&j);
        assert_true (j.again);
        for (int i = 0; i < WORLD; i++)
            check (&j.items[i], own[k][i], true, own[k][i] != i, false);
        assert_non_null (strstr (j.items[1].capture.reason, "rank 1, but its "
                                 "ops are at position "));
        // read again, it says what it said before
        capture_init (&fresh);
        fresh.rank = 1;
        fresh.state = CAPTURE_COMPLETE;
        select_take (&j.items[1], &fresh);
        check (&j.items[1], own[k][1], true, true, false);
        verify (&j);
        assert_false (j.again);
        fini (&j);
    }
}

/* Rank 1 is another's: there is no telling which of the two it is. */
static void test_rank_is_taken (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, &world, 1);
    add (&j, 1, &world, 1);
    verify (&j);
    assert_false (j.again);
    check (&j.items[0], 0, false, false, true);
    check (&j.items[1], 1, true, false, false);
    assert_non_null (strstr (j.items[0].capture.reason, "in doubt"));
    fini (&j);
}

/* The same where nothing confirms the other one. */
static void test_rank_may_be_taken (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, &world, 1);
    add (&j, 1, NULL, EVIDENCE_UNKNOWN);
    verify (&j);
    check (&j.items[0], 0, false, false, true);
    check (&j.items[1], 1, false, false, false);
    fini (&j);
}

/* 2 would be free if 0 might move to 3, to which 1 moves, too. */
static void test_two_claims (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, &world, 3);
    add (&j, 1, &world, 3);
    add (&j, 2, &world, 0);
    verify (&j);
    assert_false (j.again);
    for (int i = 0; i < 3; i++)
        check (&j.items[i], i, false, false, true);
    fini (&j);
}

/* Each is at the place of the next one, and so on to one that stays: then all
 * of them do.
 */
static void test_chain (void **state)
{
    static const int32_t own[2][WORLD] = { { 1, 2, 3, 3 }, { 0, 0, 1, 2 } };

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct job j = { .n = 0 };
        int last = k == 0 ? WORLD - 1 : 0;

        for (int i = 0; i < WORLD; i++)
            add (&j, i, &world, own[k][i]);
        verify (&j);
        assert_false (j.again);
        for (int i = 0; i < WORLD; i++)
            check (&j.items[i], i, i == last, false, i != last);
        fini (&j);
    }
}

/* Two windows of one rank are of one mind. */
static void test_two_windows (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, &world, 1);
    add (&j, 0, &world, 1);
    add (&j, 1, &world, 0);
    verify (&j);
    assert_true (j.again);
    check (&j.items[0], 1, true, true, false);
    check (&j.items[1], 1, true, true, false);
    check (&j.items[2], 0, true, true, false);
    fini (&j);
}

/* Places that name it differ: ops decide, and nobody does without them. */
static void test_names_differ (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, &world, 0)->capture.evidence.ranks.info = 3;
    add (&j, 1, NULL, EVIDENCE_UNKNOWN)->capture.evidence.ranks.args = 2;
    add (&j, 2, NULL, EVIDENCE_UNKNOWN)->capture.evidence.ranks.db_map = 2;
    verify (&j);
    assert_false (j.again);
    check (&j.items[0], 0, true, true, false);
    check (&j.items[1], 1, false, false, true);
    check (&j.items[2], 2, false, false, false);
    assert_non_null (strstr (j.items[1].capture.reason, "the name of "
                             "profiler_info says rank 1, distributed_args "
                             "says 2: "));
    fini (&j);
}

static void add_local (struct job *j, int64_t rank, int64_t args, int32_t own)
{
    struct select_item *item = add (j, rank, &world, own);

    item->capture.evidence.ranks.args = args;
    item->capture.evidence.ranks.group = args;
}

/* RANK was that of the host: one rule for all, and nobody has to look. */
static void test_ranks_of_hosts (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add_local (&j, 0, 0, 0);
    add_local (&j, 0, 2, 2);
    add_local (&j, 1, 1, EVIDENCE_UNKNOWN);     // its ops say nothing
    add_local (&j, 1, 3, 3);
    verify (&j);
    assert_true (j.again);
    for (int i = 0; i < WORLD; i++) {
        const struct select_item *item = &j.items[i];

        assert_int_equal (item->rank, item->capture.evidence.ranks.args);
        assert_int_equal (item->verified, i != 2);
        assert_false (item->rank_contradicted || item->doubt);
        assert_int_equal (item->capture.state, CAPTURE_COMPLETE);
        assert_int_equal (item->capture.reason[0] != '\0', i % 2 == 1);
    }
    fini (&j);
    // hosts of three are no part of a world of four: one says a wrong rank
    j = (struct job){ .n = 0 };
    for (int i = 0; i < WORLD; i++)
        add_local (&j, i % 3, i, i);
    select_sort (j.items, j.n);
    verify (&j);
    for (int i = 0; i < WORLD; i++)
        assert_int_equal (j.items[i].rank_contradicted,
                          j.items[i].capture.evidence.ranks.args == 3);
    fini (&j);
}

/* What says nothing: several positions, groups that nobody lists; and of two
 * lists of one name either will do.
 */
static void test_not_checkable (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, &world, EVIDENCE_SEVERAL);
    add (&j, 5, &second, 1);
    add (&j, 6, NULL, 2);
    evidence_group_at (&j.items[0].capture.evidence, "q", 1)->own = 3;
    verify (&j);
    check (&j.items[0], 0, false, false, false);
    check (&j.items[1], 5, true, false, false);
    check (&j.items[2], 6, true, false, false);
    fini (&j);
    // no list of that name has so many members
    j = (struct job){ .n = 0 };
    add (&j, 0, &world, 5);
    verify (&j);
    check (&j.items[0], 0, false, false, true);
    fini (&j);
}

/* Of two groups both count: 2 is at position 0 of the pair. */
static void test_two_groups (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct select_item *item = add (&j, 2 + i, &world, 2 + i);

        item->groups.list[item->groups.n++] = &pair;
        evidence_group_at (&item->capture.evidence, "p", 1)->own = 0;
    }
    verify (&j);
    check (&j.items[0], 2, true, false, false);
    check (&j.items[1], 3, false, false, true);
    fini (&j);
}

/* The positions of a trace are made of its rank; being a member is not. */
static void test_traces (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, &world, 3);
    add (&j, 5, NULL, 1);
    for (size_t i = 0; i < j.n; i++)
        (void)snprintf (j.items[i].capture.framework, CAPTURE_TEXT_MAX,
                        "kineto");
    verify (&j);
    check (&j.items[0], 0, false, false, false);
    check (&j.items[1], 5, false, false, true);
    assert_non_null (strstr (j.items[1].capture.reason, "not a member"));
    fini (&j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_all_is_well),
        cmocka_unit_test (test_exchanged),
        cmocka_unit_test (test_mpi_confirms),
        cmocka_unit_test (test_mpi_contradicts),
        cmocka_unit_test (test_rank_is_taken),
        cmocka_unit_test (test_rank_may_be_taken),
        cmocka_unit_test (test_two_claims),
        cmocka_unit_test (test_chain),
        cmocka_unit_test (test_two_windows),
        cmocka_unit_test (test_names_differ),
        cmocka_unit_test (test_ranks_of_hosts),
        cmocka_unit_test (test_not_checkable),
        cmocka_unit_test (test_two_groups),
        cmocka_unit_test (test_traces),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
