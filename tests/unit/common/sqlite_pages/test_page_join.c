/* tests/unit/common/sqlite_pages/test_page_join.c - a table whose rows lie in two
 * files
 */
#include "common/sqlite_pages/page_scan_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RANGE 1000              // rowids that lie in one file
#define RANGES 6                // the even ones in the first file
#define LAST (RANGE * RANGES)   // rows are 10, 20, ...

static struct pages p, other;
static struct page_source *whole, *files[2];
static uint32_t roots[2];
static bool opened[2];
static int open_rc;
static struct page_stretch stretches[RANGES];

static int open_file (const struct page_join *j, unsigned file,
                      const struct page_source **ret, const uint32_t **root,
                      struct err *err)
{
    (void)j;
    opened[file] = true;
    *ret = files[file];
    *root = &roots[file];
    return open_rc < 0 && file == 1 ? err_set (err, -open_rc, "not this one")
                                    : 0;
}

static int tell (const struct page_join *j, unsigned file, int rc,
                 struct err *err)
{
    (void)j;
    return err_prefix (err, rc, "file %u", file);
}

static void close_files (struct page_join *j)
{
    (void)j;
    for (int i = 0; i < 2; i++)
        page_source_close (files[i]);
}

static const char *const tables[] = { "joined" };
static struct page_join join = {
    .tables = tables, .ntables = 1, .stretches = stretches, .n = RANGES,
    .open = open_file, .tell = tell, .close = close_files,
};

static void put_rows (const char *path, int which)
{
    char text[200];

    // not by deletions: leaves with holes are none that is wanted as a whole
    (void)snprintf (text, sizeof (text), "WITH RECURSIVE k(i) AS (SELECT 10 "
                    "UNION ALL SELECT i+10 FROM k WHERE i<%d) INSERT INTO u "
                    "SELECT i, i/2.0 FROM k WHERE i/%d%%2=%d", LAST - 10, RANGE,
                    which);
    pages_sql (path, text);
    files[which] = scan_open (path);
    roots[which] = scan_root (files[which], "u");
}

static void start_of (unsigned other_page)
{
    pages_start (&p, PAGE, SCHEMA);
    pages_start (&other, other_page, SCHEMA);
    put_rows (p.sqlite, 0);
    put_rows (other.sqlite, 1);
    for (unsigned i = 0; i < RANGES; i++)
        stretches[i] = (struct page_stretch){ RANGE * i, RANGE * (i + 1) - 1,
                                              i % 2 };
    open_rc = 0;
    opened[0] = opened[1] = false;
    whole = scan_open (p.own);
    page_source_join (whole, &join);
}

static int start (void **state)
{
    (void)state;
    start_of (PAGE);
    return 0;
}

static int end (void **state)
{
    (void)state;
    page_source_close (whole);
    pages_end (&p);
    pages_end (&other);
    return 0;
}

static int64_t rows_between (int64_t first, int64_t last)
{
    struct err err = { "" };
    int64_t rows = 0;

    if (scan_table (whole, scan_root (whole, "joined"), first, last, &rows,
                    &err) < 0)
        fail_msg ("%s", err.text);
    return rows;
}

static void rows_are_in_order (void **state)
{
    (void)state;
    assert_int_equal (rows_between (INT64_MIN, INT64_MAX), LAST / 10 - 1);
    assert_int_equal (rows_between (LAST, INT64_MAX), 0);
    assert_int_equal (rows_between (INT64_MIN, -1), 0);
    for (int64_t first = 10; first < LAST; first += 90) {
        static const int64_t wide[] = { 0, 10, 90, 980, 1010, 2500 };

        for (size_t i = 0; i < sizeof (wide) / sizeof (wide[0]); i++) {
            int64_t last = first + wide[i] < LAST ? first + wide[i] : LAST - 10;

            assert_int_equal (rows_between (first, last),
                              (last - first) / 10 + 1);
        }
    }
}

static void only_what_is_wanted_is_opened (void **state)
{
    (void)state;
    open_rc = -ENOENT;
    assert_int_equal (rows_between (RANGE * 2 + 10, RANGE * 2 + 90), 9);
    assert_true (opened[0]);
    assert_false (opened[1]);
}

static void fails (int64_t first, int64_t last, int rc, const char *what)
{
    struct err err = { "" };
    int64_t rows = 0;

    assert_int_equal (scan_table (whole, scan_root (whole, "joined"), first,
                                  last, &rows, &err), rc);
    if (!strstr (err.text, what))
        fail_msg ("\"%s\" is not \"%s\"", err.text, what);
}

static void a_file_that_fails_is_told (void **state)
{
    (void)state;
    open_rc = -ENOENT;
    fails (INT64_MIN, INT64_MAX, -ENOENT, "not this one");
    fails (RANGE + 10, RANGE + 20, -ENOENT, "not this one");
}

static void files_of_other_pages_are_refused (void **state)
{
    (void)end (state);
    start_of (2 * PAGE);
    assert_int_equal (rows_between (10, 20), 2);
    fails (10, RANGE + 10, -EBADMSG, "file 1: its pages have another size");
}

static void damage_is_told_with_its_file (void **state)
{
    int fd = open (other.sqlite, O_RDWR | O_CLOEXEC);

    (void)state;
    assert_int_equal (pwrite (fd, "\0", 1, (off_t)(roots[1] - 1) * PAGE), 1);
    (void)close (fd);
    assert_int_equal (rows_between (10, 20), 2);
    fails (INT64_MIN, INT64_MAX, -EBADMSG, "file 1: page ");
}

static void a_root_that_is_none (void **state)
{
    uint32_t root = scan_root (whole, "joined");
    struct err err = { "" };
    int64_t rows = 0;

    (void)state;
    assert_int_equal (scan_root (whole, "u") > 0, 1);
    assert_int_equal (scan_table (whole, root + 1, 0, 9, &rows, &err), -EBADMSG);
    assert_int_equal (scan_table (whole, root - 1, 0, 9, &rows, &err), -EBADMSG);
}

/* A leaf that has rows of two ranges, between which are rows of the other file,
 * is not one that is wanted as a whole.
 */
static void leaves_end_where_files_do (void **state)
{
    struct err err = { "" };
    struct page_scan s;
    int64_t rows = 0, last;
    unsigned leaves = 0;
    int rc = page_scan_begin (&s, whole, scan_root (whole, "joined"), INT64_MIN,
                              INT64_MAX, &err);

    (void)state;
    while (rc == 0 && (rc = page_scan_next (&s, &err)) == 1) {
        const uint8_t *leaf = page_scan_leaf (&s, INT64_MAX, &last);

        rows += leaf ? get2 (leaf + AT_CELLS) : 1;
        leaves += leaf != NULL;
        rc = 0;
    }
    page_scan_end (&s);
    assert_int_equal (rc, 0);
    assert_true (leaves > RANGES);
    assert_int_equal (rows, LAST / 10 - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (rows_are_in_order), TEST (only_what_is_wanted_is_opened),
        TEST (a_file_that_fails_is_told),
        TEST (files_of_other_pages_are_refused),
        TEST (damage_is_told_with_its_file), TEST (a_root_that_is_none),
        TEST (leaves_end_where_files_do),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
