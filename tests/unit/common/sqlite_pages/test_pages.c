/* tests/unit/common/sqlite_pages/test_pages.c - rows by pages, and by SQLite */
#include "common/sqlite_pages/pages_check.h"
#include "rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const unsigned sizes[] = {
    512, 1024, 2048, 4096, 8192, 16384, 32768, 65536
};

#define NSIZES (sizeof (sizes) / sizeof (sizes[0]))
#define EACH_SIZE ROUNDS (1, NSIZES - 1, NSIZES - 1)    // or the first and last

/* One writer, the index, finish, compare. */
static void write_all (struct pages *p)
{
    struct page_file *f = pages_open (p);
    struct page_writer *w = pages_writer (f);

    pages_write (p, w, 0, p->nrows);
    pages_close (w);
    pages_insert (p);
    pages_index (p, f);
    pages_finish (f);
    pages_compare (p);
}

static int64_t levels (const struct pages *p, const char *tree)
{
    char sql[160];

    // a path is "/" and four characters for each level below the root
    (void)snprintf (sql, sizeof (sql), "SELECT max (length (path) + 3) / 4 "
                    "FROM dbstat WHERE name='%s' AND pagetype<>'overflow'",
                    tree);
    return pages_number (p->own, sql);
}

static void test_random (void **state)
{
    static const uint32_t rows[] = { 0, 1, 3, 500, 3000 };

    (void)state;
    for (size_t i = 0; i < NSIZES; i += EACH_SIZE) {
        for (size_t k = 0; k < sizeof (rows) / sizeof (rows[0]); k++) {
            struct pages p;
            int64_t rowid = -3;

            pages_start (&p, sizes[i], SCHEMA);
            for (uint32_t n = 0; n < rows[k]; n++) {
                rowid += 1 + pages_random (&p, 3);
                pages_row (&p, rowid, pages_random (&p, 50) ? 60
                                                            : 3 * sizes[i]);
            }
            write_all (&p);
            pages_end (&p);
        }
    }
}

/* Texts around each size at which a payload begins to spill, or another page
 * of overflow; in the table and in the index.
 */
static void test_spills (void **state)
{
    (void)state;
    for (size_t i = 0; i < NSIZES; i += EACH_SIZE) {
        uint32_t u = sizes[i];
        const uint32_t around[] = {
            payload_most (u, 0), payload_most (u, 1), u,
            (u - 12) * 32 / 255 - 23 + u - 4, payload_most (u, 1) + u - 4,
            payload_most (u, 0) + u - 4, payload_most (u, 1) + 2 * (u - 4),
            payload_most (u, 0) + 2 * (u - 4), 0, 57, 127, 8192, 16384
        };
        struct pages p;
        int64_t rowid = 0;

        pages_start (&p, u, SCHEMA);
        for (size_t k = 0; k < sizeof (around) / sizeof (around[0]); k++) {
            for (uint32_t n = around[k] < 25 ? 0 : around[k] - 25;
                 n < around[k] + 12; n++)
                pages_text_row (&p, ++rowid, n);
        }
        write_all (&p);
        pages_end (&p);
    }
}

/* Each number is a row of its own kind of column, and of the table's rowids. */
static void test_numbers (void **state)
{
    struct pages p;
    int64_t rowids[] = {
        INT64_MIN, INT64_MIN + 1, -1, 0, 1, 127, 128, 16383, 16384,
        INT64_C (1) << 56, INT64_MAX - 1, INT64_MAX
    };

    (void)state;
    pages_start (&p, 4096, SCHEMA);
    for (size_t i = 0; i < sizeof (rowids) / sizeof (rowids[0]); i++)
        pages_row (&p, rowids[i], 9);
    write_all (&p);
    pages_end (&p);
    pages_start (&p, 1024, SCHEMA);
    for (int bits = 0; bits < 64; bits++) {
        for (int k = 0; k < 6; k++) {
            int64_t v = (int64_t)((UINT64_C (1) << bits) + (uint64_t)(k % 3) -
                                  1);
            struct row *r;

            pages_text_row (&p, bits * 6 + k, 0);
            r = &p.rows[p.nrows - 1];
            if (k >= 3)
                v = -(v + 1);
            r->v[0] = page_numeric ((double)v);
            r->v[1] = page_real ((double)v);
            r->v[2] = page_int (v);
            r->v[5] = page_int (~v);
        }
    }
    write_all (&p);
    pages_end (&p);
}

