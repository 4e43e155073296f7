/* tests/unit/common/sqlite_pages/test_page_check.c - damage that the check finds */
#include "common/sqlite_pages/pages_check.h"
#include "rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE 512

static struct pages p;
static int fd;
static uint8_t page[PAGE];

/* Both trees have three levels; there is overflow, and a freelist. */
static int start (void **state)
{
    struct page_file *f;
    struct page_writer *w = NULL;
    uint32_t first;

    (void)state;
    pages_start (&p, PAGE, SCHEMA);
    for (int k = 0; k < 900; k++)
        pages_text_row (&p, 3 * k, k % 100 == 50 ? 2000 : 30);
    f = pages_open (&p);
    assert_int_equal (page_file_take (f, 12, &first, NULL), 0);
    assert_int_equal (page_writer_open (pages_tree (f, "t"), &w, NULL), 0);
    pages_write (&p, w, 0, p.nrows);
    assert_int_equal (page_writer_close (w, NULL), 0);
    pages_insert (&p);
    pages_index (&p, f);
    assert_int_equal (page_file_give (f, first, 12, NULL), 0);
    pages_finish (f);
    pages_compare (&p);
    assert_in_range (pages_number (p.own, "PRAGMA freelist_count"), 7, 63);
    fd = open (p.own, O_RDWR | O_CLOEXEC);
    return fd < 0 ? -1 : 0;
}

static int end (void **state)
{
    (void)state;
    (void)close (fd);
    pages_end (&p);
    return 0;
}

static void put (const void *bytes, size_t n, uint32_t number, uint32_t at)
{
    assert_int_equal (pwrite (fd, bytes, n, (off_t)(number - 1) * PAGE + at),
                      (ssize_t)n);
}

static void get (uint32_t number)
{
    assert_int_equal (pread (fd, page, PAGE, (off_t)(number - 1) * PAGE), PAGE);
}

/* It is found, and the sentence says 'what'; then the page is whole again. */
static void found (uint32_t number, uint32_t at, const char *what)
{
    struct err err = { "" };
    int rc = page_check_file (p.own, 1 + number % 2, &err);

    put (page, PAGE, number, 0);
    if (rc != -EBADMSG)
        fail_msg ("page %u, byte %u: %d %s", number, at, rc, err.text);
    if (!strstr (err.text, what))
        fail_msg ("page %u, byte %u: \"%s\" is not \"%s\"", number, at,
                  err.text, what);
}

/* Each byte of the header and the pointers, by values that come next. */
static void damage_page (uint32_t number)
{
    static const uint8_t flips[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80,
                                     0xff };
    uint32_t n;

    get (number);
    n = page[0] < INDEX_LEAF ? INTERIOR_HEADER : LEAF_HEADER;
    n += 2 * get2 (page + AT_CELLS);
    for (uint32_t at = 0; at < n; at += ROUNDS (1, 1, 11)) {
        for (size_t i = 0; i < sizeof (flips); i++) {
            uint8_t byte = page[at] ^ flips[i];

            if (at > 11 && i != (at + number) % 8)
                continue;       // of the pointers, one for each byte
            put (&byte, 1, number, at);
            found (number, at, "");
        }
    }
}

/* Pages of a kind, as dbstat has them; which of them is said by 'where'. */
static void damage_pages (const char *where)
{
    char sql[200], *text, *save = NULL;
    unsigned n = 0;

    (void)snprintf (sql, sizeof (sql), "SELECT pageno FROM dbstat WHERE "
                    "pagetype<>'overflow' AND pageno>1 AND %s", where);
    text = pages_ask (p.own, sql);
    for (char *s = strtok_r (text, "\n", &save); s;
         s = strtok_r (NULL, "\n", &save), n++)
        damage_page ((uint32_t)strtoul (s, NULL, 10));
    assert_true (n > 0);
    free (text);
}

static void test_headers (void **state)
{
    struct err err = { "" };

    (void)state;
    damage_pages ("pagetype='internal'");
    damage_pages ("name IN ('t','t_key') AND pagetype='leaf' AND pageno%9=0");
    damage_pages ("name IN ('none','none_x','u')");
    if (page_check_file (p.own, 2, &err) < 0)
        fail_msg ("%s", err.text);
}

