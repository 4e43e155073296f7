/* tests/unit/common/sqlite_pages/test_page_file.c - a disk that is full at any page */
#include "common/sqlite_pages/pages_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static int left;                // writes that succeed; negative: all

int __real_fileio_pwrite_all (int fd, const void *data, size_t size,
                              off_t offset);
int __wrap_fileio_pwrite_all (int fd, const void *data, size_t size,
                              off_t offset);

int __wrap_fileio_pwrite_all (int fd, const void *data, size_t size,
                              off_t offset)
{
    if (left == 0)
        return -ENOSPC;         // and from now on
    left--;
    return __real_fileio_pwrite_all (fd, data, size, offset);
}

static int write_rows (struct pages *p, struct page_file *f, struct err *err)
{
    struct page_writer *w = NULL;
    int end, rc = page_writer_open (pages_tree (f, "t"), &w, err);

    for (size_t i = 0; i < p->nrows && rc == 0; i++) {
        rc = page_writer_row (w, p->rows[i].rowid, p->rows[i].v, COLUMNS, err);
        if (rc == 0 && i % 100 == 0)
            page_writer_mark (w);
        else if (rc == 0 && i % 100 == 90)
            rc = page_writer_abandon (w, err);
    }
    end = page_writer_close (w, err);
    return rc < 0 ? rc : end;
}

static int write_keys (struct pages *p, struct page_file *f, struct err *err)
{
    struct page_writer *x = NULL;
    int end, rc = page_writer_open (pages_tree (f, "t_key"), &x, err);

    for (size_t i = 0; i < p->nrows && rc == 0; i++)
        rc = page_writer_keys (x, p->rows[i].rowid, 1, &p->rows[i].v[3], 1, err);
    end = page_writer_close (x, err);
    return rc < 0 ? rc : end;
}

static void test_full (void **state)
{
    int rc = -ENOSPC;

    (void)state;
    for (int n = 0; rc < 0; n++) {
        struct err err = { "" }, other = { "" };
        struct page_file *f;
        char why[160];
        struct pages p;

        pages_start (&p, 512, SCHEMA);
        for (int k = 0; k < 1500; k++)
            pages_text_row (&p, k, k % 400 ? 40 : 3000);
        f = pages_open (&p);
        (void)snprintf (why, sizeof (why), "cannot write %s: No space left on "
                        "device", p.own);
        left = n;
        rc = write_rows (&p, f, &err);
        if (rc == 0)
            rc = write_keys (&p, f, &err);
        else
            assert_int_equal (write_keys (&p, f, &other), rc);
        if (rc == 0)
            rc = page_file_finish (f, true, &err);
        if (rc < 0) {
            assert_int_equal (rc, -ENOSPC);
            assert_string_equal (err.text, why);
        } else {
            assert_true (n > 60);
        }
        page_file_close (f);
        left = -1;
        pages_end (&p);
    }
}

/* Numbers of pages go as far as SQLite's do. */
static void test_too_large (void **state)
{
    struct page_file *f;
    struct err err = { "" };
    uint32_t first;
    struct pages p;

    (void)state;
    pages_start (&p, 512, SCHEMA);
    f = pages_open (&p);
    assert_int_equal (page_file_take (f, PAGE_COUNT_MAX - 10, &first, &err),
                      -EFBIG);
    assert_non_null (strstr (err.text, "File too large"));
    assert_int_equal (page_file_take (f, 1, &first, &err), 0);
    page_file_close (f);
    pages_end (&p);
}

/* Rowids of all sizes; a key of one page, and one that has overflow pages. */
static void test_rows_of_a_key (void **state)
{
    static const struct { int64_t first; unsigned n; } runs[] = {
        { -INT64_C (0x800000000005), 10 }, { -200, 600 }, { 32760, 20 },
        { 8388600, 20 }, { INT64_C (0x7ffffff0), 40 },
        { INT64_C (0x7ffffffffff0), 40 },
    };
    char large[3000];
    struct page_writer *x = NULL;
    struct page_writer *w;
    struct page_file *f;
    struct pages p;

    (void)state;
    memset (large, 'x', sizeof (large));
    pages_start (&p, 512, "CREATE TABLE t (d);CREATE INDEX t_key ON t(d);");
    f = pages_open (&p);
    assert_int_equal (page_writer_open (pages_tree (f, "t_key"), &x, NULL), 0);
    for (size_t k = 0; k < 2; k++) {
        struct page_value v = page_text (large, k ? sizeof (large) : 1);

        for (size_t i = 0; i < sizeof (runs) / sizeof (runs[0]); i++) {
            int64_t first = runs[i].first + (k ? INT64_C (1) << 50 : 0);

            w = pages_writer (f);
            for (unsigned r = 0; r < runs[i].n; r++)
                assert_int_equal (page_writer_row (w, first + r, &v, 1, NULL),
                                  0);
            pages_close (w);
            assert_int_equal (page_writer_keys (x, first, runs[i].n, &v, 1,
                                                NULL), 0);
        }
    }
    assert_int_equal (page_writer_close (x, NULL), 0);
    pages_finish (f);
    pages_whole (p.own);
    pages_end (&p);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_full),
        cmocka_unit_test (test_too_large),
        cmocka_unit_test (test_rows_of_a_key),
    };

    left = -1;
    return cmocka_run_group_tests (tests, NULL, NULL);
}
