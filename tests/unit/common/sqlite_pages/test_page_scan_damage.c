/* tests/unit/common/sqlite_pages/test_page_scan_damage.c - scans of damaged files: a
 * sentence, and nothing read from outside
 */
#include "common/sqlite_pages/page_scan_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pages p;
static int fd;

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
            found += scan_file (p.sqlite, "t", &err) < 0;
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

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, start, end)
    const struct CMUnitTest tests[] = {
        TEST (test_damage),
        TEST (test_sentences),
        TEST (test_overflow),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
