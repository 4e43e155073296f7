/* tests/unit/common/sqlite_pages/test_page_source.c - which files are read, and
 * which are not
 */
#include "common/sqlite_pages/page_scan_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct pages p;

static int end (void **state)
{
    (void)state;
    pages_end (&p);
    return 0;
}

static int start (void **state)
{
    (void)state;
    pages_start (&p, PAGE, SCHEMA);
    return 0;
}

static void gives (int rc, const char *table, const char *what)
{
    scan_gives (p.sqlite, rc, table, what);
}

static void test_names (void **state)
{
    struct page_source *s;
    struct page_scan scan;
    struct err err = { "" };

    (void)state;
    pages_sql (p.sqlite, "CREATE VIEW view AS SELECT * FROM t;CREATE TABLE "
               "keyed (a PRIMARY KEY) WITHOUT ROWID");
    s = scan_open (p.sqlite);
    assert_int_equal (scan_root (s, "nobody"), 0);
    assert_int_equal (scan_root (s, "tt"), 0);
    assert_int_equal (scan_root (s, "view"), 0);
    assert_int_equal (scan_root (s, "t_key"), 0);
    assert_true (scan_root (s, "t") > 1);
    for (uint32_t root = 0; root < 100000; root += 99999) {
        assert_int_equal (page_scan_begin (&scan, s, root, 0, 9, &err),
                          -EBADMSG);
        page_scan_end (&scan);
    }
    page_source_close (s);
    gives (-EBADMSG, "keyed", "of no table");
}

/* Several tables at once, each in its place, if it is there. */
static void test_roots (void **state)
{
    static const char *const tables[] = { "u", "nobody", "t" };
    struct page_source *s;
    uint32_t roots[3];

    (void)state;
    pages_sql (p.sqlite, "PRAGMA user_version=70000");
    s = scan_open (p.sqlite);
    assert_int_equal (page_source_version (s), 70000);
    assert_int_equal (page_source_roots (s, tables, 3, roots, NULL), 0);
    assert_int_equal (roots[0], scan_root (s, "u"));
    assert_int_equal (roots[1], 0);
    assert_int_equal (roots[2], scan_root (s, "t"));
    page_source_close (s);
}

static int64_t rows_by (sqlite3 *db)
{
    struct page_source *s = NULL;
    struct err err = { "" };
    int64_t rows = 0;

    if (page_source_of (db, NULL, &s, &err) < 0 ||
        scan_table (s, scan_root (s, "u"), INT64_MIN, INT64_MAX, &rows,
                    &err) < 0)
        fail_msg ("%s", err.text);
    page_source_close (s);
    return rows;
}

static void test_forms (void **state)
{
    sqlite3 *db = NULL;

    (void)state;
    assert_int_equal (db_open (p.sqlite, SQLITE_OPEN_READWRITE, &db), 0);
    assert_int_equal (db_exec (db, "PRAGMA journal_mode=WAL;INSERT INTO u "
                                   "VALUES (1, 2)", NULL), 0);
    gives (-ENOTSUP, "u", "is writing to");
    assert_int_equal (db_exec (db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL), 0);
    gives (0, "u", "");
    assert_int_equal (rows_by (db), 1);
    (void)sqlite3_close (db);
    pages_end (&p);
    pages_start (&p, PAGE, "PRAGMA encoding='UTF-16le';" SCHEMA);
    gives (-ENOTSUP, "u", "only SQLite reads");
}

static void opens (int rc, const char *path)
{
    struct page_source *s = NULL;
    struct err err = { "" };

    assert_int_equal (page_source_open (path, &s, &err), rc);
    assert_true (*err.text);
}

static void test_no_database (void **state)
{
    char link[100];

    (void)state;
    opens (-EISDIR, p.dir);
    opens (-ENOENT, "/nonexistent/a.db");
    (void)snprintf (link, sizeof (link), "%s/link", p.dir);
    assert_int_equal (symlink (p.sqlite, link), 0);
    opens (-ELOOP, link);
    (void)unlink (link);
    scan_rows_of_u (p.sqlite, 600);
    for (off_t size = pages_number (p.sqlite, "PRAGMA page_count") * PAGE - 1;
         size >= 0; size -= size > 2 * PAGE ? 250 : 50) {
        struct err err = { "" };

        assert_int_equal (truncate (p.sqlite, size), 0);
        assert_int_equal (scan_file (p.sqlite, "u", &err), -EBADMSG);
        if (size < 100)
            assert_non_null (strstr (err.text, "is no database"));
    }
}

static void test_connection (void **state)
{
    struct page_source *s = NULL;
    struct err err = { "" };
    sqlite3 *db = NULL;

    (void)state;
    assert_int_equal (db_open (p.sqlite, SQLITE_OPEN_READWRITE, &db), 0);
    assert_int_equal (rows_by (db), 0);
    assert_true (sqlite3_get_autocommit (db));
    assert_int_equal (db_exec (db, "BEGIN;INSERT INTO u VALUES (1, 2), (2, 3)",
                               &err), 0);
    assert_int_equal (rows_by (db), 2);
    assert_false (sqlite3_get_autocommit (db));
    assert_int_equal (db_exec (db, "INSERT INTO u VALUES (3, 4);ROLLBACK",
                               &err), 0);
    assert_int_equal (rows_by (db), 2);
    (void)sqlite3_close (db);
    assert_int_equal (db_open (":memory:", SQLITE_OPEN_READWRITE, &db), 0);
    assert_int_equal (page_source_of (db, NULL, &s, &err), -ENOENT);
    (void)sqlite3_close (db);
}

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, start, end)
    const struct CMUnitTest tests[] = {
        TEST (test_names),
        TEST (test_roots), TEST (test_forms),
        TEST (test_no_database),
        TEST (test_connection),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
