/* tests/unit/aggregator/builder/test_groups.c - the groups of a whole job */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/groups.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

static char collective[] = "5862276093215481612";       // of group_name_0

/* A capture of 'rank', whose metadata has group_name_0 of n ranks, if any. */
static void add_of (struct groups *g, int64_t rank, const int32_t *ranks,
                    uint32_t n, const char *used)
{
    struct part_group u = { .name = (char *)used, .collective = true };
    struct group_list list = { NULL, 0 };
    struct err err = { "" };
    struct capture c;

    capture_init (&c);
    if (n > 0) {
        int32_t *members = calloc (n, sizeof (*members));

        assert_non_null (members);
        memcpy (members, ranks, n * sizeof (*members));
        assert_int_equal (capture_add_group (&c, "group_name_0", "tp",
                                             members, n, &err), 0);
    }
    assert_int_equal (groups_add (g, &c, rank, &u, used ? 1 : 0, &list, &err),
                      0);
    assert_int_equal (c.ngroups, 0);
    assert_int_equal (list.n, n > 0);
    if (n > 0)                  // what its lists say is judged by afterwards
        assert_memory_equal (list.list[0]->members, ranks,
                             n * sizeof (*ranks));
    free (list.list);
    capture_fini (&c);
}

/* With metadata it knows group_name_0 of ranks a, b. */
static void add (struct groups *g, int64_t rank, bool metadata, int32_t a,
                 int32_t b, const char *used)
{
    add_of (g, rank, (int32_t[]){ a, b }, metadata ? 2 : 0, used);
}

/* One text of what is written, by a query. */
static void check_query (struct groups *g, const char *query, const char *want)
{
    struct err err = { "" };
    sqlite3_stmt *st = NULL;
    sqlite3 *db = NULL;

    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "CREATE TABLE CommGroup (id INTEGER PRIMARY"
        " KEY, group_name TEXT, group_id TEXT, pg_name TEXT, type TEXT,"
        " size INTEGER); CREATE TABLE CommGroupMember (comm_group INTEGER,"
        " group_rank INTEGER, rank INTEGER)", &err), 0);
    assert_int_equal (groups_write (g, db, &err), 0);
    assert_int_equal (db_prepare (db, query, &st, &err), 0);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    assert_string_equal ((const char *)sqlite3_column_text (st, 0), want);
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
    groups_destroy (g);
}

/* What is written, one line a member: "id group_id type rank". */
static void check (struct groups *g, const char *want)
{
    check_query (g, "SELECT group_concat(id || ' ' || ifnull(group_id, '-') ||"
        " ' ' || ifnull(type, '-') || ' ' || rank, ';') FROM CommGroup JOIN"
        " CommGroupMember ON comm_group=id", want);
}

static void test_once (void **state)
{
    struct groups *g = groups_create ();

    (void)state;
    add (g, 0, true, 0, 1, collective);
    add (g, 1, true, 0, 1, NULL);
    check (g, "1 group_name_0 collective 0;1 group_name_0 collective 1");
}

/* Every stage of a pipeline calls its group "group_name_0". */
static void test_same_name (void **state)
{
    struct groups *g = groups_create ();

    (void)state;
    add (g, 2, true, 2, 3, collective);
    add (g, 0, true, 0, 1, NULL);
    check (g, "1 group_name_0 - 0;1 group_name_0 - 1;"
              "2 group_name_0 collective 2;2 group_name_0 collective 3");
}

/* As many ranks, of which the first, the middle and the last are the same. */
static void test_one_rank_differs (void **state)
{
    static const int32_t a[] = { 0, 1, 4, 5, 6 }, b[] = { 0, 2, 4, 5, 6 };
    struct groups *g = groups_create ();

    (void)state;
    add_of (g, 1, a, 5, collective);
    add_of (g, 2, b, 5, NULL);
    check (g, "1 group_name_0 collective 0;1 group_name_0 collective 1;"
              "1 group_name_0 collective 4;1 group_name_0 collective 5;"
              "1 group_name_0 collective 6;2 group_name_0 - 0;"
              "2 group_name_0 - 2;2 group_name_0 - 4;2 group_name_0 - 5;"
              "2 group_name_0 - 6");
}

/* Rank 1's metadata is lost, but rank 0's names it: one group, or every row of
 * rank 1 would belong to two.  Rank 7 is in no list and keeps its own.
 */
static void test_seen (void **state)
{
    struct groups *g = groups_create ();

    (void)state;
    add (g, 1, false, 0, 0, collective);
    add (g, 7, false, 0, 0, collective);
    add (g, 0, true, 0, 1, NULL);
    check (g, "1 group_name_0 collective 0;1 group_name_0 collective 1;"
              "2 - collective 7");
}

/* Two groups of the name take their ranks; what was seen comes in any order. */
static void test_seen_in_two (void **state)
{
    static const int64_t seen[] = { 7, 3, 1, 7, 5 };
    struct groups *g = groups_create ();

    (void)state;
    for (size_t i = 0; i < sizeof (seen) / sizeof (seen[0]); i++)
        add (g, seen[i], false, 0, 0, collective);
    add (g, 2, true, 2, 3, NULL);
    add (g, 0, true, 0, 1, NULL);
    check (g, "1 group_name_0 collective 0;1 group_name_0 collective 1;"
              "2 group_name_0 collective 2;2 group_name_0 collective 3;"
              "3 - collective 5;3 - collective 7");
}

/* The ranks of a group call it by these names, in this order. */
static void check_names (const char *const *names, size_t n, const char *want)
{
    struct groups *g = groups_create ();
    struct group_list lists[4];
    struct err err = { "" };

    for (size_t i = 0; i < n; i++) {
        int32_t *members = calloc (2, sizeof (*members));
        struct capture c;

        assert_non_null (members);
        members[1] = 1;
        capture_init (&c);
        assert_int_equal (capture_add_group (&c, "group_name_0", names[i],
                                             members, 2, &err), 0);
        assert_int_equal (groups_add (g, &c, (int64_t)i % 2, NULL, 0, &lists[i],
                                      &err), 0);
        capture_fini (&c);
    }
    for (size_t i = 0; i < n; i++) {            // all lists say the same
        assert_string_equal (lists[i].list[0]->pg_name, want);
        free (lists[i].list);
    }
    check_query (g, "SELECT group_concat(pg_name, ';') FROM CommGroup", want);
}

static void test_names (void **state)
{
    (void)state;
    check_names ((const char *[]){ "dp", "tp" }, 2, "dp");
    check_names ((const char *[]){ "tp", "dp" }, 2, "dp");
    check_names ((const char *[]){ "", "tp" }, 2, "tp");
    check_names ((const char *[]){ "tp", "" }, 2, "tp");
    check_names ((const char *[]){ "", "tp", "", "dp" }, 4, "dp");
    check_names ((const char *[]){ "", "" }, 2, "");
}

static void test_only_seen (void **state)
{
    struct groups *g = groups_create ();

    (void)state;
    add (g, 5, false, 0, 0, "42");
    add (g, 3, false, 0, 0, "42");
    add (g, 5, false, 0, 0, "42");
    check (g, "1 - collective 3;1 - collective 5");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_once),
        cmocka_unit_test (test_same_name),
        cmocka_unit_test (test_one_rank_differs),
        cmocka_unit_test (test_seen),
        cmocka_unit_test (test_seen_in_two),
        cmocka_unit_test (test_names),
        cmocka_unit_test (test_only_seen),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
