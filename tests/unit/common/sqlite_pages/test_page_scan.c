/* tests/unit/common/sqlite_pages/test_page_scan.c - rows as sqlite3_step gives them */
#include "common/sqlite_pages/page_scan_check.h"

#include "base/thread.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define FALLBACK INT64_C (-77)

static struct pages p;
static uint32_t serials;        // bits: types that were seen, 12 and 13 for all

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

/* Start again. */
static void fresh (unsigned page_size, const char *schema)
{
    pages_end (&p);
    pages_start (&p, page_size, schema);
}

static void sql (const char *text)
{
    pages_sql (p.sqlite, text);
}

/* ---- compared with SQLite ---- */

static void same_text (const struct page_scan *scan, unsigned i,
                       sqlite3_stmt *st, int column)
{
    size_t n = 1;
    const char *text = page_scan_text (scan, i, &n);

    assert_int_equal (n, sqlite3_column_bytes (st, column));
    assert_non_null (text);
    assert_memory_equal (text, sqlite3_column_text (st, column), n);
}

static void same_real (const struct page_scan *scan, unsigned i, double v)
{
    double own = page_scan_real (scan, i);
    int64_t number = page_scan_int (scan, i, FALLBACK);

    assert_true (own >= v && own <= v);
    if (scan->serial[i] == 7)
        assert_true (number == FALLBACK);
    else                        // a column of reals has whole ones as integers
        assert_true ((double)number >= v && (double)number <= v);
}

static void same_value (const struct page_scan *scan, unsigned i,
                        sqlite3_stmt *st, int column)
{
    int type = i < PAGE_SCAN_COLUMNS ? sqlite3_column_type (st, column)
                                     : SQLITE_NULL;
    int64_t v = sqlite3_column_int64 (st, column);
    size_t n = 1;

    if (i < scan->ncolumns)
        serials |= 1u << (scan->serial[i] < 12 ? scan->serial[i]
                                               : 12 + scan->serial[i] % 2);
    if (type != SQLITE_TEXT) {
        assert_null (page_scan_text (scan, i, &n));
        assert_int_equal (n, 0);
    }
    if (type == SQLITE_FLOAT) {
        same_real (scan, i, sqlite3_column_double (st, column));
        return;
    }
    assert_true (page_scan_int (scan, i, FALLBACK) ==
                 (type == SQLITE_INTEGER ? v : FALLBACK));
    if (type == SQLITE_INTEGER)
        assert_true (page_scan_real (scan, i) - (double)v == 0);
    else
        assert_true (isnan (page_scan_real (scan, i)));
    if (type == SQLITE_TEXT)
        same_text (scan, i, st, column);
    if (type == SQLITE_BLOB) {
        assert_true (scan->serial[i] >= 12 && scan->serial[i] % 2 == 0);
        n = (scan->serial[i] - 12) / 2;
        assert_int_equal (n, sqlite3_column_bytes (st, column));
        if (n > 0)
            assert_memory_equal (scan->value[i],
                                 sqlite3_column_blob (st, column), n);
    }
}

