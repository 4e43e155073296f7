/* tests/unit/common/model/test_rank_list.c - lists of ranks that repeat
 *
 * A list that was wrongly taken for another one would put ranks into groups
 * that they are not in; one that is parsed again costs time only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "json/scan.h"
#include "model/capture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Ranks from 'first' on, as the profiler writes them. */
static void put_ranks (struct buf *b, int first, int n, const char *blank)
{
    for (int i = 0; i < n; i++)
        buf_printf (b, "%s%d", i ? blank : "", first + i);
}

static const char *ranks (struct buf *b, int first, int n)
{
    buf_clear (b);
    buf_put (b, "[", 1);
    put_ranks (b, first, n, ", ");
    buf_put (b, "]", 1);
    return buf_text (b);
}

/* Read 'text', behind which an end follows, as the list of a group. */
static struct rank_list *read_text (const char *text, const char *group,
                                    const char **bad)
{
    struct scan_bytes bytes = { text, strlen (text) };
    struct rank_list *l = NULL;
    struct scan s;

    assert_int_equal (scan_init (&s, scan_read_bytes, &bytes), 0);
    assert_int_equal (scan_peek (&s), '[');
    assert_int_equal (rank_list_read (&s, group, true, &l, bad), 0);
    assert_true (scan_end (&s));
    assert_int_equal (s.depth, 0);
    scan_fini (&s);
    assert_non_null (l);
    return l;
}

static struct rank_list *read_good (const char *text, const char *group)
{
    const char *bad;
    struct rank_list *l = read_text (text, group, &bad);

    assert_null (bad);
    return l;
}

static void check (const struct rank_list *l, int first, uint32_t n)
{
    assert_int_equal (l->n, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal (l->ranks[i], first + (int)i);
}

/* The same text is the same list: in the buffer, and longer than that. */
static void test_same (void **state)
{
    static const int sizes[] = { 64, 1000, 60000, CAPTURE_WORLD_DEFAULT };
    struct buf b;

    (void)state;
    buf_init (&b, 4u << 20);
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++) {
        const char *text = ranks (&b, 0, sizes[i]);
        struct rank_list *one = read_good (text, "world");
        struct rank_list *two = read_good (text, "world");

        check (one, 0, (uint32_t)sizes[i]);
        assert_ptr_equal (one, two);
        rank_list_drop (one);
        check (two, 0, (uint32_t)sizes[i]);
        rank_list_drop (two);
    }
    buf_fini (&b);
}

/* Wherever the buffer ends within a rank, the list is kept. */
static void test_places (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 4u << 20);
    for (int blanks = 0; blanks < 24; blanks++) {
        struct rank_list *one, *two;

        buf_clear (&b);
        buf_printf (&b, "%*s", blanks, "");
        buf_put (&b, "[", 1);
        put_ranks (&b, 0, 100000, ",");
        buf_put (&b, "]", 1);
        one = read_good (buf_text (&b), "world");
        two = read_good (buf_text (&b), "world");
        assert_ptr_equal (one, two);
        check (one, 0, 100000);
        rank_list_drop (one);
        rank_list_drop (two);
        one = read_good ("[7]", "world");       // shorter: it is not kept
        rank_list_drop (one);
        one = read_good (ranks (&b, 7, 64), "world");   // in place of it
        rank_list_drop (one);
    }
    buf_fini (&b);
}

/* Read a list of n ranks, and then the same with a change of one rank. */
static void check_differs (int n, int at, const char *instead)
{
    struct rank_list *one, *two;
    const char *bad;
    struct buf b;

    buf_init (&b, 4u << 20);
    one = read_good (ranks (&b, 0, n), "world");
    buf_clear (&b);
    buf_put (&b, "[", 1);
    put_ranks (&b, 0, at, ", ");
    buf_printf (&b, "%s%s", at ? ", " : "", instead);
    for (int i = at + 1; i < n; i++)
        buf_printf (&b, ", %d", i);
    buf_put (&b, "]", 1);
    two = read_text (buf_text (&b), "world", &bad);
    assert_ptr_not_equal (one, two);
    check (one, 0, (uint32_t)n);
    if (*instead == 'n') {
        assert_non_null (bad);
    } else {
        assert_null (bad);
        assert_int_equal (two->n, n);
        for (int i = 0; i < n; i++)
            assert_int_equal (two->ranks[i], i == at ? 777 : i);
    }
    rank_list_drop (one);
    rank_list_drop (two);
    buf_fini (&b);
}

