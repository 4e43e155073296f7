/* tests/unit/common/store/test_fileio_tree.c - trees that are removed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/store/dir_check.h"
#include "store/fileio.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_remove_tree (void **state)
{
    struct err err = { "" };

    (void)state;
    assert_int_equal (fileio_mkdirs ("tree/a/b/c", 0700, NULL), 0);
    assert_int_equal (fileio_mkdirs ("tree/empty", 0700, NULL), 0);
    assert_int_equal (fileio_mkdirs ("outside/deep", 0700, NULL), 0);
    put_file ("tree/file", "x");
    put_file ("tree/a/b/c/.hidden", "x");
    put_file ("outside/deep/file", "kept");
    assert_int_equal (mkfifo ("tree/a/fifo", 0600), 0);
    assert_int_equal (symlink ("../../outside", "tree/a/link"), 0);
    assert_int_equal (symlink ("../outside/deep/file", "tree/link"), 0);
    assert_int_equal (symlink ("nowhere", "tree/dangling"), 0);
    assert_int_equal (symlink (".", "tree/self"), 0);
    for (unsigned i = 0; i < 500; i++) {    // more than one getdents(2)
        char name[32];

        (void)snprintf (name, sizeof (name), "tree/a/b/file%u", i);
        put_file (name, "");
    }
    assert_int_equal (fileio_remove_tree ("tree", &err), 0);
    assert_false (exists ("tree"));
    assert_file ("outside/deep/file", "kept");
    assert_int_equal (fileio_remove_tree ("tree", &err), 0);    // missing
}

/* Neither a link nor a file is a tree. */
static void test_remove_tree_refuses (void **state)
{
    struct err err = { "" };

    (void)state;
    assert_int_equal (mkdir ("real", 0700), 0);
    put_file ("real/file", "kept");
    assert_int_equal (symlink ("real", "link"), 0);
    assert_true (fileio_remove_tree ("link", &err) < 0);
    assert_non_null (strstr (err.text, "link"));
    assert_true (fileio_remove_tree ("real/file", NULL) < 0);
    assert_file ("real/file", "kept");
}

/* In mount and user namespaces of its own.  What is wrong, 0, or SKIPPED. */
#define SKIPPED 77

static int remove_above_mount (void)
{
    int flags = geteuid () == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;

    if (unshare (flags) < 0 ||
        mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount ("mounted", "above/dir", NULL, MS_BIND, NULL) < 0)
        return SKIPPED;
    if (fileio_remove_tree ("above", NULL) != -EXDEV)
        return 1;
    return exists ("mounted/file") ? 0 : 2;
}

/* Whoever mounts a disk below a directory that goes keeps what is on it. */
static void test_remove_tree_mount (void **state)
{
    int status = -1;
    pid_t pid;

    (void)state;
    assert_int_equal (mkdir ("above", 0700), 0);
    assert_int_equal (mkdir ("above/dir", 0700), 0);
    assert_int_equal (mkdir ("mounted", 0700), 0);
    put_file ("mounted/file", "kept");
    if ((pid = fork ()) == 0)
        _exit (remove_above_mount ());
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFEXITED (status));
    if (WEXITSTATUS (status) == SKIPPED) {
        print_message ("SKIPPED: mounting is not permitted here\n");
        skip ();
    }
    assert_int_equal (WEXITSTATUS (status), 0);
}

/* Nested so deep that each level's descriptor would add up: refused. */
static void test_remove_tree_deep (void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal (mkdir ("d", 0700), 0);
        assert_int_equal (chdir ("d"), 0);
    }
    assert_int_equal (chdir (dir), 0);
    assert_true (fileio_remove_tree ("d", NULL) < 0);
    assert_true (exists ("d"));
}

/* No descriptor stays open, on any path through the file. */
static void test_no_leak (void **state)
{
    unsigned before = count_entries ("/proc/self/fd");

    test_remove_tree (state);
    test_remove_tree_refuses (state);
    assert_int_equal (count_entries ("/proc/self/fd"), before);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, dir_setup, dir_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_remove_tree),
        TEST (test_remove_tree_refuses),
        TEST (test_remove_tree_mount),
        TEST (test_remove_tree_deep),
        TEST (test_no_leak),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
