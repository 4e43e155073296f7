/* tests/unit/common/sqlite_pages/test_page_writer.c - writers, rows taken back */
#include "common/sqlite_pages/pages_check.h"

#include "rounds.h"
#include "sqlite_pages/page_scan.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#define CHUNK 97

struct part {
    struct pages *p;
    struct page_file *f;
    unsigned first, of;
};

static void write_chunk (struct pages *p, struct page_writer *w, size_t from)
{
    size_t end = from + CHUNK < p->nrows ? from + CHUNK : p->nrows;
    struct err err = { "" };

    if (page_writer_gap (w, &err) < 0)
        fail_msg ("%s", err.text);
    page_writer_mark (w);
    if (from % 3 == 0) {        // it comes again
        pages_write (p, w, from, from + (end - from) * 2 / 3);
        if (page_writer_abandon (w, &err) < 0)
            fail_msg ("%s", err.text);
    }
    pages_write (p, w, from, end);
}

static void *write_part (void *arg)
{
    struct part *part = arg;
    struct page_writer *w = pages_writer (part->f);

    for (size_t at = part->first * CHUNK; at < part->p->nrows;
         at += part->of * CHUNK)
        write_chunk (part->p, w, at);
    pages_close (w);
    return NULL;
}

static void test_threads (void **state)
{
    (void)state;
    for (unsigned size = 512; size <= 65536; size *= 8) {
        struct part parts[4];
        pthread_t threads[4];
        struct page_file *f;
        struct pages p;

        pages_start (&p, size, SCHEMA);
        for (int k = 0; k < 4000; k++)
            pages_row (&p, 7 * k, pages_random (&p, 50) ? 200 : 2 * size);
        f = pages_open (&p);
        for (unsigned t = 0; t < 4; t++) {
            parts[t] = (struct part){ &p, f, t, 4 };
            assert_int_equal (pthread_create (&threads[t], NULL, write_part,
                                              &parts[t]), 0);
        }
        for (unsigned t = 0; t < 4; t++)
            (void)pthread_join (threads[t], NULL);
        pages_insert (&p);
        pages_index (&p, f);
        pages_finish (f);
        pages_compare (&p);
        pages_end (&p);
    }
}

/* Rows that were taken back leave nothing, wherever the mark was. */
static void test_abandon (void **state)
{
    (void)state;
    for (unsigned run = 0; run < ROUNDS (16, 16, 3); run++) {
        struct page_file *f;
        struct page_writer *w;
        struct err err = { "" };
        struct pages p;
        size_t mark = 0, at = 0;

        pages_start (&p, 512u << run % 3, SCHEMA);
        p.seed += run;
        for (int k = 0; k < 2500; k++)
            pages_row (&p, k, pages_random (&p, 50) ? 100 : 2000);
        f = pages_open (&p);
        w = pages_writer (f);
        for (unsigned step = 0; at < p.nrows || step < 20; step++) {
            size_t n = pages_random (&p, run % 2 ? 1200 : 60);

            if (n > p.nrows - at)
                n = p.nrows - at;
            pages_write (&p, w, at, at + n);
            at += n;
            if (pages_random (&p, 3) == 0) {
                assert_int_equal (page_writer_abandon (w, &err), 0);
                at = mark;
            } else if (pages_random (&p, 2)) {
                page_writer_mark (w);
                mark = at;
            }
        }
        pages_close (w);
        pages_insert (&p);
        pages_index (&p, f);
        pages_finish (f);
        pages_compare (&p);
        pages_end (&p);
    }
}

