/* tests/unit/aggregator/html_page/test_page_fold.c - many ranks in few places */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "html_page/page_fold.h"
#include "store/db.h"

/* A roster of 'n' ranks, every second one from 0, 'per_host' on each host (0:
 * nobody knows; that of rank 40 nobody does either), and as many steps; folded
 * into *ret.
 */
static sqlite3 *fold (int n, int per_host, int steps, struct page_fold *ret)
{
    sqlite3 *db = NULL;
    struct err err = { "" };

    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (db_execf (db, &err,
        "CREATE TABLE Roster (rank INTEGER PRIMARY KEY, host TEXT);"
        "CREATE TABLE StepTraceTime (step TEXT);"
        "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM c LIMIT %d)"
        " INSERT INTO Roster SELECT i*2, CASE WHEN %d AND i<>20 THEN"
        " 'host'||(i/max(%d, 1)) END FROM c WHERE %d;"
        "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM c LIMIT %d)"
        " INSERT INTO StepTraceTime SELECT i FROM c WHERE %d",
        n, per_host, per_host, n, steps, steps), 0);
    assert_int_equal (page_fold_make (db, ret, &err), 0);
    return db;
}

static void is (sqlite3 *db, const char *sql, int64_t want)
{
    assert_int_equal (db_int (db, sql, -1), want);
}

static void test_few (void **state)
{
    struct page_fold f;
    sqlite3 *db = fold (64, 8, 12, &f);

    (void)state;
    assert_int_equal (f.rank_places, 64);
    assert_int_equal (f.step_places, 12);
    assert_int_equal (f.ends, 64);
    assert_false (f.by_host);
    is (db, "SELECT place FROM page_rank WHERE rank=126", 63);
    is (db, "SELECT an_end FROM page_rank WHERE rank=126", 63);
    // steps are numbers: 10 does not come before 2
    is (db, "SELECT place FROM page_step WHERE step='10'", 10);
    (void)sqlite3_close (db);
}

static void test_hosts (void **state)
{
    struct page_fold f;
    sqlite3 *db = fold (65, 8, 1, &f);

    (void)state;
    assert_true (f.by_host);
    assert_int_equal (f.ends, 9);
    is (db, "SELECT count(*) FROM page_rank WHERE an_end=0", 8);
    is (db, "SELECT an_end FROM page_rank WHERE rank=128", 8);
    // where the host is not known it is taken for that of the rank before
    is (db, "SELECT an_end FROM page_rank WHERE rank=40", 2);
    (void)sqlite3_close (db);
    // more hosts than ends: neighbours share one, as evenly as it goes
    db = fold (1024, 8, 2, &f);
    assert_int_equal (f.ends, PAGE_ENDS_MAX);
    is (db, "SELECT max(n)*1000+min(n) FROM (SELECT count(*) AS n FROM"
            " page_rank GROUP BY an_end)", 16016);
    (void)sqlite3_close (db);
}

/* Without hosts an end is a range of ranks. */
static void test_no_hosts (void **state)
{
    struct page_fold f;
    sqlite3 *db = fold (130, 0, 1, &f);

    (void)state;
    assert_false (f.by_host);
    assert_int_equal (f.ends, PAGE_ENDS_MAX);
    is (db, "SELECT count(DISTINCT an_end) FROM page_rank", PAGE_ENDS_MAX);
    is (db, "SELECT count(*) FROM page_rank WHERE an_end IS NULL", 0);
    (void)sqlite3_close (db);
}

static void test_many (void **state)
{
    struct page_fold f;
    sqlite3 *db = fold (5000, 8, 3000, &f);

    (void)state;
    assert_int_equal (f.rank_places, PAGE_RANKS_MAX);
    assert_true (f.rank_places * f.step_places <= PAGE_CELLS_MAX);
    is (db, "SELECT count(DISTINCT place) FROM page_rank", PAGE_RANKS_MAX);
    is (db, "SELECT max(place) FROM page_rank", PAGE_RANKS_MAX - 1);
    is (db, "SELECT max(place) FROM page_step", f.step_places - 1);
    // in order: no rank is before a smaller one
    is (db, "SELECT count(*) FROM page_rank a JOIN page_rank b ON"
            " b.rank=a.rank+2 WHERE b.place<a.place", 0);
    (void)sqlite3_close (db);
}

static void test_nothing (void **state)
{
    struct page_fold f;
    sqlite3 *db = fold (0, 0, 0, &f);

    (void)state;
    assert_int_equal (f.rank_places, 0);
    assert_int_equal (f.step_places, 0);
    assert_int_equal (f.ends, 0);
    (void)sqlite3_close (db);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_few),
        cmocka_unit_test (test_hosts),
        cmocka_unit_test (test_no_hosts),
        cmocka_unit_test (test_many),
        cmocka_unit_test (test_nothing),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
