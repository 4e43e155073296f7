/* tests/unit/aggregator/publish/test_scratch.c - a directory for one build's
 * files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/scratch.h"
#include "store/fileio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int make_dir (void **state)
{
    static struct tree dir;
    char path[64];

    (void)snprintf (path, sizeof (path), "/tmp/test_scratch-XXXXXX");
    *state = &dir;
    return mkdtemp (path) ? tree_open (&dir, path, NULL) : -1;
}

static int remove_dir (void **state)
{
    struct tree *dir = *state;
    int rc = fileio_remove_tree (dir->path, NULL);

    tree_close (dir);
    return rc;
}

/* In the directory of the test. */
static const char *in_dir (void **state, const char *name,
                           char path[PATH_MAX])
{
    const struct tree *dir = *state;

    assert_true (fileio_join (path, PATH_MAX, dir->path, name));
    return path;
}

static void add_file (const struct scratch *s, const char *name)
{
    char path[PATH_MAX];
    int fd;

    assert_true (fileio_join (path, sizeof (path), s->tree.path, name));
    fd = open (path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true (fd >= 0);
    assert_int_equal (close (fd), 0);
}

static bool exists (const char *path)
{
    return access (path, F_OK) == 0;
}

/* Two builds of one process live beside each other, and nobody who cleans
 * takes a living one's files.
 */
static void test_living (void **state)
{
    struct scratch a, b;
    char path[PATH_MAX];

    assert_int_equal (scratch_create (&a, *state, NULL), 0);
    assert_int_equal (scratch_create (&b, *state, NULL), 0);
    assert_string_not_equal (a.tree.path, b.tree.path);
    add_file (&a, "0.analysis.db");
    scratch_clean (*state);
    assert_true (fileio_join (path, sizeof (path), a.tree.path, "0.analysis.db"));
    assert_true (exists (path));
    assert_true (exists (b.tree.path));
    (void)snprintf (path, sizeof (path), "%s", a.tree.path);
    scratch_destroy (&a);
    assert_false (exists (path));
    scratch_destroy (&a);
    scratch_destroy (&b);
}

/* The system takes the lock of a dead process back; nothing else tells. */
static void test_dead (void **state)
{
    struct scratch s;
    char path[PATH_MAX];

    assert_int_equal (scratch_create (&s, *state, NULL), 0);
    add_file (&s, "0.analysis.db");
    add_file (&s, "1.analysis.db");
    assert_int_equal (close (s.lock), 0);
    scratch_clean (*state);
    assert_false (exists (s.tree.path));
    // one that died before it had a lock
    assert_int_equal (mkdir (in_dir (state, ".rollcall-abc", path), 0700), 0);
    scratch_clean (*state);
    assert_false (exists (path));
}

/* What is called like one, but is somebody's link, is left alone. */
static void test_link (void **state)
{
    struct scratch s;
    char path[PATH_MAX];

    assert_int_equal (scratch_create (&s, *state, NULL), 0);
    assert_int_equal (close (s.lock), 0);
    assert_int_equal (rename (s.tree.path, in_dir (state, "precious", path)),
                      0);
    assert_int_equal (symlink ("precious", s.tree.path), 0);
    scratch_clean (*state);
    assert_true (exists (path));
    assert_true (exists (s.tree.path));
}

/* Somebody renames it while it is used, and puts a link, or a directory with
 * files, in its place: nothing is made there, and nothing goes.
 */
static void test_moved (void **state)
{
    struct scratch s;
    char moved[PATH_MAX], other[PATH_MAX], path[PATH_MAX];

    assert_int_equal (scratch_create (&s, *state, NULL), 0);
    assert_int_equal (mkdir (in_dir (state, "other", other), 0700), 0);
    assert_int_equal (rename (s.tree.path, in_dir (state, "moved", moved)), 0);
    assert_int_equal (symlink ("other", s.tree.path), 0);
    assert_int_equal (mknodat (s.tree.fd, "0.analysis.db", S_IFREG | 0600, 0),
                      0);
    assert_true (fileio_join (path, sizeof (path), moved, "0.analysis.db"));
    assert_true (exists (path));
    assert_int_equal (unlink (s.tree.path), 0);
    assert_int_equal (rename (other, s.tree.path), 0);
    (void)snprintf (other, sizeof (other), "%s", s.tree.path);
    scratch_destroy (&s);
    assert_false (exists (path));
    assert_true (exists (other));
}

static void test_nowhere (void **state)
{
    struct tree gone = { .fd = -1, .path = "/nonexistent" };
    struct scratch s;
    struct err err = { "" };

    (void)state;
    assert_true (scratch_create (&s, &gone, &err) < 0);
    assert_string_not_equal (err.text, "");
    scratch_destroy (&s);
    scratch_clean (&gone);
}

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST (test_living), TEST (test_dead), TEST (test_link),
        TEST (test_moved), TEST (test_nowhere),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
