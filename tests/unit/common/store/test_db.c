/* tests/unit/common/store/test_db.c - rows of a query, one after the other */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/db.h"

#include <errno.h>
#include <string.h>

static sqlite3 *db;

static int start (void **state)
{
    (void)state;
    return db_open (":memory:", SQLITE_OPEN_READWRITE, &db);
}

static int end (void **state)
{
    (void)state;
    return sqlite3_close (db);
}

#define THREE "VALUES (1), (2), (3)"

/* How many rows a loop as that in the header sees, which is left at 'stop'. */
static int loop (const char *sql, int stop, int *rows, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, sql, &st, err);

    *rows = 0;
    while (rc == 0 && (rc = db_next (st, "cannot read", err)) > 0)
        rc = ++*rows == stop ? -EPROTO : 0;
    (void)sqlite3_finalize (st);
    return rc;
}

static void test_rows (void **state)
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
    assert_non_null (strstr (err.text, "cannot read: "));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_rows, start, end),
        cmocka_unit_test_setup_teardown (test_error, start, end),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
