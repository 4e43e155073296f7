/* tests/unit/node_agent/extract/input/test_db_pages.c - rows off pages are
 * those of a query
 *
 * A value that differs would be a wrong figure; a table that is left to the
 * query without need would be read at half the speed, and nobody would notice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "node_agent/extract/event_db/event_check.h"

#include <cmocka.h>

#include "extract/input/db_pages.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAMES 3

static const char *const names[NAMES] = { "a", "b", "c" };

/* Numbers of every length that a record has, both signs. */
#define NUMBERS \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT " \
    "3000) INSERT INTO t(a, b, c) SELECT i, CASE i % 4 WHEN 0 THEN NULL WHEN " \
    "1 THEN 1 << i % 64 ELSE ~(1 << i % 64) END, i % 3 FROM n;"

static const bool have[NAMES] = { true, true, true };

struct seen {
    uint64_t rows;              // off the pages
    bool opened, ended;         // without the query
};

static void same_row (sqlite3_stmt *st, const struct db_row *row)
{
    for (int c = 0; c < NAMES; c++) {
        bool is_number = sqlite3_column_type (st, c) == SQLITE_INTEGER;

        assert_int_equal (row->value[c], sqlite3_column_int64 (st, c));
        assert_int_equal (row->integers >> c & 1, is_number);
        assert_int_equal (row->numbers >> c & 1, is_number);
    }
}

/* The same of a row of any values; column c is a text. */
static void same_values (sqlite3_stmt *st, const struct db_row *row)
{
    for (int c = 0; c < NAMES; c++) {
        int type = sqlite3_column_type (st, c);

        assert_int_equal (row->texts >> c & 1, type == SQLITE_TEXT);
        assert_int_equal ((row->integers | row->reals) >> c & 1,
                          type == SQLITE_INTEGER || type == SQLITE_FLOAT);
        if (row->reals >> c & 1)
            assert_true (row->real[c] == sqlite3_column_double (st, c));
        if (row->integers >> c & 1) {   // a column of reals has integers, too
            assert_true ((double)row->value[c] ==
                         sqlite3_column_double (st, c));
            assert_true ((double)row->value[c] == row->real[c]);
        }
        if (type == SQLITE_NULL && c != 2)
            assert_true (isnan (row->real[c]));
        if (type != SQLITE_TEXT)
            continue;
        assert_int_equal (row->size[c], sqlite3_column_bytes (st, c));
        assert_memory_equal (row->text[c], sqlite3_column_text (st, c),
                             row->size[c]);
    }
}

enum how { INTEGERS, ORDERED, VALUES };

/* Open the database in its directory, whose descriptor is returned. */
static int open_file (struct source *src, struct profiler_db **db)
{
    const char *name = strrchr (event_path (), '/') + 1;
    char dir[256];
    int fd;

    (void)snprintf (dir, sizeof (dir), "%.*s",
                    (int)(name - 1 - event_path ()), event_path ());
    fd = open (dir, O_RDONLY | O_DIRECTORY);
    assert_true (fd >= 0);
    assert_int_equal (profiler_db_open_file (src, fd, name, db, NULL),
                      READING_WHOLE);
    return fd;
}

/* Read t off its pages, beside 'query'. */
static struct seen read_pages (const char *query, enum how how)
{
    struct seen seen = { .rows = 0 };
    struct capture c = { .transient_error = 0 };
    struct source src = { .capture = &c };
    struct db_row row = { .integers = 0 };
    struct profiler_db *db = NULL;
    struct err err = { "" };
    struct db_pages *p;
    sqlite3_stmt *st;
    int fd = open_file (&src, &db), rc = 0;

