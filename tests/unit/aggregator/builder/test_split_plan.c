/* tests/unit/aggregator/builder/test_split_plan.c - which part has which ranks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 1000               // of a rank
#define RANK_BYTES ((int64_t)ROWS * SPLIT_ROW_BYTES)

/* Ranks on hosts, one letter for each; a capital letter: the capture has no
 * rank.
 */
static struct split plan (const char *hosts, int64_t limit)
{
    size_t n = strlen (hosts);
    struct select_item *items = calloc (n, sizeof (*items));
    struct row_span *spans = calloc (n + 1, sizeof (*spans));
    struct err err = { "" };
    struct split s;

    assert_true (items && spans);
    for (size_t i = 0; i < n; i++) {
        int64_t block = (int64_t)i + 1;

        items[i].rank = hosts[i] < 'a' ? -1 : (int64_t)i;
        items[i].first_row = (items[i].rank < 0 ? 1000 + block : block) << 32;
        items[i].capture.host[0] = hosts[i];
        // spans are sorted by rank: those without one come first
        spans[n - 1 - i] = (struct row_span){ .rank = items[i].rank,
                                              .first = items[i].first_row,
                                              .rows = { ROWS / 2, ROWS / 4,
                                                        ROWS / 4, 77 } };
    }
    assert_int_equal (split_plan (&s, items, n, spans, limit, &err), 0);
    free (items);
    free (spans);
    return s;
}

/* The part of each rank, as digits; "": one file. */
static void parts_are (const char *hosts, int64_t limit, const char *want)
{
    struct split s = plan (hosts, limit);
    char got[64] = "";

    for (size_t i = 0; i < s.nunits && s.n > 0; i++)
        got[i] = (char)('0' + s.units[i].part);
    assert_string_equal (got, want);
    split_fini (&s);
}

static void small_results_are_one_file (void **state)
{
    (void)state;
    parts_are ("aabb", 4 * RANK_BYTES, "");
    parts_are ("aabb", INT64_MAX, "");
    parts_are ("", 1, "");
    // one part would be no gain
    parts_are ("a", RANK_BYTES - 1, "");
}

static void hosts_are_not_divided (void **state)
{
    (void)state;
    parts_are ("aabb", 4 * RANK_BYTES - 1, "1122");
    parts_are ("aabbccdd", 2 * RANK_BYTES, "11223344");
    parts_are ("aabbccdd", 5 * RANK_BYTES, "11112222");
    parts_are ("aaabbb", 5 * RANK_BYTES, "111222");
}

static void ranks_of_hosts_may_alternate (void **state)
{
    (void)state;
    parts_are ("abcabc", 2 * RANK_BYTES, "123123");
    parts_are ("abcabc", 4 * RANK_BYTES, "112112");
}

static void a_large_host_is_divided_by_rank (void **state)
{
    (void)state;
    parts_are ("aaaab", 2 * RANK_BYTES, "11223");
    parts_are ("baaaac", 2 * RANK_BYTES, "112233");
    parts_are ("aaa", RANK_BYTES / 2, "123");
}

static void captures_without_a_rank_have_a_host (void **state)
{
    (void)state;
    parts_are ("aabbA", 2 * RANK_BYTES, "11223");
    parts_are ("aabbb", 3 * RANK_BYTES, "11222");
}

static void there_are_not_too_many (void **state)
{
    char hosts[601];
    struct split s;

    (void)state;
    memset (hosts, 'a', 600);
    hosts[600] = '\0';
    s = plan (hosts, 1);
    assert_in_range (s.n, 50, PARTS_MAX);
    split_fini (&s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (small_results_are_one_file),
        cmocka_unit_test (hosts_are_not_divided),
        cmocka_unit_test (ranks_of_hosts_may_alternate),
        cmocka_unit_test (a_large_host_is_divided_by_rank),
        cmocka_unit_test (captures_without_a_rank_have_a_host),
        cmocka_unit_test (there_are_not_too_many),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
