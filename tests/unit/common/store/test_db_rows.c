/* tests/unit/common/store/test_db_rows.c - values into statements, rows out */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/row_sum.h"

#include <errno.h>
#include <string.h>

static sqlite3 *db;

static int start (void **state)
{
    int rc = db_open (":memory:", SQLITE_OPEN_READWRITE, &db);

    (void)state;
    return rc == SQLITE_OK ? row_sum_register (db) : rc;
}

static int end (void **state)
{
    (void)state;
    db_close_kept (db);
    return sqlite3_close (db);
}

#define THREE "VALUES (1), (2), (3)"

/* How many rows a loop as that in the header sees, which is left at 'stop'. */
static int loop (const char *sql, int stop, int *rows, struct err *err)
{
    struct db_rows r = db_rows (db, err, sql);
    int64_t value;

    *rows = 0;
    while (db_row (&r, value))
        r.rc = ++*rows == stop ? -EPROTO : 1;
    return db_end (&r);
}

static void test_loop (void **state)
{
    struct err err = { "" };
    int rows;

    (void)state;
    assert_int_equal (loop (THREE, 0, &rows, &err), 0);
    assert_int_equal (rows, 3);
    assert_int_equal (loop (THREE, 2, &rows, &err), -EPROTO);
    assert_int_equal (rows, 2);
    assert_int_equal (loop ("SELECT 1 WHERE 0", 0, &rows, &err), 0);
    assert_int_equal (rows, 0);
    assert_int_equal (loop ("SELECT 1 FROM nowhere", 0, &rows, &err), -EIO);
    assert_non_null (strstr (err.text, "no such table"));
}

/* A query that fails behind some rows has not come to its end. */
static void test_error (void **state)
{
    struct err err = { "" };
    int rows;

    (void)state;
    assert_int_equal (loop ("SELECT abs(column1) FROM (VALUES (1), "
                            "(-9223372036854775808))", 0, &rows, &err), -EIO);
    assert_int_equal (rows, 1);
    assert_non_null (strstr (err.text, "integer overflow"));
}

enum color { RED, GREEN };

static void test_types (void **state)
{
    const struct digest in = { { 1, 2, 250 } };
    const char *none = NULL, *at;
    size_t size = SIZE_MAX;
    enum color color;
    struct db_blob blob;
    struct digest out;
    char name[4], nothing[4] = "old";
    uint64_t huge;
    double real;
    bool yes;
    int64_t n;

    (void)state;
    assert_int_equal (db_do (db, NULL, "CREATE TABLE t (a, b, c, d, e, f, g, "
                             "h, i)"), 0);
    assert_int_equal (db_do (db, NULL, "INSERT INTO t VALUES (?1, ?2, ?3, ?4, "
                             "?5, ?6, ?7, ?8, ?9)", "Gauss", none, -5, size,
                             true, 0.5, &in, GREEN, db_blob ("\0x", 2)), 0);
    assert_int_equal (db_one (db_rows (db, NULL, "SELECT a, b, c, d, e, f, g, "
                                       "h, i FROM t WHERE a=?1", "Gauss"),
                              name, nothing, n, huge, yes, real, out, color,
                              blob), 1);
    assert_string_equal (name, "Gau");
    assert_string_equal (nothing, "");
    assert_int_equal (n, -5);
    assert_true (huge == SIZE_MAX && yes && real == 0.5);
    assert_memory_equal (&out, &in, sizeof (in));
    assert_int_equal (color, GREEN);
    assert_int_equal (blob.size, 2);
    assert_int_equal (db_one (db_rows (db, NULL, "SELECT b, a FROM t"), at,
                              out), 1);
    assert_null (at);
    assert_int_equal (out.bytes[0], 0);         // five bytes are no digest
    assert_int_equal (db_one (db_rows (db, NULL, "SELECT a FROM t WHERE c=1"),
                              at), 0);
}

static void test_kept (void **state)
{
    static const char sql[] = "SELECT ?1 UNION ALL SELECT ?2";
    struct db_rows outer = db_rows_kept (db, NULL, sql, 1, 2), inner;
    sqlite3_stmt *first = outer.st, *second;
    int n = 0;

    (void)state;
    assert_true (db_step (&outer));
    inner = db_rows_kept (db, NULL, sql, 3, 4);
    second = inner.st;
    assert_ptr_not_equal (second, first);       // that is in use
    assert_true (db_row (&inner, n));
    assert_int_equal (n, 3);
    assert_int_equal (db_end (&inner), 0);
    assert_true (db_row (&outer, n));
    assert_int_equal (n, 2);
    assert_int_equal (db_end (&outer), 0);
    outer = db_rows_kept (db, NULL, sql);
    assert_true (outer.st == first || outer.st == second);
    assert_true (db_step (&outer));
    assert_int_equal (sqlite3_column_type (outer.st, 0), SQLITE_NULL);
    assert_int_equal (db_end (&outer), 0);
    assert_int_equal (db_number (db_rows (db, NULL, "SELECT 7"), 0), 7);
    assert_int_equal (db_number (db_rows (db, NULL, "SELECT x"), 5), 5);
}

/* In C and in SQL alike; another type or a shifted border is another row. */
static void test_sum (void **state)
{
    int64_t sum = row_sum ("ab", "c", 1);

    (void)state;
    assert_true (db_number (db_rows (db, NULL, "SELECT row_sum('ab', 'c', 1)"),
                            0) == sum);
    assert_true (row_sum ("a", "bc", 1) != sum);
    assert_true (row_sum ("ab", "c", "1") != sum);
    assert_true (row_sum ("ab", "c", 2) != sum);
    assert_true (row_sum ("ab", "c") != sum);
    assert_true (db_number (db_rows (db, NULL, "SELECT row_sum(zeroblob("
                                     "70000000)) IS NULL"), 0) == 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_loop, start, end),
        cmocka_unit_test_setup_teardown (test_error, start, end),
        cmocka_unit_test_setup_teardown (test_types, start, end),
        cmocka_unit_test_setup_teardown (test_kept, start, end),
        cmocka_unit_test_setup_teardown (test_sum, start, end),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
