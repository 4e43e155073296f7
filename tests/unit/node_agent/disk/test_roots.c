/* tests/unit/node_agent/disk/test_roots.c - where captures may be removed
 *
 * In a directory of its own: data/ and theirs/, and links to them.  Who owns a
 * link matters only if root runs this, who can give it away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "disk/roots.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOMEBODY 12345

static char top[64];

static int setup (void **state)
{
    (void)state;
    (void)snprintf (top, sizeof (top), "/tmp/test_roots-XXXXXX");
    assert_non_null (mkdtemp (top));
    assert_int_equal (chdir (top), 0);
    assert_int_equal (mkdir ("data", 0700), 0);
    assert_int_equal (mkdir ("theirs", 0700), 0);
    return 0;
}

static int teardown (void **state)
{
    (void)state;
    return chdir ("/") == 0 ? fileio_remove_tree (top, NULL) : -1;
}

/* What realpath(3) says, for any mixture of links and dots. */
static void test_resolve (void **state)
{
    static const char *const paths[] = {
        "data", "./data/", "data/..", "data/../theirs//", "link", "link/.",
        "link/../theirs", "chain", "far/tmp", "/", "/..", "//tmp/.", ".",
    };
    char real[PATH_MAX], expected[PATH_MAX];

    (void)state;
    assert_int_equal (symlink ("data", "link"), 0);
    assert_int_equal (symlink ("./data/../link", "chain"), 0);
    assert_int_equal (symlink ("/", "far"), 0);
    assert_int_equal (symlink ("loop", "loop"), 0);
    for (size_t i = 0; i < sizeof (paths) / sizeof (paths[0]); i++) {
        assert_non_null (realpath (paths[i], expected));
        assert_int_equal (tree_resolve (paths[i], real), 0);
        assert_string_equal (real, expected);
    }
    assert_int_equal (tree_resolve ("loop", real), -ELOOP);
    assert_int_equal (tree_resolve ("absent", real), -ENOENT);
}

static void give (const char *path)
{
    assert_int_equal (lchown (path, SOMEBODY, SOMEBODY), 0);
}

static void test_owners (void **state)
{
    char real[PATH_MAX];

    (void)state;
    if (geteuid () != 0) {
        print_message ("SKIPPED: only root can be another user\n");
        skip ();
    }
    assert_int_equal (symlink ("data", "link"), 0);
    assert_int_equal (tree_resolve ("link", real), 0);
    give ("link");
    assert_int_equal (tree_resolve ("link", real), -ELOOP);
    give ("data");                      // of the link's owner
    assert_int_equal (tree_resolve ("link", real), 0);
    assert_int_equal (symlink ("link", "other"), 0);
    assert_int_equal (tree_resolve ("other", real), 0);
    assert_int_equal (lchown ("other", SOMEBODY + 1, 0), 0);
    assert_int_equal (tree_resolve ("other", real), -ELOOP);
}

static int check (const struct roots *r, const char *path)
{
    char whole[PATH_MAX];

    (void)snprintf (whole, sizeof (whole), "%s/%s", top, path);
    return roots_check (r, whole, NULL);
}

/* What a directory was in the beginning counts, and what it is now, if its
 * links can be trusted.
 */
static void test_below (void **state)
{
    static const char *const dirs[] = { "data", "link", "later" };
    struct roots *r;
    struct err err = { "" };

    (void)state;
    assert_int_equal (symlink ("theirs", "link"), 0);
    if (geteuid () == 0)
        give ("link");                  // it was so when the user named it
    r = roots_create (dirs, 3);
    assert_non_null (r);
    assert_int_equal (check (r, "data/capture"), 0);
    assert_int_equal (check (r, "data"), 0);            // a trace
    assert_int_equal (check (r, "theirs/capture"), 0);
    assert_int_equal (check (r, "data2/capture"), -EXDEV);
    assert_int_equal (check (r, "later/capture"), -EXDEV);
    assert_int_equal (mkdir ("later", 0700), 0);
    assert_int_equal (check (r, "later/capture"), 0);
    assert_int_equal (mkdir ("more", 0700), 0);
    assert_int_equal (rename ("data", "old"), 0);
    assert_int_equal (symlink ("more", "data"), 0);
    assert_int_equal (check (r, "more/capture"), 0);
    if (geteuid () == 0) {
        give ("data");
        assert_int_equal (check (r, "more/capture"), -EXDEV);
    }
    assert_int_equal (roots_check (r, "/elsewhere/capture", &err), -EXDEV);
    assert_non_null (strstr (err.text, "/elsewhere/capture"));
    roots_destroy (r);
    roots_destroy (NULL);
}

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_resolve), TEST (test_owners), TEST (test_below),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