/* As many rows as fit in one page, and one more; so for three levels. */
static void test_levels (void **state)
{
    int64_t of_table = 0, of_index = 0;

    (void)state;
    for (uint32_t n = 1; n < 1400; n += n < 60 ? 1 : 1 + n / 20) {
        struct pages p;

        pages_start (&p, 512, SCHEMA);
        for (uint32_t i = 0; i < n; i++)
            pages_text_row (&p, i, 20);
        write_all (&p);
        assert_in_range (levels (&p, "t"), of_table, of_table + 1);
        of_table = levels (&p, "t");
        of_index = levels (&p, "t_key");        // its keys' widths are mixed
        pages_end (&p);
    }
    assert_int_equal (of_table, 3);
    assert_int_equal (of_index, 3);
}

/* Take all pages before this one, as far as there is one to take. */
static void take_before (struct page_file *f, uint32_t page,
                         struct page_range *ret)
{
    struct err err = { "" };

    ret->n = page > f->next ? page - f->next : 0;
    if (ret->n > 0)
        assert_int_equal (page_file_take (f, ret->n, &ret->first, &err), 0);
}

/* Rows from a page on: those before it are free pages of a sparse file. */
static void write_from (unsigned page_size, uint32_t page)
{
    uint32_t lock = lock_page (page_size);
    struct page_range taken[2];         // before the lock page, and behind
    struct page_file *f;
    struct page_writer *w;
    struct pages p;

    pages_start (&p, page_size, SCHEMA);
    for (int k = 0; k < 500; k++)
        pages_text_row (&p, k, page_size / 3);
    f = pages_open (&p);
    take_before (f, page < lock ? page : lock, &taken[0]);
    if (page > lock)
        f->next = lock + 1;
    take_before (f, page, &taken[1]);
    w = pages_writer (f);
    pages_write (&p, w, 0, p.nrows);
    pages_close (w);
    pages_insert (&p);
    pages_index (&p, f);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal (page_file_give (f, taken[i].first, taken[i].n, NULL),
                          0);
    pages_finish (f);
    assert_true (pages_number (p.own, "PRAGMA page_count") >= page + 100);
    assert_true (pages_number (p.own, "PRAGMA freelist_count") > 16000);
    pages_compare (&p);
    pages_end (&p);
}

/* Rows go on behind the page that holds SQLite's locks, which stays free. */
static void test_lock_page (void **state)
{
    (void)state;
    for (uint32_t left = 0; left < 70; left += left < 2 ? 1 : 34) {
        write_from (4096, lock_page (4096) - left);
        write_from (65536, lock_page (65536) - left);
    }
}

/* Offsets of 33 bits: rows before 4 GiB and behind. */
static void test_large_file (void **state)
{
    (void)state;
    write_from (65536, 65536 - 50);
}

/* Nothing was written behind it: the file ends before the lock page. */
static void test_end_at_lock_page (void **state)
{
    struct page_file *f;
    uint32_t lock = lock_page (65536), n, first, last;
    struct err err = { "" };
    struct pages p;

    (void)state;
    pages_start (&p, 65536, SCHEMA);
    f = pages_open (&p);
    n = lock - 2 - f->next;
    assert_int_equal (page_file_take (f, n, &first, &err), 0);
    assert_int_equal (page_file_take (f, 5, &last, &err), 0);
    assert_int_equal (last, lock + 1);
    assert_int_equal (page_file_give (f, last, 5, &err), 0);
    pages_finish (f);
    assert_int_equal (pages_number (p.own, "PRAGMA page_count"), first + n - 1);
    pages_end (&p);
}

/* ---- what is refused ---- */

