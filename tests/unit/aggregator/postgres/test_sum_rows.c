/* tests/unit/aggregator/postgres/test_sum_rows.c - as GROUP BY sums */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "postgres/sum_rows.h"

#include <string.h>

static void sum (const char *values, struct sum_rows *s)
{
    char sql[400];
    sqlite3_stmt *st;
    sqlite3 *db;

    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    (void)snprintf (sql, sizeof (sql), "SELECT * FROM (VALUES %s)", values);
    assert_int_equal (sqlite3_prepare_v2 (db, sql, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step (st) == SQLITE_ROW)
        assert_int_equal (sum_rows_add (s, st, "itff"), 0);
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
}

/* The second sum of a row, from its fields; -1: NULL. */
static double last_of (const struct sum_rows *s, size_t row)
{
    struct copy_rows out = { .rows = 0 };
    uint64_t bits = 0;
    double v = -1;

    buf_init (&out.buf, 1000);
    sum_rows_put (s, row, &out);
    if (out.buf.data[out.buf.size - 12] == 0) {
        for (size_t i = 8; i > 0; i--)
            bits = bits << 8 | out.buf.data[out.buf.size - i];
        memcpy (&v, &bits, sizeof (v));
    }
    buf_fini (&out.buf);
    return v;
}

static void test_sums (void **state)
{
    struct sum_rows s;

    (void)state;
    sum_rows_init (&s, 2, 2);
    sum ("(1, 'a', 1, 0.5), (1, 'b', 1, 2), (1, 'a', 1, 0.25),"
         " (NULL, 'a', 1, 4), (1, NULL, 1, 8), (NULL, 'a', 1, 16)", &s);
    // NULLs are equal, and differ from all else
    assert_int_equal (sum_rows_count (&s), 4);
    assert_true (last_of (&s, 0) == 0.75);
    assert_true (last_of (&s, 1) == 2);
    assert_true (last_of (&s, 2) == 20);
    assert_true (last_of (&s, 3) == 8);
    sum_rows_fini (&s);
}

/* A sum of NULLs is NULL; others do not count them. */
static void test_nulls (void **state)
{
    struct sum_rows s;

    (void)state;
    sum_rows_init (&s, 2, 2);
    sum ("(1, 'a', 1, NULL), (2, 'a', 1, NULL), (2, 'a', 1, 3)", &s);
    assert_int_equal (sum_rows_count (&s), 2);
    assert_true (last_of (&s, 0) == -1);
    assert_true (last_of (&s, 1) == 3);
    sum_rows_fini (&s);
}

/* More keys than there was room for. */
static void test_many (void **state)
{
    struct sum_rows s;
    sqlite3_stmt *st;
    sqlite3 *db;

    (void)state;
    sum_rows_init (&s, 2, 2);
    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (sqlite3_prepare_v2 (db, "WITH RECURSIVE n (i) AS (SELECT "
                                          "0 UNION ALL SELECT i+1 FROM n WHERE "
                                          "i<9999) SELECT i%5000, 'a', 1, i "
                                          "FROM n", -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step (st) == SQLITE_ROW)
        assert_int_equal (sum_rows_add (&s, st, "itff"), 0);
    assert_int_equal (sum_rows_count (&s), 5000);
    for (size_t i = 0; i < 5000; i++)
        assert_true (last_of (&s, i) == (double)(2 * i + 5000));
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
    sum_rows_fini (&s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_sums), cmocka_unit_test (test_nulls),
        cmocka_unit_test (test_many),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
