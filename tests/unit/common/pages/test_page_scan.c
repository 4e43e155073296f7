/* tests/unit/common/pages/test_page_scan.c - rows as sqlite3_step gives them */
#include "common/pages/pages_check.h"

#include "base/thread.h"
#include "pages/page_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE 512
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

static struct page_source *open_source (void)
{
    struct page_source *s = NULL;
    struct err err = { "" };

    if (page_source_open (p.sqlite, &s, &err) < 0)
        fail_msg ("%s", err.text);
    return s;
}

static uint32_t root_of (const struct page_source *s, const char *table)
{
    struct err err = { "" };
    uint32_t root = 0;

    if (strcmp (table, "sqlite_schema") == 0)
        return 1;
    if (page_source_root (s, table, &root, &err) < 0)
        fail_msg ("%s", err.text);
    return root;
}

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
    struct page_source *s = open_source ();
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
    rc = page_scan_begin (&scan, s, root_of (s, table), first, last, &err);
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

/* Rows 10, 20, ... */
static void rows_of_u (unsigned n)
{
    char text[200];

    (void)snprintf (text, sizeof (text), "DELETE FROM u;WITH RECURSIVE k(i) AS "
                    "(SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<%u) "
                    "INSERT INTO u SELECT 10*i, i/2.0 FROM k", n);
    sql (text);
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
    rows_of_u (1);
    ranges (1, 1);
    rows_of_u (20);
    assert_int_equal (interior_pages (), 0);
    ranges (20, 1);
    rows_of_u (200);
    assert_int_equal (interior_pages (), 1);
    ranges (200, 5);
    rows_of_u (5000);
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
    rows_of_u (50);
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

/* ---- files that are not read ---- */

/* Scan whatever is there, and look at all of it: rows, or what is wrong. */
static int scan_table (const struct page_source *s, uint32_t root,
                       int64_t first, int64_t last, int64_t *rows,
                       struct err *err)
{
    struct page_scan scan;
    int rc = page_scan_begin (&scan, s, root, first, last, err);
    int64_t before = first;

    while (rc == 0 && (rc = page_scan_next (&scan, err)) == 1) {
        assert_true (scan.rowid >= first && scan.rowid <= last);
        assert_true (before == first || scan.rowid > before);
        before = scan.rowid;
        for (unsigned i = 0; i < scan.ncolumns; i++) {
            uint32_t n = serial_bytes (scan.serial[i]);
            const uint8_t *v = scan.value[i];

            assert_true ((v >= scan.leaf && v + n <= scan.leaf + PAGE) ||
                         (v >= scan.spilled &&
                          v + n <= scan.spilled + scan.spilled_room - PAGE));
            (void)page_scan_int (&scan, i, 0);
            (void)page_scan_real (&scan, i);
        }
        ++*rows;
        rc = 0;
    }
    page_scan_end (&scan);
    return rc;
}

/* The same by name, whole and in part; -EBADMSG and -ENOTSUP have a sentence. */
static int scan_file (const char *table, struct err *err)
{
    struct page_source *s = NULL;
    uint32_t root = 0;
    int64_t rows = 0;
    int rc = page_source_open (p.sqlite, &s, err), part;

    if (rc == 0)
        rc = page_source_root (s, table, &root, err);
    if (rc == 0 && root > 0) {
        rc = scan_table (s, root, INT64_MIN, INT64_MAX, &rows, err);
        part = scan_table (s, root, 500, 700, &rows, err);
        rc = rc < 0 ? rc : part;
    }
    page_source_close (s);
    if (rc < 0) {
        assert_true (rc == -EBADMSG || rc == -ENOTSUP);
        assert_true (*err->text);
    }
    return rc;
}

static void gives (int rc, const char *table, const char *what)
{
    struct err err = { "" };

    assert_int_equal (scan_file (table, &err), rc);
    if (!strstr (err.text, what))
        fail_msg ("\"%s\" is not \"%s\"", err.text, what);
}

static void test_names (void **state)
{
    struct page_source *s;
    struct page_scan scan;
    struct err err = { "" };

    (void)state;
    sql ("CREATE VIEW view AS SELECT * FROM t;CREATE TABLE keyed (a PRIMARY "
         "KEY) WITHOUT ROWID");
    s = open_source ();
    assert_int_equal (root_of (s, "nobody"), 0);
    assert_int_equal (root_of (s, "tt"), 0);
    assert_int_equal (root_of (s, "view"), 0);
    assert_int_equal (root_of (s, "t_key"), 0);
    assert_true (root_of (s, "t") > 1);
    for (uint32_t root = 0; root < 100000; root += 99999) {
        assert_int_equal (page_scan_begin (&scan, s, root, 0, 9, &err),
                          -EBADMSG);
        page_scan_end (&scan);
    }
    page_source_close (s);
    gives (-EBADMSG, "keyed", "of no table");
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
    assert_int_equal (all_same ("u"), 1);
    (void)sqlite3_close (db);
    fresh (PAGE, "PRAGMA encoding='UTF-16le';" SCHEMA);
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
    rows_of_u (600);
    for (off_t size = pages_number (p.sqlite, "PRAGMA page_count") * PAGE - 1;
         size >= 0; size -= size > 2 * PAGE ? 250 : 50) {
        struct err err = { "" };

        assert_int_equal (truncate (p.sqlite, size), 0);
        assert_int_equal (scan_file ("u", &err), -EBADMSG);
        if (size < 100)
            assert_non_null (strstr (err.text, "is no database"));
    }
}

/* ---- damage ---- */

static int fd;

static void put (const void *bytes, size_t n, uint32_t number, uint32_t at)
{
    assert_int_equal (pwrite (fd, bytes, n, (off_t)(number - 1) * PAGE + at),
                      (ssize_t)n);
}

/* Each byte of the page from 'at' on is changed in turn. */
static unsigned damage (uint32_t number, uint32_t at, uint32_t stop)
{
    static const uint8_t flips[] = { 0x01, 0x02, 0x04, 0x08, 0x20, 0x80, 0xff };
    uint8_t page[PAGE];
    unsigned found = 0;

    assert_int_equal (pread (fd, page, PAGE, (off_t)(number - 1) * PAGE), PAGE);
    for (; at < stop; at++) {
        for (size_t i = 0; i < sizeof (flips); i++) {
            uint8_t byte = page[at] ^ flips[i];
            struct err err = { "" };

            put (&byte, 1, number, at);
            found += scan_file ("t", &err) < 0;
        }
        put (page + at, 1, number, at);
    }
    return found;
}

static void start_damage (void)
{
    for (int k = 0; k < 300; k++)
        pages_text_row (&p, 3 * k, k % 50 == 25 ? 1500 : 30);
    pages_insert (&p);
    fd = open (p.sqlite, O_RDWR | O_CLOEXEC);
    assert_true (fd >= 0);
    gives (0, "t", "");
}

/* Pages of t, with a list's next one each time; 0 behind the last. */
static uint32_t next_page (char **list, const char *kind)
{
    char text[200], *s;
    uint32_t page;

    if (!*list) {
        (void)snprintf (text, sizeof (text), "SELECT pageno FROM dbstat WHERE "
                        "name='t' AND pagetype='%s'", kind);
        *list = pages_ask (p.sqlite, text);
    }
    s = *list;
    page = (uint32_t)strtoul (s, &s, 10);
    if (page == 0) {
        free (*list);
        *list = NULL;
    } else {
        memmove (*list, s, strlen (s) + 1);
    }
    return page;
}

static void test_damage (void **state)
{
    char *list = NULL;
    unsigned n = 0;
    uint32_t page;

    (void)state;
    start_damage ();
    assert_true (damage (1, 0, PAGE) > 100);
    while ((page = next_page (&list, "internal")))
        assert_true (damage (page, 0, PAGE) > 10);
    while ((page = next_page (&list, "leaf"))) {
        if (n++ % 12 == 0)
            assert_true (damage (page, 0, PAGE) > 10);
        else if (n % 4 == 0)
            assert_true (damage (page, 0, 30) > 10);
    }
    while ((page = next_page (&list, "overflow")))
        (void)damage (page, 0, 6);
    gives (0, "t", "");
    (void)close (fd);
}

/* A page of a table: cells of four bytes and a key, or rows of two columns. */
struct made {
    uint8_t page[PAGE];
    unsigned ncells, at;
};

static struct made made_page (enum page_type type)
{
    struct made m = { .at = PAGE };

    m.page[0] = (uint8_t)type;
    return m;
}

static void made_cell (struct made *m, const void *cell, unsigned size)
{
    unsigned header = m->page[0] == TABLE_LEAF ? LEAF_HEADER : INTERIOR_HEADER;

    m->at -= size;
    memcpy (m->page + m->at, cell, size);
    put2 (m->page + header + 2 * m->ncells++, m->at);
    put2 (m->page + AT_CELLS, m->ncells);
    put2 (m->page + AT_CONTENT, m->at);
}

#define CELL(m, ...) do {                                                      \
        const uint8_t cell[] = { __VA_ARGS__ };                                \
        made_cell (m, cell, sizeof (cell));                                    \
    } while (0)

