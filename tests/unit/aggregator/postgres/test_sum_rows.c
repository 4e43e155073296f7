/* tests/unit/aggregator/postgres/test_sum_rows.c - as GROUP BY sums */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "postgres/sum_rows.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const unsigned char all[] = { 0, 2, 3, 4 };
static const struct sum_columns of_t = { all, "it", "ff", 2, 2 };

static char path[200];

static sqlite3 *make (const char *rows)
{
    const char *tmp = getenv ("TMPDIR");
    struct err err;
    sqlite3 *db;

    (void)snprintf (path, sizeof (path), "%.150s/sum_rows_%d.db",
                    tmp ? tmp : "/tmp", (int)getpid ());
    (void)unlink (path);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    if (db_exec (db, "CREATE TABLE t (a INTEGER, other TEXT, b TEXT, c NUMERIC,"
                     " d NUMERIC)", &err) < 0 || db_exec (db, rows, &err) < 0)
        fail_msg ("%s", err.text);
    return db;
}

static void sum_of (const char *rows, struct sum_columns of, struct sum_rows *s)
{
    sqlite3 *db = make (rows);
    struct page_source *pages;
    uint32_t root;

    assert_int_equal (page_source_of (db, NULL, &pages, NULL), 0);
    assert_int_equal (page_source_root (pages, "t", &root, NULL), 0);
    assert_int_equal (sum_rows_read (s, pages, root, of, NULL), 0);
    page_source_close (pages);
    (void)sqlite3_close (db);
    (void)unlink (path);
}

static void sum (const char *rows, struct sum_rows *s)
{
    sum_of (rows, of_t, s);
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
    sum ("INSERT INTO t VALUES (1, 'x', 'a', 1, 0.5), (1, 'y', 'b', 1, 2),"
         " (1, '', 'a', 1, 0.25), (NULL, '', 'a', 1, 4), (1, '', NULL, 1, 8),"
         " (NULL, '', 'a', 1, 16)", &s);
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
    sum ("INSERT INTO t VALUES (1, '', 'a', 1, NULL), (2, '', 'a', 1, NULL),"
         " (2, '', 'a', 1, 3)", &s);
    assert_int_equal (sum_rows_count (&s), 2);
    assert_true (last_of (&s, 0) == -1);
    assert_true (last_of (&s, 1) == 3);
    sum_rows_fini (&s);
}

/* Behind the row of another query; sums of integers are integers. */
static void test_behind (void **state)
{
    static const unsigned char at[] = { 0, 4, 3 };
    static const struct sum_columns behind = { at, "i", "fi", 1, 2 };
    struct copy_rows out = { .rows = 0 };
    struct sum_rows s;

    (void)state;
    sum_of ("INSERT INTO t VALUES (7, '', '', 3, 1), (7, '', '', 4, 1)", behind,
            &s);
    buf_init (&out.buf, 1000);
    sum_rows_put_of (&s, 7, &out);
    assert_int_equal (out.buf.size, 24);
    assert_memory_equal (out.buf.data + 12, "\0\0\0\10\0\0\0\0\0\0\0\7", 12);
    buf_clear (&out.buf);
    sum_rows_put_of (&s, 8, &out);
    assert_int_equal (out.buf.size, 8);
    assert_memory_equal (out.buf.data, "\377\377\377\377\377\377\377\377", 8);
    buf_fini (&out.buf);
    sum_rows_fini (&s);
}

/* More keys than there was room for, on more than one page. */
static void test_many (void **state)
{
    struct sum_rows s;

    (void)state;
    sum ("INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i+1"
         " FROM n WHERE i<9999) SELECT i%5000, 'x', 'a', 1, i FROM n", &s);
    assert_int_equal (sum_rows_count (&s), 5000);
    for (size_t i = 0; i < 5000; i++)
        assert_true (last_of (&s, i) == (double)(2 * i + 5000));
    sum_rows_fini (&s);
}

/* A key as it was: texts that differ, integers of all sizes. */
static void test_keys (void **state)
{
    static const char row[] =
        "\0\0\0\10" "\377\377\377\377\377\377\377\376" "\0\0\0\2" "ab"
        "\0\0\0\10" "\77\360\0\0\0\0\0\0" "\0\0\0\10" "\0\0\0\0\0\0\0\0";
    struct copy_rows out = { .rows = 0 };
    struct sum_rows s;

    (void)state;
    sum ("INSERT INTO t VALUES (0, '', 'a', 1, 0), (0, '', '', 1, 0), (0, '', 'ab',"
         " 1, 0), (-2, '', 'ab', 1, 0), (0, '', 'a', 1, 0), (0, '', x'6162', 1, 0)",
         &s);
    assert_int_equal (sum_rows_count (&s), 5);
    buf_init (&out.buf, 1000);
    sum_rows_put (&s, 3, &out);
    assert_int_equal (out.buf.size, sizeof (row) - 1);
    assert_memory_equal (out.buf.data, row, sizeof (row) - 1);
    buf_fini (&out.buf);
    sum_rows_fini (&s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_sums), cmocka_unit_test (test_nulls),
        cmocka_unit_test (test_behind),
        cmocka_unit_test (test_many), cmocka_unit_test (test_keys),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
