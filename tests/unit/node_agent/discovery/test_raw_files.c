/* tests/unit/node_agent/discovery/test_raw_files.c - the files of a capture */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "discovery/raw_files.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct seen {
    char dir[PATH_MAX / 4];
    char files[4096], left[4096], skipped[4096];
    int rc;                     // of the first file
};

static int setup (void **state)
{
    struct seen *s = calloc (1, sizeof (*s));
    const char *tmp = getenv ("TMPDIR");

    (void)snprintf (s->dir, sizeof (s->dir), "%s/rollcall-raw-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (s->dir));
    *state = s;
    return 0;
}

static int teardown (void **state)
{
    struct seen *s = *state;

    (void)fileio_remove_tree (s->dir, NULL);
    free (s);
    return 0;
}

static void make (const struct seen *s, const char *path)
{
    char full[PATH_MAX], *slash;
    int fd;

    PRINT (full, "%s/%s", s->dir, path);
    slash = strrchr (full, '/');
    *slash = '\0';
    assert_int_equal (fileio_mkdirs (full, 0700, NULL), 0);
    *slash = '/';
    fd = open (full, O_WRONLY | O_CREAT, 0600);
    assert_true (fd >= 0);
    (void)close (fd);
}

static int on_file (void *arg, int dirfd, const char *name, const char *path,
                    struct err *err)
{
    struct seen *s = arg;

    (void)err;
    assert_int_equal (faccessat (dirfd, name, F_OK, 0), 0);
    (void)strcat (strcat (s->files, path), " ");
    return s->rc;
}

static int pass_over (void *arg, const char *path, int rc, struct err *err)
{
    (void)path;
    (void)err;
    (void)strcat (((struct seen *)arg)->left, strerror (-rc));
    return 0;
}

static void leave_out (void *arg, const char *path, const char *why)
{
    (void)why;
    (void)strcat (strcat (((struct seen *)arg)->left, path), " ");
}

static void note_skipped (void *arg, const char *path, const char *why)
{
    struct seen *s = arg;

    (void)strcat (strcat (strcat (strcat (s->skipped, path), ": "), why), "\n");
}

static int list (struct seen *s, const char *capture)
{
    const struct raw_files files = { .file = on_file, .pass_over = pass_over,
                                     .leave_out = leave_out, .skip = note_skipped,
                                     .arg = s };
    char path[PATH_MAX];

    s->files[0] = s->left[0] = s->skipped[0] = '\0';
    PRINT (path, "%s/%s", s->dir, capture);
    return raw_files_each (path, &files, NULL);
}

static void test_files_in_it_and_beside (void **state)
{
    struct seen *s = *state;
    char link[PATH_MAX];

    make (s, "c/sub/one");
    make (s, "c/.rollcall-job");
    make (s, "c/rollcall.shipment");    // of rollcall archive get
    make (s, "c_op_arg/two");
    make (s, "c_other/three");
    make (s, "c/c_op_arg/four");        // it would have the name of "two"
    PRINT (link, "%s/c/link", s->dir);
    assert_int_equal (symlink ("/etc/passwd", link), 0);
    PRINT (link, "%s/d_op_arg", s->dir);
    assert_int_equal (symlink ("/etc", link), 0);
    make (s, "d/one");
    assert_int_equal (list (s, "d"), 0);
    assert_string_equal (s->files, "one ");
    assert_string_equal (s->skipped, "d_op_arg: it is a symbolic link, which is "
                         "not followed\n");
    assert_int_equal (list (s, "c"), 0);
    assert_string_equal (s->files, "sub/one c_op_arg/two ");
    assert_string_equal (s->left, "c_op_arg ");
    assert_string_equal (s->skipped, "link: it is a symbolic link, which is not "
                         "followed\n");
}

static void test_one_file (void **state)
{
    struct seen *s = *state;

    make (s, "a.pt.trace.json");
    assert_int_equal (list (s, "a.pt.trace.json"), 0);
    assert_string_equal (s->files, "a.pt.trace.json ");
}

static void test_failure_ends_it (void **state)
{
    struct seen *s = *state;

    make (s, "c/one");
    make (s, "c/two");
    s->rc = -EIO;
    assert_int_equal (list (s, "c"), -EIO);
    assert_int_equal (strlen (s->files), 4);
}

static void test_nothing_there (void **state)
{
    struct seen *s = *state;

    assert_int_equal (list (s, "c"), 0);
    assert_string_equal (s->left, strerror (ENOENT));
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_files_in_it_and_beside), TEST (test_one_file),
        TEST (test_failure_ends_it), TEST (test_nothing_there),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