static void made_table (const struct made *m, int rc, const char *what)
{
    put (m->page, PAGE, (uint32_t)pages_number (
             p.own, "SELECT rootpage FROM sqlite_schema WHERE name='t'"), 0);
    gives (rc, "t", what);
}

static void test_sentences (void **state)
{
    struct made m = made_page (TABLE_LEAF);
    uint8_t none = (uint8_t)pages_number (
        p.own, "SELECT rootpage FROM sqlite_schema WHERE name='none'");
    uint32_t pages = (uint32_t)pages_number (p.own, "PRAGMA page_count");

    (void)state;
    fd = open (p.sqlite, O_RDWR | O_CLOEXEC);
    assert_true (fd >= 0);
    CELL (&m, 3, 7, 2, 1, 99);
    CELL (&m, 3, 8, 2, 1, 99);
    made_table (&m, 0, "");
    CELL (&m, 3, 8, 2, 1, 99);
    made_table (&m, -EBADMSG, "rows are out of order");
    m = made_page (TABLE_LEAF);
    CELL (&m, 3, 7, 2, 2, 99);          // a column of two bytes has one
    made_table (&m, -EBADMSG, "a row is too short");
    m = made_page (TABLE_LEAF);
    CELL (&m, 4, 7, 2, 1, 99);          // a row behind the page's end
    made_table (&m, -EBADMSG, "a row lies outside");
    m = made_page (TABLE_LEAF);
    CELL (&m, 3, 7, 4, 1, 99);
    made_table (&m, -EBADMSG, "a row's header");
    m = made_page (TABLE_LEAF);
    CELL (&m, 0x81, 0x81);
    made_table (&m, -EBADMSG, "a cell lies outside");
    m = made_page (TABLE_INTERIOR);
    put4 (m.page + AT_RIGHT, pages + 1);
    made_table (&m, -EBADMSG, "no such child");
    // many children, all of them one page
    m = made_page (TABLE_INTERIOR);
    put4 (m.page + AT_RIGHT, none);
    for (uint8_t k = 0; k < 70; k++)
        CELL (&m, 0, 0, 0, none, k);
    made_table (&m, -EBADMSG, "its tree is a circle");
    // its own child, as long as the file has enough pages
    assert_int_equal (ftruncate (fd, 100 * PAGE), 0);
    m = made_page (TABLE_INTERIOR);
    put4 (m.page + AT_RIGHT, (uint32_t)pages_number (
              p.own, "SELECT rootpage FROM sqlite_schema WHERE name='t'"));
    made_table (&m, -EBADMSG, "its tree is too deep");
    (void)close (fd);
}