static uint32_t number_of (const char *sql)
{
    return (uint32_t)pages_number (p.own, sql);
}

#define LEAF_OF(name) "SELECT pageno FROM dbstat WHERE name='" name "' AND " \
                      "pagetype='leaf' AND ncell>3 LIMIT 1 OFFSET 2"

static void put4_at (uint32_t number, uint32_t at, uint32_t v, const char *what)
{
    uint8_t bytes[4];

    get (number);
    put4 (bytes, v);
    put (bytes, 4, number, at);
    found (number, at, what);
}

static void test_overflow (void **state)
{
    uint32_t last = number_of ("SELECT pageno FROM dbstat WHERE pagetype="
                               "'overflow' AND name='t' ORDER BY path DESC");
    uint32_t some = number_of ("SELECT pageno FROM dbstat WHERE pagetype="
                               "'overflow' AND name='t' ORDER BY path");

    (void)state;
    put4_at (some, 0, 0, "no such page");
    put4_at (some, 0, 1, "referred to twice");
    put4_at (some, 0, some, "referred to twice");
    put4_at (some, 0, UINT32_MAX, "no such page");
    put4_at (last, 0, 2, "");
}

static void test_freelist (void **state)
{
    static const uint8_t none[8];
    uint32_t trunk;

    (void)state;
    get (1);
    trunk = get4 (page + HEADER_FREE_FIRST);
    assert_true (trunk > 0);
    put4_at (1, HEADER_FREE_FIRST, 0, "not so many free pages");
    put4_at (1, HEADER_FREE_COUNT, 6, "not so many free pages");
    put (none, sizeof (none), 1, HEADER_FREE_FIRST);
    found (1, HEADER_FREE_FIRST, "nothing refers to it");
    put4_at (trunk, 0, trunk, "referred to twice");
    put4_at (trunk, 4, 5, "not so many free pages");
    put4_at (trunk, 4, PAGE, "more free pages than it can");
    put4_at (trunk, 8, 3, "referred to twice");
    put4_at (trunk, 8, 0, "no such page");
}

static void test_file_header (void **state)
{
    (void)state;
    put4_at (1, HEADER_PAGE_COUNT, 9, "");
    put4_at (1, HEADER_AUTO_VACUUM, 9, "auto_vacuum");
}

/* A rowid that is out of its page's range; a record that is too long. */
static void test_rows (void **state)
{
    uint32_t leaf = number_of (LEAF_OF ("t")), at;
    uint8_t byte;

    (void)state;
    get (leaf);
    for (unsigned i = 0; i < get2 (page + AT_CELLS); i++) {
        at = get2 (page + LEAF_HEADER + 2 * i);
        byte = page[at + 1] ^ 0x40;     // of a rowid of two bytes
        put (&byte, 1, leaf, at + 1);
        found (leaf, at + 1, "a rowid is out of order");
        byte = page[at + 3] + 1;        // the size of the record's header
        put (&byte, 1, leaf, at + 3);
        found (leaf, at + 3, "a record is not as long");
        byte = page[at + 7] + 2;        // a text that is longer
        put (&byte, 1, leaf, at + 7);
        found (leaf, at + 7, "a record is not as long");
    }
}

/* What is in no header: the separators, and the children of cells. */
static void test_interior (void **state)
{
    uint32_t some = number_of ("SELECT pageno FROM dbstat WHERE name='t' AND "
                               "pagetype='internal' AND path<>'/'");

    (void)state;
    get (some);
    for (unsigned i = 0; i < get2 (page + AT_CELLS); i++) {
        uint32_t at = get2 (page + INTERIOR_HEADER + 2 * i);
        uint8_t byte = page[at + 4] ^ 0x40;

        put4_at (some, at, 2, "");
        put4_at (some, at, get4 (page + at) + 1, "");
        put (&byte, 1, some, at + 4);
        found (some, at + 4, "a rowid is out of order");
    }
}