/* All that was written is taken back: the file is as it was. */
static void test_abandon_all (void **state)
{
    struct page_file *f;
    struct page_writer *w;
    struct err err = { "" };
    struct pages p;
    int64_t count;

    (void)state;
    pages_start (&p, 1024, SCHEMA);
    count = pages_number (p.own, "PRAGMA page_count");
    for (int k = 0; k < 2000; k++)
        pages_row (&p, k, pages_random (&p, 50) ? 100 : 9000);
    f = pages_open (&p);
    w = pages_writer (f);
    pages_write (&p, w, 0, p.nrows);
    assert_int_equal (page_writer_abandon (w, &err), 0);
    pages_close (w);
    pages_finish (f);
    pages_whole (p.own);
    assert_int_equal (pages_number (p.own, "SELECT count (*) FROM t"), 0);
    assert_int_equal (pages_number (p.own, "PRAGMA page_count"), count);
    pages_end (&p);
}

static void test_overlap (void **state)
{
    static const char why[] = "t: two have rows of one range: 10 to 14, and 14 "
                              "to 18";
    struct page_writer *a, *b;
    struct page_file *f;
    struct err err = { "" };
    struct pages p;

    (void)state;
    pages_start (&p, 1024, SCHEMA);
    for (int k = 0; k < 30; k++)
        pages_text_row (&p, k, 3);
    f = pages_open (&p);
    a = pages_writer (f);
    b = pages_writer (f);
    pages_write (&p, a, 14, 19);
    pages_write (&p, b, 10, 15);
    pages_close (a);
    pages_close (b);
    assert_int_equal (page_file_finish (f, false, &err), -EEXIST);
    assert_string_equal (err.text, why);
    page_file_close (f);
    pages_end (&p);
}

/* A smaller rowid goes into a page of its own; the same one is an overlap. */
static void test_order (void **state)
{
    struct page_writer *w;
    struct page_file *f;
    struct err err = { "" };
    struct pages p;

    (void)state;
    pages_start (&p, 1024, SCHEMA);
    for (int k = 0; k < 30; k++)
        pages_text_row (&p, k, 3);
    f = pages_open (&p);
    w = pages_writer (f);
    pages_write (&p, w, 15, 30);
    pages_write (&p, w, 0, 15);
    pages_close (w);
    pages_insert (&p);
    pages_index (&p, f);
    pages_finish (f);
    pages_compare (&p);
    pages_end (&p);
    pages_start (&p, 1024, SCHEMA);
    pages_text_row (&p, 5, 3);
    f = pages_open (&p);
    w = pages_writer (f);
    pages_write (&p, w, 0, 1);
    pages_write (&p, w, 0, 1);
    pages_close (w);
    assert_int_equal (page_file_finish (f, false, &err), -EEXIST);
    page_file_close (f);
    pages_end (&p);
}

/* Copy all rows of the table from one file to another: by leaves, or by rows.
 * How many leaves there were.
 */
static unsigned copy_rows (const struct pages *from, struct page_writer *w,
                           const struct page_sums *sums)
{
    struct page_source *source = NULL;
    struct page_scan s;
    unsigned leaves = 0;
    uint32_t root = 0;
    int rc;

    assert_int_equal (page_source_open (from->own, &source, NULL), 0);
    page_source_expect (source, sums);
    assert_int_equal (page_source_root (source, "t", &root, NULL), 0);
    rc = page_scan_begin (&s, source, root, INT64_MIN, INT64_MAX, NULL);
    while (rc == 0 && (rc = page_scan_next (&s, NULL)) == 1) {
        struct page_value values[PAGE_SCAN_COLUMNS];
        const uint8_t *leaf = NULL;
        int64_t first = s.rowid, last;

        for (unsigned i = 0; i < s.ncolumns; i++)
            values[i] = page_scan_value (&s, i);

        if (first % 1000 < 800)         // of the others single rows
            leaf = page_scan_leaf (&s, first + 90, &last);
        leaves += leaf != NULL;
        rc = leaf ? page_writer_leaf (w, first, last, leaf, NULL)
                  : page_writer_row (w, first, values, s.ncolumns, NULL);
    }
    assert_int_equal (rc, 0);
    page_scan_end (&s);
    page_source_close (source);
    return leaves;
}

