/* tests/unit/aggregator/sums/test_group_sums.c - sums of groups, and rows of
 * ranks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sums/group_sums.h"
#include "sums/rank_rows.h"
#include "store/db.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int setup (void **state)
{
    sqlite3 *db;

    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "CREATE TABLE rows (a TEXT, b TEXT, x, y,"
                                   " rank INTEGER);"
                                   "CREATE TABLE sums (one, a, b, n, x, y)",
                               NULL), 0);
    *state = db;
    return 0;
}

static int teardown (void **state)
{
    (void)sqlite3_close (*state);
    return 0;
}

static void assert_text (sqlite3 *db, const char *sql, const char *expected)
{
    sqlite3_stmt *st = NULL;

    assert_int_equal (db_prepare (db, sql, &st, NULL), 0);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    assert_string_equal ((const char *)sqlite3_column_text (st, 0), expected);
    (void)sqlite3_finalize (st);
}

static struct group_text text_at (sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text (st, column);

    return (struct group_text){
        text, text ? (size_t)sqlite3_column_bytes (st, column) : 0 };
}

static double real_at (sqlite3_stmt *st, int column)
{
    return sqlite3_column_type (st, column) == SQLITE_NULL
               ? NAN : sqlite3_column_double (st, column);
}

static void run (sqlite3 *db, struct group_sums *g, int64_t one)
{
    sqlite3_stmt *rows = NULL, *insert = NULL;

    assert_int_equal (db_prepare (db, "SELECT a, b, x, y FROM rows", &rows,
                                  NULL), 0);
    while (sqlite3_step (rows) == SQLITE_ROW)
        assert_int_equal (group_sums_add (
            g, (struct group_text[]){ text_at (rows, 0), text_at (rows, 1) },
            (double[]){ real_at (rows, 2), real_at (rows, 3) }, NULL), 0);
    group_sums_sort (g);
    assert_int_equal (db_prepare (db, "INSERT INTO sums VALUES (?1, ?2, ?3, ?4,"
                                      " ?5, ?6)", &insert, NULL), 0);
    (void)sqlite3_bind_int64 (insert, 1, one);
    assert_int_equal (group_sums_write (g, insert, NULL), 0);
    (void)sqlite3_finalize (rows);
    (void)sqlite3_finalize (insert);
}

#define SUMS "SELECT group_concat(quote(one)||' '||quote(a)||' '||quote(b)||" \
             "' '||n||' '||quote(x)||' '||quote(y), ', ') FROM (SELECT * FROM" \
             " sums ORDER BY rowid)"

/* In the order and with the NULLs of GROUP BY: a text that is empty, or the
 * same in another column, is not the same as one that is not there.
 */
static void test_groups (void **state)
{
    struct group_sums g = { .nkeys = 2, .nvalues = 2 };
    sqlite3 *db = *state;

    assert_int_equal (db_exec (db, "INSERT INTO rows (a, b, x, y) VALUES"
                                   " ('b', 'a', 1, 2), ('b', NULL, 1, NULL),"
                                   " (NULL, 'b', 4, 1), ('b', 'a', 0.5, NULL),"
                                   " ('b', '', NULL, NULL), ('a', 'b', 7, 7)",
                               NULL), 0);
    run (db, &g, 1);
    assert_text (db, SUMS, "1 NULL 'b' 1 4.0 1.0, 1 'a' 'b' 1 7.0 7.0,"
                           " 1 'b' NULL 1 1.0 NULL, 1 'b' '' 1 NULL NULL,"
                           " 1 'b' 'a' 2 1.5 2.0");
    group_sums_fini (&g);
}

/* Nothing is left of what was summed before, and many groups find room. */
static void test_again (void **state)
{
    struct group_sums g = { .nkeys = 2, .nvalues = 2 };
    sqlite3 *db = *state;

    assert_int_equal (db_exec (db, "WITH RECURSIVE i(n) AS (VALUES (0) UNION"
                                   " ALL SELECT n+1 FROM i WHERE n<999)"
                                   " INSERT INTO rows SELECT 'x', n/2, 1, 2, 0"
                                   " FROM i", NULL), 0);
    run (db, &g, 1);
    run (db, &g, 2);
    assert_text (db, "SELECT group_concat(k) FROM (SELECT one||':'||count(*)||"
                     "':'||min(n)||':'||max(x)||':'||sum(y) AS k FROM sums"
                     " GROUP BY one)", "1:500:2:2.0:2000.0,2:500:2:2.0:2000.0");
    group_sums_fini (&g);
}

static int note (void *arg, const struct rank_rows *rows, struct err *err)
{
    char *text = arg;

    (void)err;
    (void)snprintf (text + strlen (text), 64, "%lld:%lld-%lld ",
                    (long long)rows->rank, (long long)rows->first,
                    (long long)rows->last);
    return rows->rank == 7 ? -EINTR : 0;
}

/* Ranks in order, whatever order their rows have, with an index or without. */
static void test_ranks (void **state)
{
    sqlite3 *db = *state;

    for (int i = 0; i < 2; i++) {
        char text[256] = "";

        assert_int_equal (rank_rows_each (db, "rows", note, text, NULL), 0);
        assert_string_equal (text, "");
        assert_int_equal (db_exec (db, "INSERT INTO rows (rank) VALUES (5),"
                                       " (5), (NULL), (0), (3), (0), (-1)",
                                   NULL), 0);
        assert_int_equal (rank_rows_each (db, "main.rows", note, text, NULL),
                          0);
        assert_string_equal (text, "0:4-6 3:5-5 5:1-2 ");
        assert_int_equal (db_exec (db, "DELETE FROM rows; CREATE INDEX IF NOT"
                                       " EXISTS r ON rows(rank)", NULL), 0);
    }
}

/* What fails for a rank ends it. */
static void test_failure (void **state)
{
    char text[256] = "";
    sqlite3 *db = *state;

    assert_int_equal (db_exec (db, "INSERT INTO rows (rank) VALUES (9), (7)",
                               NULL), 0);
    assert_int_equal (rank_rows_each (db, "rows", note, text, NULL), -EINTR);
    assert_string_equal (text, "7:2-2 ");
}

#define TEST(fn) cmocka_unit_test_setup_teardown (fn, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_groups),
        TEST (test_again),
        TEST (test_ranks),
        TEST (test_failure),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
