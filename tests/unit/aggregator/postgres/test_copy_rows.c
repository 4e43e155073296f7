/* tests/unit/aggregator/postgres/test_copy_rows.c - rows as COPY takes them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "postgres/copy_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {                 // what the connection got
    uint8_t bytes[1 << 20];
    size_t size, puts, fail_at; // the put that fails; 0: none
    int ends;
    uint64_t rows;
} got;

int __wrap_pg_copy_put (struct pg *p, const void *data, size_t size,
                        struct err *err);
int __wrap_pg_copy_end (struct pg *p, uint64_t rows, struct err *err);

int __wrap_pg_copy_put (struct pg *p, const void *data, size_t size,
                        struct err *err)
{
    (void)p;
    if (++got.puts == got.fail_at)
        return err_set (err, ENOSPC, "its disk is full");
    assert_true (got.size + size <= sizeof (got.bytes));
    memcpy (got.bytes + got.size, data, size);
    got.size += size;
    return 0;
}

int __wrap_pg_copy_end (struct pg *p, uint64_t rows, struct err *err)
{
    (void)p;
    (void)err;
    got.ends++;
    got.rows = rows;
    return 0;
}

static int set_up (void **state)
{
    (void)state;
    memset (&got, 0, sizeof (got));
    return 0;
}

static void start (struct copy_rows *c)
{
    copy_rows_begin (c, NULL);
}

#define HEAD "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0"
#define TAIL "\377\377"

static void is_sent (const char *rows, size_t size)
{
    assert_int_equal (got.size, 19 + size + 2);
    assert_memory_equal (got.bytes, HEAD, 19);
    assert_memory_equal (got.bytes + 19, rows, size);
    assert_memory_equal (got.bytes + 19 + size, TAIL, 2);
}

/* Each kind of field, in network order; NULL has the length -1. */
static void test_fields (void **state)
{
    static const char row[] =
        "\0\11" "\0\0\0\10" "\0\0\0\0\0\0\1\2"
        "\0\0\0\10" "\377\374\242\376\304\310\40\1"    // before 2000
        "\0\0\0\10" "\377\374\242\376\304\310\37\377"
        "\0\0\0\10" "\300\10\0\0\0\0\0\0"
        "\377\377\377\377"
        "\0\0\0\2" "ab"
        "\0\0\0\5" "a\357\277\275c"
        "\0\0\0\3" "\357\277\275"
        "\377\377\377\377";
    struct copy_rows c;

    (void)state;
    start (&c);
    copy_rows_new (&c, 9);
    copy_rows_int (&c, 258);
    copy_rows_time (&c, 1000);
    copy_rows_time (&c, -1);            // of the year before 1970
    copy_rows_real (&c, -3.0);
    copy_rows_null (&c);
    copy_rows_text (&c, "ab\0c", 4);    // PostgreSQL has no NULs in texts
    copy_rows_text (&c, "a\377c", 3);   // nor bytes that are not UTF-8
    copy_rows_text (&c, "\303\244", 1); // what is behind it is no part of it
    copy_rows_real (&c, NAN);
    assert_int_equal (copy_rows_end (&c, 0, NULL), 0);
    is_sent (row, sizeof (row) - 1);
    assert_int_equal (got.ends, 1);
    assert_int_equal (got.rows, 1);
}

/* Columns have the types of the table, whatever SQLite stored. */
static void test_columns (void **state)
{
    static const char row[] =
        "\0\4" "\0\0\0\10" "\0\0\0\0\0\0\0\7"
        "\0\0\0\10" "\100\34\0\0\0\0\0\0"
        "\0\0\0\1" "7" "\377\377\377\377";
    struct copy_rows c;
    sqlite3_stmt *st;
    sqlite3 *db;

    (void)state;
    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (sqlite3_prepare_v2 (db, "SELECT 7, 7, 7, NULL", -1, &st,
                                          NULL), SQLITE_OK);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    start (&c);
    copy_rows_new (&c, 4);
    copy_rows_columns (&c, st, "ifti", 4);
    assert_int_equal (copy_rows_end (&c, 0, NULL), 0);
    is_sent (row, sizeof (row) - 1);
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
}

/* Many rows go out before the end; nothing is lost or changes its place. */
static void test_many (void **state)
{
    struct copy_rows c;
    uint8_t last[8];

    (void)state;
    start (&c);
    for (int64_t i = 0; i < 30000; i++) {
        copy_rows_new (&c, 1);
        copy_rows_int (&c, i);
        assert_int_equal (copy_rows_flush (&c, NULL), 0);
    }
    assert_int_equal (c.rows, 30000);
    assert_int_equal (copy_rows_end (&c, 0, NULL), 0);
    assert_int_equal (got.size, 19 + 30000 * 14 + 2);
    assert_true (got.puts > 3);
    for (int64_t i = 0; i < 30000; i++) {
        memcpy (last, got.bytes + 19 + i * 14 + 6, 8);
        assert_int_equal (last[6] << 8 | last[7], i);
    }
}

/* A failure is told, and nothing ends what it began. */
static void test_failure (void **state)
{
    struct err err = { "" };
    struct copy_rows c;
    int rc = 0;

    (void)state;
    got.fail_at = 1;
    start (&c);
    while (rc == 0) {
        copy_rows_new (&c, 1);
        copy_rows_int (&c, 1);
        rc = copy_rows_flush (&c, &err);
    }
    assert_int_equal (rc, -ENOSPC);
    assert_string_equal (err.text, "its disk is full");
    assert_int_equal (copy_rows_end (&c, rc, &err), -ENOSPC);
    assert_int_equal (got.puts, 1);
    assert_int_equal (got.ends, 0);
}

/* Whoever reads rows fails: the COPY is not ended, so nothing is committed. */
static void test_no_rows (void **state)
{
    struct copy_rows c;

    (void)state;
    start (&c);
    copy_rows_new (&c, 1);
    assert_int_equal (copy_rows_end (&c, -EIO, NULL), -EIO);
    assert_int_equal (got.size, 0);
    assert_int_equal (got.ends, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup (test_fields, set_up),
        cmocka_unit_test_setup (test_columns, set_up),
        cmocka_unit_test_setup (test_many, set_up),
        cmocka_unit_test_setup (test_failure, set_up),
        cmocka_unit_test_setup (test_no_rows, set_up),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