/* Rows that are copied as they are stored, some with overflow, are the same. */
static void test_copies (void **state)
{
    (void)state;
    for (unsigned size = 512; size <= 65536; size *= ROUNDS (2, 2, 64)) {
        struct page_sums sums;
        struct page_writer *w;
        struct page_file *f;
        struct pages a, b;
        unsigned leaves;

        pages_start (&a, size, SCHEMA);
        pages_start (&b, size, SCHEMA);
        for (int k = 0; k < 4000; k++) {
            uint32_t most = pages_random (&a, 50) || k > 3000 ? 200 : 2 * size;

            b.seed = a.seed;
            pages_row (&a, k, most);
            pages_row (&b, k, most);
        }
        f = pages_open (&a);
        w = pages_writer (f);
        pages_write (&a, w, 0, a.nrows);
        pages_close (w);
        pages_finish (f);
        assert_int_equal (page_check_sums (a.own, 1, &sums, NULL), 0);
        f = pages_open (&b);
        w = pages_writer (f);
        leaves = copy_rows (&a, w, &sums);
        assert_true (size > 4096 || leaves > 20);
        pages_close (w);
        pages_insert (&b);
        pages_index (&b, f);
        pages_finish (f);
        pages_compare (&b);
        page_sums_fini (&sums);
        pages_end (&a);
        pages_end (&b);
    }
}

static void test_columns (void **state)
{
    struct page_value v[PAGE_COLUMNS_MAX + 1] = { { 0 } };
    struct page_writer *w;
    struct page_file *f;
    struct err err = { "" };
    struct pages p;

    (void)state;
    pages_start (&p, 4096, SCHEMA);
    f = pages_open (&p);
    w = pages_writer (f);
    assert_int_equal (page_writer_row (w, 1, v, PAGE_COLUMNS_MAX + 1, &err),
                      -E2BIG);
    memset (&err, 0, sizeof (err));
    // it sticks
    assert_int_equal (page_writer_row (w, 1, v, 1, &err), -E2BIG);
    assert_int_equal (page_writer_gap (w, &err), -E2BIG);
    assert_int_equal (page_writer_abandon (w, &err), -E2BIG);
    assert_int_equal (page_writer_close (w, &err), -E2BIG);
    assert_string_equal (err.text, "a row of 65 columns");
    assert_int_equal (page_writer_close (NULL, &err), 0);
    page_file_close (f);
    page_file_close (NULL);
    pages_end (&p);
}

/* The disk is full: the rows that are in memory are given up, too. */
static void test_full (void **state)
{
    struct page_value v = page_text ("a text that many rows have", 26);
    struct rlimit none = { 4096, RLIM_INFINITY }, old;
    struct page_writer *w;
    struct page_file *f;
    struct err err = { "" };
    struct pages p;
    int64_t rows = 0;

    (void)state;
    pages_start (&p, 4096, SCHEMA);
    f = pages_open (&p);
    w = pages_writer (f);
    assert_int_equal (getrlimit (RLIMIT_FSIZE, &old), 0);
    none.rlim_max = old.rlim_max;
    (void)signal (SIGXFSZ, SIG_IGN);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &none), 0);
    while (page_writer_row (w, rows + 1, &v, 1, &err) == 0)
        rows++;
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &old), 0);
    assert_true (rows > PAGE_RUN * 4096 / 40);
    assert_int_equal (page_writer_row (w, rows + 2, &v, 1, &err), -EFBIG);
    assert_int_equal (page_writer_abandon (w, &err), -EFBIG);
    assert_int_equal (page_writer_close (w, &err), -EFBIG);
    page_file_close (f);
    pages_end (&p);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_threads),
        cmocka_unit_test (test_abandon),
        cmocka_unit_test (test_abandon_all),
        cmocka_unit_test (test_overlap),
        cmocka_unit_test (test_order),
        cmocka_unit_test (test_columns),
        cmocka_unit_test (test_copies),
        cmocka_unit_test (test_full),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