    assert_int_equal (profiler_db_connect (db, &err), READING_WHOLE);
    assert_int_equal (sqlite3_prepare_v2 (db->sql, query, -1, &st, NULL),
                      SQLITE_OK);
    p = how == VALUES ? db_pages_plain (db, "t", names, NAMES, 1u << 2)
                      : db_pages_open (db, "t", names, have, NAMES,
                                       how == ORDERED);
    seen.opened = p != NULL;
    while (p && (rc = db_pages_next (p, &row)) == 1) {
        assert_int_equal (sqlite3_step (st), SQLITE_ROW);
        if (how == VALUES)
            same_values (st, &row);
        else
            same_row (st, &row);
        seen.rows++;
    }
    seen.ended = p && rc == 0;
    if (seen.ended)
        assert_int_equal (sqlite3_step (st), SQLITE_DONE);
    (void)sqlite3_finalize (st);
    db_pages_close (p);
    profiler_db_close (db);
    (void)close (fd);
    return seen;
}

/* Real numbers and texts of every length, on pages with few rows and many. */
#define VALUES_SQL \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT " \
    "3000) INSERT INTO t(a, b, c) SELECT CASE i % 3 WHEN 0 THEN NULL WHEN 1 " \
    "THEN i * 0.37 ELSE i << i % 50 END, i / 8.0, CASE i % 5 WHEN 0 THEN NULL " \
    "ELSE substr('hcom_allReduce__" \
    "0123456789012345678901234567890123456789', 1, i % 57) END FROM n;"

static void test_values (void **state)
{
    static const struct {
        const char *sql;
        bool opened, ended;
    } tables[] = {
        { "CREATE TABLE t (a NUMERIC, b NUMERIC, c TEXT)", true, true },
        { "CREATE TABLE t (C TEXT, x INTEGER, b REAL, A numeric)", true, true },
        { "CREATE TABLE u (y TEXT); CREATE TABLE t (a REAL, b REAL, c TEXT)",
          true, true },
        // a text is where a number should be
        { "CREATE TABLE t (a NUMERIC, b TEXT, c NUMERIC)", true, false },
        { "CREATE TABLE t (a, b NUMERIC, c TEXT)", false, false },
        { "CREATE TABLE t (a NUMERIC, b NUMERIC, c TEXT); CREATE INDEX i ON t "
          "(a)", false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]); i++) {
        struct seen seen;

        event_make (tables[i].sql);
        event_run (VALUES_SQL);
        seen = read_pages ("SELECT a, b, c FROM t", VALUES);
        if (seen.opened != tables[i].opened || seen.ended != tables[i].ended ||
            (seen.ended && seen.rows != 3000))
            fail_msg ("%s: %u rows off the pages", tables[i].sql,
                      (unsigned)seen.rows);
    }
}

/* What the file's header says, and only SQLite knows about. */
static void test_headers (void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } odd[] = {
        { 0, 's' }, { 16, 3 }, { 19, 3 }, { 20, 33 }, { 21, 65 }, { 22, 33 },
        { 23, 31 }, { 31, 255 }, { 47, 5 }, { 59, 2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (odd) / sizeof (odd[0]); i++) {
        struct db_pages *p;
        struct capture c = { .transient_error = 0 };
        struct source src = { .capture = &c };
        struct profiler_db *db = NULL;
        int fd;

        event_make ("CREATE TABLE t (a NUMERIC, b NUMERIC, c TEXT)");
        event_run (VALUES_SQL);
        fd = open (event_path (), O_WRONLY);
        assert_int_equal (pwrite (fd, &odd[i].value, 1, odd[i].at), 1);
        (void)close (fd);
        fd = open_file (&src, &db);
        p = db_pages_plain (db, "t", names, NAMES, 1u << 2);
        if (p)
            fail_msg ("byte %u of the header", odd[i].at);
        profiler_db_close (db);
        (void)close (fd);
    }
}

/* A table that is defined so is left to the query, or all of it is read. */
static void check_table (const char *sql, bool ordered, bool plain)
{
    struct seen seen;

    event_make (sql);
    event_run (NUMBERS);
    seen = read_pages ("SELECT a, b, c FROM t NOT INDEXED", ordered ? ORDERED : INTEGERS);
    if (seen.ended != plain || (plain && seen.rows != 3000))
        fail_msg ("%s: %u rows off the pages", sql, (unsigned)seen.rows);
}