/* Both give the same rows; how many. */
static size_t same_rows (const char *table, int64_t first, int64_t last)
{
    struct page_source *s = scan_open (p.sqlite);
    struct page_scan scan;
    struct err err = { "" };
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    char text[200];
    size_t n = 0;
    int rc, is_u = strcmp (table, "u") == 0;

    (void)snprintf (text, sizeof (text), "SELECT rowid, * FROM %s WHERE rowid "
                    "BETWEEN %lld AND %lld ORDER BY rowid", table,
                    (long long)first, (long long)last);
    assert_int_equal (db_open (p.sqlite, SQLITE_OPEN_READONLY, &db), 0);
    assert_int_equal (db_prepare (db, text, &st, NULL), 0);
    rc = page_scan_begin (&scan, s, scan_root (s, table), first, last, &err);
    while (rc == 0 && (rc = page_scan_next (&scan, &err)) == 1) {
        assert_int_equal (sqlite3_step (st), SQLITE_ROW);
        assert_true (scan.rowid == sqlite3_column_int64 (st, 0));
        for (int i = 1 + is_u; i < sqlite3_column_count (st); i++)
            same_value (&scan, (unsigned)i - 1, st, i);
        if (is_u)                       // its first column is the rowid
            assert_true (page_scan_int (&scan, 0, FALLBACK) == FALLBACK);
        n++;
        rc = 0;
    }
    if (rc < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (sqlite3_step (st), SQLITE_DONE);
    assert_int_equal (page_scan_next (&scan, &err), 0);
    page_scan_end (&scan);
    page_source_close (s);
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
    return n;
}

static size_t all_same (const char *table)
{
    return same_rows (table, INT64_MIN, INT64_MAX);
}

/* Rows of all kinds, also those that overflow; negative rowids, and gaps. */
static void test_page_sizes (void **state)
{
    (void)state;
    for (unsigned size = 512; size <= 65536; size *= 2) {
        fresh (size, SCHEMA);
        pages_row (&p, INT64_MIN, 10);
        for (int64_t k = -200; k < 200; k++)
            pages_row (&p, 1000 * k + pages_random (&p, 1000),
                       k % 40 == 0 ? 3 * size : k % 7 == 0 ? size : 40);
        pages_row (&p, INT64_MAX, 10);
        pages_insert (&p);
        assert_int_equal (all_same ("t"), 402);
        assert_int_equal (all_same ("none"), 0);
        assert_true (all_same ("sqlite_schema") > 3);
        assert_true (same_rows ("t", -90000, 90000) > 170);
    }
}

static void test_serial_types (void **state)
{
    (void)state;
    fresh (1024, "CREATE TABLE v (x)");
    sql ("INSERT INTO v VALUES (NULL), (0), (1), (2), (-1), (127), (-128), "
         "(128), (-129), (32767), (-32768), (32768), (-32769), (8388607), "
         "(-8388608), (8388608), (-8388609), (2147483647), (-2147483648), "
         "(2147483648), (-2147483649), (140737488355327), (-140737488355328),"
         "(140737488355328), (-140737488355329), (9223372036854775807), "
         "(-9223372036854775807 - 1), (0.0), (1.5), (-1e300), (9e999), "
         "(-9e999), (''), ('a'), (CAST (x'00ff0a00' AS TEXT)), (x''), (x'00'), "
         "(zeroblob (5000)), (CAST (zeroblob (3000) AS TEXT)), ('12')");
    serials = 0;
    assert_int_equal (all_same ("v"), 40);
    assert_int_equal (serials, 0x33ff);
}

/* ---- shapes of tables ---- */

static int64_t interior_pages (void)
{
    return pages_number (p.sqlite, "SELECT count (*) FROM dbstat WHERE name='u'"
                                   " AND pagetype='internal'");
}

/* The first and the last row wanted, on and beside each row. */
static void ranges (int64_t n, int64_t step)
{
    for (int64_t first = -1; first <= 10 * n + 20; first += step) {
        static const int64_t wide[] = { -1, 0, 9, 10, 1500, 100000 };

        for (size_t i = 0; i < sizeof (wide) / sizeof (wide[0]); i++)
            (void)same_rows ("u", first, first + wide[i]);
    }
    assert_int_equal (same_rows ("u", INT64_MIN, 9), 0);
    assert_int_equal (same_rows ("u", 10 * n + 1, INT64_MAX), 0);
    assert_int_equal (same_rows ("u", INT64_MAX, INT64_MAX), 0);
    assert_int_equal (same_rows ("u", INT64_MAX, INT64_MIN), 0);
    assert_int_equal (all_same ("u"), n);
}

static void test_levels (void **state)
{
    (void)state;
    ranges (0, 7);
    scan_rows_of_u (p.sqlite, 1);
    ranges (1, 1);
    scan_rows_of_u (p.sqlite, 20);
    assert_int_equal (interior_pages (), 0);
    ranges (20, 1);
    scan_rows_of_u (p.sqlite, 200);
    assert_int_equal (interior_pages (), 1);
    ranges (200, 5);
    scan_rows_of_u (p.sqlite, 5000);
    assert_true (interior_pages () > 3);
    ranges (5000, 995);
    // each key of an interior page, which is the last row below it
    for (int64_t row = 10; row <= 50000; row += 10) {
        if (row % 1000 < 250)
            assert_int_equal (same_rows ("u", row, row), 1);
    }
    // such a key may be of a row that is no more
    sql ("DELETE FROM u WHERE id%70=0");
    for (int64_t row = 70; row < 50000; row += 490)
        assert_int_equal (same_rows ("u", row, row + 10), 1);
}

static void test_columns (void **state)
{
    char text[2000] = "CREATE TABLE wide (c0";
    size_t n = strlen (text);

    (void)state;
    scan_rows_of_u (p.sqlite, 50);
    sql ("ALTER TABLE u ADD COLUMN y;ALTER TABLE u ADD COLUMN z TEXT;"
         "INSERT INTO u VALUES (5, 1, 2, 'z')");
    assert_int_equal (all_same ("u"), 51);
    for (int i = 1; i < 40; i++)
        n += (size_t)snprintf (text + n, sizeof (text) - n, ",c%d", i);
    n += (size_t)snprintf (text + n, sizeof (text) - n,
                           ");INSERT INTO wide VALUES ('c0'");
    for (int i = 1; i < 40; i++)
        n += (size_t)snprintf (text + n, sizeof (text) - n, ",%d", i * i);
    (void)snprintf (text + n, sizeof (text) - n,
                    ");INSERT INTO wide(c39) VALUES ('x')");
    sql (text);
    assert_int_equal (all_same ("wide"), 2);
}

/* ---- several ---- */

struct half {
    const struct page_source *source;
    int64_t rows, sum;
};

static int scan_half (void *state, size_t piece, struct err *err)
{
    struct half *h = state;
    struct page_scan scan;
    uint32_t root = scan_root (h->source, "u");
    int rc = page_scan_begin (&scan, h->source, root, piece ? 25001 : INT64_MIN,
                              piece ? INT64_MAX : 25000, err);

    while (rc == 0 && (rc = page_scan_next (&scan, err)) == 1) {
        h->rows++;
        h->sum += scan.rowid;
        rc = 0;
    }
    page_scan_end (&scan);
    return rc;
}

static void test_threads (void **state)
{
    const struct thread_pieces pieces = { 2, scan_half, NULL };
    struct page_source *s;
    struct err err = { "" };

    (void)state;
    scan_rows_of_u (p.sqlite, 5000);
    s = scan_open (p.sqlite);
    for (int round = 0; round < 20; round++) {
        struct half halves[2] = { { .source = s }, { .source = s } };
        void *states[2] = { &halves[0], &halves[1] };

        if (thread_each (&pieces, states, 2, &err) < 0)
            fail_msg ("%s", err.text);
        assert_int_equal (halves[0].rows + halves[1].rows, 5000);
        assert_int_equal (halves[0].sum + halves[1].sum, 125025000);
    }
    page_source_close (s);
}

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, start, end)
    const struct CMUnitTest tests[] = {
        TEST (test_page_sizes),
        TEST (test_serial_types),
        TEST (test_levels),
        TEST (test_columns),
        TEST (test_threads),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