static void refuse (const char *sql, int rc, const char *why)
{
    struct page_file *f = NULL;
    struct page_tree *t = NULL;
    struct err err = { "" };
    struct pages p;
    int got;

    pages_start (&p, 4096, SCHEMA);
    (void)unlink (p.own);
    pages_sql (p.own, sql);
    got = page_file_open (p.own, &f, &err);
    if (got == 0)
        got = page_file_tree (f, "t", &t, &err);
    assert_int_equal (got, rc);
    if (!strstr (err.text, why))
        fail_msg ("\"%s\" is not \"%s\"", err.text, why);
    page_file_close (f);
    pages_end (&p);
}

static void test_refused (void **state)
{
    struct page_file *f = NULL;
    struct err err = { "" };

    (void)state;
    refuse ("PRAGMA journal_mode=WAL;" SCHEMA, -EINVAL, "WAL");
    refuse ("PRAGMA auto_vacuum=1;" SCHEMA, -EINVAL, "auto_vacuum");
    refuse ("PRAGMA encoding='UTF-16';" SCHEMA, -EINVAL, "UTF-8");
    refuse (SCHEMA "DROP TABLE u", -EINVAL, "free pages");
    refuse ("CREATE TABLE v (x)", -ENOENT, "no t");
    refuse (SCHEMA "INSERT INTO t VALUES (1,2,3,4,5,6)", -ENOTEMPTY,
            "t is not empty");
    refuse (SCHEMA "WITH n (i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n "
            "LIMIT 999) INSERT INTO t SELECT i,i,i,i,i,i FROM n", -ENOTEMPTY,
            "t is not empty");
    assert_true (page_file_open ("/nowhere/at.all", &f, &err) < 0);
    assert_non_null (strstr (err.text, "/nowhere/at.all"));
}

/* ---- and then SQLite ---- */

static void both (const struct pages *p, const char *sql)
{
    pages_sql (p->own, sql);
    pages_sql (p->sqlite, sql);
}

static void test_sqlite_after (void **state)
{
    (void)state;
    for (size_t i = 0; i < NSIZES; i += 2 * EACH_SIZE) {
        struct pages p;

        pages_start (&p, sizes[i], SCHEMA);
        for (int k = 0; k < 3000; k++)
            pages_row (&p, 3 * k, pages_random (&p, 50) ? 100 : 2 * sizes[i]);
        write_all (&p);
        both (&p, "ANALYZE");
        pages_same (&p, "SELECT * FROM sqlite_stat1 ORDER BY tbl, idx");
        pages_same (&p, "EXPLAIN QUERY PLAN SELECT * FROM t WHERE d=?1 AND "
                        "a>?2");
        both (&p, "INSERT INTO u SELECT rowid, a FROM t");
        both (&p, "UPDATE t SET d = d || 'x', c = rowid WHERE rowid % 5 = 0");
        both (&p, "INSERT INTO t (a, d) SELECT a, d FROM t WHERE rowid % 7 "
                  "= 0");
        both (&p, "INSERT OR IGNORE INTO t (rowid, d) SELECT rowid + 1, 'y' "
                  "FROM t WHERE rowid % 3 = 0");
        both (&p, "DELETE FROM t WHERE rowid % 11 < 5");
        pages_whole (p.own);
        pages_same (&p, "SELECT rowid, * FROM t");
        pages_same (&p, "SELECT d, a, b FROM t INDEXED BY t_key ORDER BY d, a, "
                        "b, rowid");
        both (&p, "CREATE INDEX late ON t(c, f);CREATE TABLE n (x, y, PRIMARY "
                  "KEY (y, x)) WITHOUT ROWID;INSERT INTO n SELECT DISTINCT "
                  "rowid, d FROM t WHERE d NOT NULL");
        pages_whole (p.own);
        both (&p, "DELETE FROM t;VACUUM");
        pages_whole (p.own);
        pages_end (&p);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_random),
        cmocka_unit_test (test_spills),
        cmocka_unit_test (test_numbers),
        cmocka_unit_test (test_levels),
        cmocka_unit_test (test_lock_page),
        cmocka_unit_test (test_large_file),
        cmocka_unit_test (test_end_at_lock_page),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_sqlite_after),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