static void test_plain (void **state)
{
    (void)state;
    check_table ("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)", false,
                 true);
    check_table ("CREATE TABLE t (c INT, x TEXT, b NUMERIC, a BIGINT, y)",
                 false, true);
    check_table ("CREATE TABLE t (b INTEGER, a INTEGER PRIMARY KEY, c INT)",
                 true, true);
    check_table ("CREATE TABLE t (A INTEGER, B INTEGER, C INTEGER);"
                 "CREATE INDEX i ON t (b, a, c)", false, true);
    check_table ("PRAGMA auto_vacuum=FULL; VACUUM; CREATE TABLE t (a INTEGER, "
                 "b INTEGER, c INTEGER)", false, true);
    check_table ("PRAGMA encoding='UTF-16'; CREATE TABLE t (a INTEGER, b "
                 "INTEGER, c INTEGER)", false, true);
}

/* What an engine does beside reading is left to it. */
static void test_not_plain (void **state)
{
    (void)state;
    check_table ("CREATE TABLE t (a INTEGER, b REAL, c INTEGER)", false,
                 false);
    check_table ("CREATE TABLE t (a INTEGER, b TEXT, c INTEGER)", false,
                 false);
    check_table ("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER) "
                 "WITHOUT ROWID", true, false);
    check_table ("CREATE TABLE t (a INTEGER PRIMARY KEY DESC, b INTEGER, c "
                 "INTEGER)", true, false);
    check_table ("CREATE TABLE t (a INT PRIMARY KEY, b INTEGER, c INTEGER)",
                 true, false);
    check_table ("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)", true,
                 false);
    check_table ("CREATE TABLE t (x AS (a + 1), a INTEGER, b INTEGER, c "
                 "INTEGER)", false, false);
}

/* A key that is no row's number is a column like others. */
static void test_keys (void **state)
{
    (void)state;
    check_table ("CREATE TABLE t (a INTEGER PRIMARY KEY DESC, b INTEGER, c "
                 "INTEGER)", false, true);
    check_table ("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER, PRIMARY KEY "
                 "(a, c))", false, true);
}