/* Keys that are not in order, though SQLite could not tell from a page. */
static void test_keys (void **state)
{
    uint32_t leaf = number_of (LEAF_OF ("t_key"));
    uint32_t inner = number_of ("SELECT pageno FROM dbstat WHERE name='t_key' "
                                "AND pagetype='internal' AND path<>'/'");
    uint8_t byte;
    uint32_t at;

    (void)state;
    get (leaf);
    at = get2 (page + LEAF_HEADER + 2);
    byte = page[at + 6] ^ 0x80;
    put (&byte, 1, leaf, at + 6);       // a text's first byte
    found (leaf, at + 6, "a key is out of order");
    get (inner);
    at = get2 (page + INTERIOR_HEADER + 2);
    byte = page[at + 10] ^ 0x80;
    put (&byte, 1, inner, at + 10);
    found (inner, at + 10, "a key is out of order");
}

/* ---- sums ---- */

/* A flip of any bit of a page shows. */
static void test_sums (void **state)
{
    struct page_sums s = { 0 };
    uint32_t unused = 0, last;

    (void)state;
    assert_int_equal (page_check_sums (p.own, 2, &s, NULL), 0);
    assert_int_equal (s.page_size, PAGE);
    assert_true (s.n > 100);
    for (uint32_t i = 1; i <= s.n; i++) {
        get (i);
        if (s.sums[i - 1] == 0)         // it is free
            unused++;
        else
            assert_true (s.sums[i - 1] == page_sum (page, PAGE));
    }
    assert_true (unused < s.n / 2);
    get (last = number_of (LEAF_OF ("t_key")));
    for (uint32_t bit = 0; bit < 8 * PAGE; bit++) {
        page[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_true (s.sums[last - 1] != page_sum (page, PAGE));
        page[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    page_sums_fini (&s);
}

/* ---- orders ---- */

static const char texts[] = "a\0b";

static int write_keys (const struct page_value *v, size_t n)
{
    struct page_writer *x = NULL;
    struct page_file *f;
    struct pages q;
    int rc;

    pages_start (&q, 4096, "CREATE TABLE t (x);CREATE INDEX t_x ON t(x);");
    f = pages_open (&q);
    assert_int_equal (page_writer_open (pages_tree (f, "t_x"), &x, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal (page_writer_keys (x, 1, 1, &v[i], 1, NULL), 0);
    assert_int_equal (page_writer_close (x, NULL), 0);
    pages_finish (f);
    rc = page_check_file (q.own, 1, NULL);
    pages_end (&q);
    return rc;
}

/* Each of these is smaller than those behind it. */
static void test_order (void **state)
{
    const struct page_value v[] = {
        page_null (), page_real (-1e300), page_int (INT64_MIN),
        page_int (INT64_MIN + 1), page_int (-9007199254740993),
        page_real (-9007199254740992.5), page_int (-300), page_int (-2),
        page_real (-1.5), page_int (-1), page_real (-0.5), page_int (0),
        page_real (0.5), page_int (1), page_real (1.5), page_int (127),
        page_int (128), page_int (1 << 20), page_int (9007199254740991),
        page_real (9007199254740992.0), page_int (9007199254740993),
        page_int (INT64_MAX), page_real (0x1p63), page_real (1e300),
        page_text ("", 0), page_text (texts, 1), page_text (texts, 2),
        page_text (texts, 3), page_text ("b", 1), page_text ("\xff", 1),
        page_blob (NULL, 0), page_blob (texts, 1), page_blob ("b", 1)
    };
    size_t n = sizeof (v) / sizeof (v[0]);

    (void)state;
    assert_int_equal (write_keys (v, n), 0);
    for (size_t i = 0; i < n; i += ROUNDS (1, 1, 16)) {
        for (size_t k = 0; k < n; k++) {
            const struct page_value two[] = { v[i], v[k] };

            assert_int_equal (write_keys (two, 2), i < k ? 0 : -EBADMSG);
        }
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_headers),
        cmocka_unit_test (test_overflow),
        cmocka_unit_test (test_freelist),
        cmocka_unit_test (test_file_header),
        cmocka_unit_test (test_rows),
        cmocka_unit_test (test_interior),
        cmocka_unit_test (test_keys),
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_sums),
    };

    return cmocka_run_group_tests (tests, start, end);
}