/* A list that differs at any place is another one. */
static void test_differs (void **state)
{
    static const char *const instead[] = { "777", "\"777\"", "  777",
                                           "null" };

    (void)state;
    for (size_t k = 0; k < sizeof (instead) / sizeof (instead[0]); k++) {
        for (int at = 0; at < 70; at++)
            check_differs (70, at, instead[k]);
        // about where the buffer ends, which is in the midst of rank 39036
        for (int at = 39022; at < 39040; at++)
            check_differs (39060, at, instead[k]);
        check_differs (100000, 99999, instead[k]);
    }
}

/* A list that ends before, or goes on behind, the one that is known. */
static void test_lengths (void **state)
{
    static const int sizes[] = { 70, 69, 71, 700, 100000, 43690, 99999 };
    struct buf b;

    (void)state;
    buf_init (&b, 4u << 20);
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++) {
        struct rank_list *l = read_good (ranks (&b, 0, sizes[i]), "world");

        check (l, 0, (uint32_t)sizes[i]);
        rank_list_drop (l);
    }
    buf_fini (&b);
}

/* Groups are told apart by their ids, whatever place these have. */
static void test_groups (void **state)
{
    char group[32];
    struct buf b;

    (void)state;
    buf_init (&b, 1u << 20);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            struct rank_list *l;

            (void)snprintf (group, sizeof (group), "group_name_%d", i);
            l = read_good (ranks (&b, i * 100, 100), group);
            check (l, i * 100, 100);
            rank_list_drop (l);
        }
    }
    buf_fini (&b);
}

/* Texts of digits, and lists that are written in another way, are read, but
 * are not what is kept.
 */
static void test_not_plain (void **state)
{
    struct rank_list *l;
    struct buf b;

    (void)state;
    buf_init (&b, 1u << 20);
    for (int round = 0; round < 2; round++) {
        buf_clear (&b);
        buf_put (&b, "[\"1000\"", 7);
        for (int i = 1; i < 100; i++)
            buf_printf (&b, ",%s\"%d\"", i == 50 ? "                         "
                        "                                   " : "", 1000 + i);
        buf_put (&b, "]", 1);
        l = read_good (buf_text (&b), "texts");
        check (l, 1000, 100);
        rank_list_drop (l);
    }
    buf_fini (&b);
}

/* What fails within a known list fails at the same place. */
static void test_cut (void **state)
{
    struct rank_list *l;
    const char *bad;
    struct buf b;

    (void)state;
    buf_init (&b, 4u << 20);
    l = read_good (ranks (&b, 0, 100000), "world");
    rank_list_drop (l);
    for (size_t cut = 1; cut < 600000; cut = cut < 300 ? cut + 1 : cut * 2) {
        struct scan_bytes bytes = { buf_text (&b), cut };
        struct scan s;

        assert_int_equal (scan_init (&s, scan_read_bytes, &bytes), 0);
        assert_int_equal (rank_list_read (&s, "world", true, &l, &bad),
                          -EBADMSG);
        assert_true (s.failed);
        assert_int_equal (scan_offset (&s), cut);
        assert_null (l);
        scan_fini (&s);
    }
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_same),      cmocka_unit_test (test_places),
        cmocka_unit_test (test_differs),
        cmocka_unit_test (test_lengths),   cmocka_unit_test (test_groups),
        cmocka_unit_test (test_not_plain), cmocka_unit_test (test_cut),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