/* Up to the row before the one that is not plain, and no further. */
static void test_hands_over (void **state)
{
    static const struct {
        const char *sql;
        uint64_t rows;
    } odd[] = {
        { "UPDATE t SET b = 0.5 WHERE a = 700", 699 },
        { "UPDATE t SET c = 'text' WHERE a = 700", 699 },
        { "UPDATE t SET b = x'00' WHERE a = 1", 0 },
        { "UPDATE t SET x = zeroblob(2000) WHERE a = 700", 699 },
        // the rows that were there have no such value
        { "ALTER TABLE t RENAME COLUMN b TO y; ALTER TABLE t ADD COLUMN b "
          "INTEGER DEFAULT 8", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (odd) / sizeof (odd[0]); i++) {
        struct seen seen;

        event_make ("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER, x)");
        event_run (NUMBERS);
        event_run (odd[i].sql);
        seen = read_pages ("SELECT a, b, c FROM t", INTEGERS);
        if (!seen.opened || seen.ended || seen.rows != odd[i].rows)
            fail_msg ("%s: %u rows off the pages", odd[i].sql,
                      (unsigned)seen.rows);
    }
}

/* Pages that were emptied and used again, and a column that came later. */
static void test_old_tables (void **state)
{
    (void)state;
    event_make ("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)");
    event_run (NUMBERS NUMBERS);
    event_run ("DELETE FROM t WHERE a % 7 > 1 OR a BETWEEN 1000 AND 2000");
    event_run ("ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 8");
    event_run (NUMBERS);
    assert_true (read_pages ("SELECT a, b, c FROM t", INTEGERS).ended);
    event_run ("DELETE FROM t");
    assert_true (read_pages ("SELECT a, b, c FROM t", INTEGERS).ended);
}

/* Overwrite 2 bytes of a page. */
static void write16 (uint32_t page, unsigned at, uint32_t v)
{
    const uint8_t bytes[2] = { (uint8_t)(v >> 8), (uint8_t)v };
    int fd = open (event_path (), O_WRONLY);

    assert_true (fd >= 0);
    assert_int_equal (pwrite (fd, bytes, 2, (off_t)(page - 1) * 512 + at), 2);
    assert_int_equal (close (fd), 0);
}

static uint32_t root_of_t (void)
{
    sqlite3_stmt *st;
    sqlite3 *db;
    uint32_t root;

    assert_int_equal (sqlite3_open (event_path (), &db), SQLITE_OK);
    assert_int_equal (sqlite3_prepare_v2 (db, "SELECT rootpage FROM "
                                          "sqlite_schema WHERE name='t'", -1,
                                          &st, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    root = (uint32_t)sqlite3_column_int64 (st, 0);
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
    return root;
}

/* Put bytes before the place in the database where 'mark' is. */
static void write_before (const char *mark, const uint8_t *bytes, size_t n)
{
    static uint8_t all[1 << 20];
    int fd = open (event_path (), O_RDWR);
    ssize_t size;
    uint8_t *at;

    assert_true (fd >= 0);
    size = read (fd, all, sizeof (all));
    assert_true (size > 0 && (size_t)size < sizeof (all));
    at = memmem (all, (size_t)size, mark, strlen (mark));
    assert_non_null (at);
    assert_int_equal (pwrite (fd, bytes, n, at - all - 7), (ssize_t)n);
    assert_int_equal (close (fd), 0);
}

/* Three values that are together as long as all of memory: where they end is
 * again within the record, and what is read there is none of it.
 */
static void test_values_outside (void **state)
{
    static const uint8_t record[26] = {
        23,                     // bytes of the types: this, and
        255, 255, 255, 255, 255, 255, 255, 255, 255,    // 2^63 - 7 bytes
        255, 255, 255, 255, 255, 255, 255, 255, 255,    // the same
        40,                     // 14 more
        1, 1, 1, 7, 7, 7,       // three numbers of a byte
    };
    struct seen seen;

    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        event_make ("CREATE TABLE t (x, y, z, a INTEGER, b INTEGER, c INTEGER)"
                    "; INSERT INTO t VALUES ('mark-of-sixteen-', NULL, NULL, "
                    "5, 5, 5)");
        if (bad)
            write_before ("mark-of-sixteen-", record, sizeof (record));
        seen = read_pages ("SELECT a, b, c FROM t", INTEGERS);
        assert_true (seen.opened);
        assert_int_equal (seen.ended, !bad);
        assert_int_equal (seen.rows, !bad);
    }
}

/* Pages that are wrong end it: a circle, too, which has no end. */
static void test_damaged (void **state)
{
    static const struct {
        unsigned at;
        uint32_t value;
    } wrong[] = {
        { 0, 0x0a00 },          // an index
        { 3, 0 },               // no cells
        { 3, 0xffff },
        { 12, 4 },              // a cell within the places of cells
        { 12, 510 },            // and behind the page
        { 10, 0 },              // the last child: page 0, and itself
        { 10, 0xffff },
    };

    (void)state;
    for (size_t i = 0; i <= sizeof (wrong) / sizeof (wrong[0]); i++) {
        uint32_t root;

        event_make ("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)");
        event_run (NUMBERS);
        root = root_of_t ();
        if (i < sizeof (wrong) / sizeof (wrong[0]))
            write16 (root, wrong[i].at, wrong[i].value);
        else
            write16 (root, 10, root);
        if (read_pages ("SELECT a, b, c FROM t", INTEGERS).ended)
            fail_msg ("what is wrong (%u) was not seen", (unsigned)i);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_plain),
        cmocka_unit_test (test_values),
        cmocka_unit_test (test_headers),
        cmocka_unit_test (test_not_plain),
        cmocka_unit_test (test_keys),
        cmocka_unit_test (test_hands_over),
        cmocka_unit_test (test_old_tables),
        cmocka_unit_test (test_values_outside),
        cmocka_unit_test (test_damaged),
    };

    return cmocka_run_group_tests (tests, event_check_setup,
                                   event_check_teardown);
}
