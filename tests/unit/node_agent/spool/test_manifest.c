/* tests/unit/node_agent/spool/test_manifest.c - which files a manifest has, and
 * whose it is */
#include "node_agent/spool/manifest_check.h"

#include "base/clock.h"

#include <fcntl.h>

/* Their number alone does not tell which they are. */
static void test_lists (void **state)
{
    const char *all[] = { "z", "sub/b", "a" }, *other[] = { "z", "b", "a" };
    const char *more[] = { "z", "sub/b", "a", "c" };
    struct buf b = take ();

    (void)state;
    assert_true (manifest_lists (b.data, b.size, all, 3));
    assert_false (manifest_lists (b.data, b.size, all, 2));
    assert_false (manifest_lists (b.data, b.size, all, 0));
    assert_false (manifest_lists (b.data, b.size, other, 3));
    assert_false (manifest_lists (b.data, b.size, more, 4));
    buf_fini (&b);
}

/* Whose rest it is that lies at a capture's place. */
static void test_is_of (void **state)
{
    struct buf b = take ();
    int64_t now = clock_wall_ns ();

    (void)state;
    assert_int_equal (unlink (in_dir ("c/a")), 0);
    put ("c/later", "1");
    assert_int_equal (manifest_is_of (in_dir ("c"), b.data, b.size, now), 1);
    assert_int_equal (manifest_is_of (in_dir ("c"), b.data, 3, now), 0);
    assert_int_equal (rename (in_dir ("c"), in_dir ("moved")), 0);
    assert_int_equal (manifest_is_of (in_dir ("c"), b.data, b.size, now),
                      -ENOENT);
    assert_int_equal (mkdir (in_dir ("c"), 0700), 0);
    assert_int_equal (manifest_is_of (in_dir ("c"), b.data, b.size, now), 0);
    buf_fini (&b);
}

/* With the inode of the one before it. */
static void test_is_born_later (void **state)
{
    struct buf b = take ();
    struct statx x;

    (void)state;
    if (statx (AT_FDCWD, in_dir ("c"), 0, STATX_BTIME, &x) < 0 ||
        !(x.stx_mask & STATX_BTIME)) {
        print_message ("SKIPPED: the file system has no times of birth\n");
        skip ();
    }
    assert_int_equal (manifest_is_of (in_dir ("c"), b.data, b.size,
                                      x.stx_btime.tv_sec * NS_PER_S - 1), 0);
    buf_fini (&b);
}

static void test_link_inside (void **state)
{
    struct buf b;
    size_t files;

    (void)state;
    assert_int_equal (symlink ("../outside", in_dir ("c/link")), 0);
    buf_init (&b, MANIFEST_MAX);
    assert_int_equal (manifest_take (in_dir ("c"), &b, &files, NULL),
                      -ENOTSUP);
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ON_CAPTURE (test_lists),
        ON_CAPTURE (test_is_of),
        ON_CAPTURE (test_is_born_later),
        ON_CAPTURE (test_link_inside),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