/* Two rows of so many bytes, whose rest is one page that is its own next one. */
static void overflowing (uint64_t bytes, const char *what)
{
    struct made m = made_page (TABLE_LEAF);
    uint32_t local = payload_local (PAGE, 1, bytes);
    const uint8_t itself[4] = { 0, 0, 0, 40 };

    put (itself, 4, 40, 0);
    assert_true (local < 200);
    for (uint8_t k = 1; k <= 2; k++) {
        uint8_t cell[220] = { 0 };
        uint32_t n = varint_put (cell, bytes);

        cell[n] = k;
        cell[n + 1] = 1;                // a record of no columns
        cell[n + 1 + local + 3] = 40;
        made_cell (&m, cell, n + 1 + local + 4);
    }
    made_table (&m, -EBADMSG, what);
}

static uint64_t short_of (uint64_t bytes)
{
    while (payload_local (PAGE, 1, bytes) >= 200)
        bytes--;
    return bytes;
}

/* No more pages are read than there are. */
static void test_overflow (void **state)
{
    (void)state;
    fd = open (p.sqlite, O_RDWR | O_CLOEXEC);
    assert_true (fd >= 0);
    assert_int_equal (ftruncate (fd, 40 * PAGE), 0);
    overflowing (short_of (15000), "a row lacks its end");
    overflowing (short_of (41 * PAGE), "a row is larger than the file");
    overflowing (short_of (UINT64_MAX), "a row is larger than the file");
    (void)close (fd);
}

/* ---- several, and connections ---- */

struct half {
    const struct page_source *source;
    int64_t rows, sum;
};

static int scan_half (void *state, size_t piece, struct err *err)
{
    struct half *h = state;
    struct page_scan scan;
    uint32_t root = root_of (h->source, "u");
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
    rows_of_u (5000);
    s = open_source ();
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

static int64_t rows_by (sqlite3 *db)
{
    struct page_source *s = NULL;
    struct err err = { "" };
    int64_t rows = 0;

    if (page_source_of (db, NULL, &s, &err) < 0 ||
        scan_table (s, root_of (s, "u"), INT64_MIN, INT64_MAX, &rows,
                    &err) < 0)
        fail_msg ("%s", err.text);
    page_source_close (s);
    return rows;
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
        TEST (test_page_sizes),
        TEST (test_serial_types),
        TEST (test_levels),
        TEST (test_columns),
        TEST (test_names),
        TEST (test_forms),
        TEST (test_no_database),
        TEST (test_damage),
        TEST (test_sentences),
        TEST (test_overflow),
        TEST (test_threads),
        TEST (test_connection),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
