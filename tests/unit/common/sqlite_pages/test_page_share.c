/* tests/unit/common/sqlite_pages/test_page_share.c - pages of a file that several
 * processes write
 */
#include "common/sqlite_pages/pages_check.h"

#include <errno.h>
#include <stdlib.h>

#define CHUNK 61

/* The owner's end of a port. */
struct owner {
    struct page_file *file;
    unsigned taken, written;    // calls
};

static int port_take (void *arg, uint32_t n, uint32_t *first, struct err *err)
{
    struct owner *o = arg;

    o->taken++;
    return page_file_reserve (o->file, n, first, err);
}

static int port_write (void *arg, uint32_t page, const uint8_t *bytes,
                       uint32_t n, struct err *err)
{
    struct owner *o = arg;

    o->written++;
    return page_file_put (o->file, page, bytes,
                          (size_t)n * page_file_page_size (o->file), err);
}

static int give_back (void *arg, uint32_t first, uint32_t n)
{
    struct owner *o = arg;

    return page_file_release (o->file, first, n, NULL);
}

/* Every third chunk of rows, some of them twice. */
static void write_third (struct pages *p, struct page_file *f, unsigned which)
{
    struct page_tree *t = NULL;
    struct page_writer *w = NULL;
    struct err err = { "" };

    assert_int_equal (page_file_tree (f, "t", &t, &err), 0);
    assert_int_equal (page_writer_open (t, &w, &err), 0);
    for (size_t at = which * CHUNK; at < p->nrows; at += 3 * CHUNK) {
        size_t end = at + CHUNK < p->nrows ? at + CHUNK : p->nrows;

        assert_int_equal (page_writer_gap (w, &err), 0);
        page_writer_mark (w);
        if (at % 2 == 0) {
            pages_write (p, w, at, end);
            assert_int_equal (page_writer_abandon (w, &err), 0);
        }
        pages_write (p, w, at, end);
    }
    pages_close (w);
}

/* Another process: 'path' is the file, or NULL if it cannot see it. */
static void other_process (struct pages *p, struct owner *o, const char *path,
                           unsigned which)
{
    const struct page_port port = { o, port_take, port_write };
    const struct page_leaf *leaves;
    struct page_file *f = NULL;
    struct page_tree *none = NULL;
    struct err err = { "" };
    size_t n;

    assert_int_equal (page_file_share (path, page_file_page_size (o->file),
                                       &port, &f, &err), 0);
    write_third (p, f, which);
    leaves = page_tree_leaves (&f->trees[0], &n);
    assert_true (n > 1);
    assert_int_equal (page_tree_add (pages_tree (o->file, "t"), leaves, n,
                                     &err), 0);
    assert_int_equal (page_file_unused (f, give_back, o), 0);
    assert_int_equal (page_file_flush (f, &err), 0);
    // one that nobody wrote to has none
    assert_int_equal (page_file_tree (f, "none", &none, &err), 0);
    (void)page_tree_leaves (none, &n);
    assert_int_equal (n, 0);
    page_file_close (f);
}

static void test_share (void **state)
{
    (void)state;
    for (unsigned size = 512; size <= 16384; size *= 32) {
        struct owner o = { .taken = 0 };
        struct pages p;

        pages_start (&p, size, SCHEMA);
        for (int k = 0; k < 3000; k++)
            pages_row (&p, 7 * k, pages_random (&p, 50) ? 200 : 2 * size);
        o.file = pages_open (&p);
        other_process (&p, &o, p.own, 1);
        assert_int_equal (o.written, 0);
        write_third (&p, o.file, 0);
        other_process (&p, &o, NULL, 2);
        assert_true (o.written > 0);
        pages_insert (&p);
        pages_index (&p, o.file);
        pages_finish (o.file);
        pages_compare (&p);
        pages_end (&p);
    }
}

/* Many pages are asked for at once, since the owner may be far away. */
static void test_extents (void **state)
{
    struct owner o = { .taken = 0 };
    const struct page_port port = { &o, port_take, port_write };
    struct page_file *f = NULL;
    struct err err = { "" };
    struct pages p;
    uint32_t first;

    (void)state;
    pages_start (&p, 512, SCHEMA);
    o.file = pages_open (&p);
    assert_int_equal (page_file_share (p.own, 512, &port, &f, &err), 0);
    for (unsigned i = 0; i < PAGE_EXTENT / 64; i++)
        assert_int_equal (page_file_take (f, 64, &first, &err), 0);
    assert_int_equal (o.taken, 1);
    assert_int_equal (page_file_take (f, 2 * PAGE_EXTENT, &first, &err), 0);
    assert_int_equal (o.taken, 2);
    page_file_close (f);
    page_file_close (o.file);
    pages_end (&p);
}

/* What others say is checked. */
static void test_refused (void **state)
{
    uint8_t page[1024] = { 0 }, found[4] = { 1 };
    const struct page_port port = { NULL, port_take, port_write };
    struct page_leaf leaf = { 1, 2, 1 };
    struct page_file *f, *shared = NULL;
    struct page_tree *t = NULL;
    struct err err = { "" };
    struct pages p;
    uint32_t first;

    (void)state;
    pages_start (&p, 512, SCHEMA);
    f = pages_open (&p);
    assert_int_equal (page_file_reserve (f, 0, &first, &err), -EINVAL);
    assert_int_equal (page_file_reserve (f, 2, &first, &err), 0);
    assert_int_equal (page_file_put (f, first, page, 1024, &err), 0);
    assert_int_equal (page_file_put (f, first + 1, page, 1024, &err), -EINVAL);
    assert_int_equal (page_file_put (f, 1, page, 512, &err), -EINVAL);
    assert_int_equal (page_file_put (f, first, page, 700, &err), -EINVAL);
    assert_int_equal (page_file_peek (f, first, found, 4, &err), 0);
    assert_int_equal (found[0], 0);
    assert_int_equal (page_file_peek (f, first + 2, found, 4, &err), -EINVAL);
    assert_int_equal (page_file_release (f, first + 1, 2, &err), -EINVAL);
    assert_int_equal (page_tree_add (pages_tree (f, "t"), &leaf, 1, &err),
                      -EINVAL);
    leaf.page = first + 2;
    assert_int_equal (page_tree_add (pages_tree (f, "t"), &leaf, 1, &err),
                      -EINVAL);
    assert_int_equal (page_file_share ("/nowhere/a.db", 512, &port, &shared,
                                       &err), -ENOENT);
    assert_int_equal (page_file_share (NULL, 512, &port, &shared, &err), 0);
    for (unsigned i = 0; i < PAGE_SHARED_TREES; i++)
        assert_int_equal (page_file_tree (shared, "t", &t, &err), 0);
    assert_int_equal (page_file_tree (shared, "t", &t, &err), -E2BIG);
    page_file_close (shared);
    page_file_close (f);
    pages_end (&p);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_share),
        cmocka_unit_test (test_extents),
        cmocka_unit_test (test_refused),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
