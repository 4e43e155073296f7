/* tests/unit/common/model/test_rank_lists.c - lists of ranks that differ, with
 * numbers
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/rank_lists.h"

#include <stdlib.h>

#define MANY 1000u              // lists; more than are recent
#define RANKS 100u              // of one

static struct rank_lists lists;

/* Ranks from 'first' on; the caller drops the list. */
static struct rank_list *list_from (int32_t first, uint32_t n)
{
    int32_t *ranks = calloc (n + 1, sizeof (*ranks));
    struct rank_list *l;

    assert_non_null (ranks);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = first + (int32_t)i;
    l = rank_list_of (ranks, n);
    assert_non_null (l);
    return l;
}

/* Its number; 'given': as a list, not as ranks only. */
static uint32_t number_of (struct rank_list *l, bool given, bool is_new)
{
    bool was_new = !is_new;
    uint32_t number;

    assert_int_equal (rank_lists_intern (&lists, l->ranks, l->n,
                                         given ? l : NULL, &number, &was_new),
                      0);
    assert_int_equal (was_new, is_new);
    return number;
}

/* Equal ranks are one list, whoever has them. */
static void test_same (void **state)
{
    struct rank_list *one = list_from (0, RANKS), *two = list_from (0, RANKS);

    (void)state;
    for (unsigned given = 0; given < 2; given++) {
        assert_int_equal (number_of (one, given, true), 0);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal (number_of (two, true, false), 0);
            assert_int_equal (number_of (one, true, false), 0);
            assert_int_equal (number_of (two, false, false), 0);
        }
        assert_int_equal (lists.map.n, 1);
        assert_true ((rank_lists_at (&lists, 0) == one) == given);
        assert_int_equal (rank_lists_at (&lists, 0)->n, RANKS);
        assert_int_equal (rank_lists_at (&lists, 0)->ranks[RANKS - 1],
                          RANKS - 1);
        rank_lists_fini (&lists);
        assert_int_equal (lists.map.n, 0);
    }
    rank_list_drop (one);
    rank_list_drop (two);
}

/* What differs in one rank, or in its length, is another one. */
static void test_alike (void **state)
{
    struct rank_list *l[] = {
        list_from (0, RANKS), list_from (0, RANKS), list_from (0, RANKS - 1),
        list_from (0, 1), list_from (0, 0),
    };

    (void)state;
    l[1]->ranks[RANKS / 2]++;
    for (unsigned again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < sizeof (l) / sizeof (l[0]); i++) {
            assert_int_equal (number_of (l[i], true, !again), i);
            assert_int_equal (number_of (l[i], false, false), i);
        }
    }
    for (size_t i = 0; i < sizeof (l) / sizeof (l[0]); i++)
        rank_list_drop (l[i]);
}

/* A list that is gone leaves its place in memory to another one. */
static void test_many (void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < MANY; i++) {
            struct rank_list *l = list_from ((int32_t)i, RANKS);

            assert_int_equal (number_of (l, true, !again), i);
            rank_list_drop (l);
        }
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal (rank_lists_at (&lists, i)->ranks[1], i + 1);
}

static int end (void **state)
{
    (void)state;
    rank_lists_fini (&lists);
    return 0;
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown (test_same, end),
        cmocka_unit_test_teardown (test_alike, end),
        cmocka_unit_test_teardown (test_many, end),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
