/* tests/unit/node_agent/spool/test_manifest_remove.c - captures that are
 * compared with their manifest, and removed */
#include "node_agent/spool/manifest_check.h"

#include "spool/manifest_remove.h"

#include <fcntl.h>
#include <limits.h>

static int check (const struct buf *b)
{
    return manifest_check (in_dir ("c"), b->data, b->size, NULL);
}

static int remove_it (const struct buf *b)
{
    return manifest_remove (in_dir ("c"), b->data, b->size, NULL);
}

/* What the profiler left beside the capture goes with it, and is looked at as
 * what is in it; nothing else of a like name is touched.
 */
static void test_beside (void **state)
{
    const char *all[] = { "a", "sub/b", "z", "c_op_args/t/x" };
    char aside[PATH_MAX];
    struct buf b;
    size_t files = 0;

    (void)state;
    assert_int_equal (mkdir (in_dir ("c_op_args"), 0700), 0);
    assert_int_equal (mkdir (in_dir ("c_op_args/t"), 0700), 0);
    assert_int_equal (mkdir (in_dir ("c_op_args2"), 0700), 0);
    put ("c_op_args/t/x", "4444");
    put ("c_op_args2/y", "another's");
    assert_int_equal (symlink ("outside", in_dir ("c_op_arg")), 0);
    buf_init (&b, MANIFEST_MAX);
    assert_int_equal (manifest_take (in_dir ("c"), &b, &files, NULL), 0);
    assert_int_equal (files, 4);
    assert_true (manifest_lists (b.data, b.size, all, 4));
    // what comes into it was not delivered
    put ("c_op_args/new", "5");
    assert_int_equal (check (&b), -ESTALE);
    assert_int_equal (unlink (in_dir ("c_op_args/new")), 0);
    assert_int_equal (check (&b), 0);
    // it is found by the capture's name while that has another
    assert_int_equal (manifest_set_aside (in_dir ("c"), b.data, b.size, NULL),
                      0);
    assert_int_equal (manifest_set_back (in_dir ("c"), b.data, b.size, NULL),
                      0);
    assert_int_equal (check (&b), 0);
    // the agent dies when the capture has gone, and it has not
    assert_int_equal (rename (in_dir ("c_op_args"), in_dir ("kept")), 0);
    assert_int_equal (remove_it (&b), 0);
    assert_int_equal (rename (in_dir ("kept"), in_dir ("c_op_args")), 0);
    assert_int_equal (remove_it (&b), 0);
    assert_int_equal (access (in_dir ("c_op_args"), F_OK), -1);
    assert_int_equal (access (in_dir ("c_op_args2/y"), F_OK), 0);
    assert_int_equal (access (in_dir ("outside"), F_OK), 0);
    manifest_aside_path (aside, in_dir ("c"), b.data, b.size);
    assert_int_equal (access (aside, F_OK), -1);
    buf_fini (&b);
}

static void test_remove (void **state)
{
    struct buf b = take ();

    (void)state;
    assert_int_equal (check (&b), 0);
    assert_int_equal (remove_it (&b), 0);
    assert_int_equal (access (in_dir ("c"), F_OK), -1);
    assert_int_equal (access (in_dir ("outside"), F_OK), 0);
    assert_int_equal (remove_it (&b), 0);       // again, after a crash
    buf_fini (&b);
}

/* Cut short at any file: the rest goes the next time. */
static void test_remove_rest (void **state)
{
    struct buf b = take ();

    (void)state;
    assert_int_equal (unlink (in_dir ("c/a")), 0);
    assert_int_equal (unlink (in_dir ("c/sub/b")), 0);
    assert_int_equal (check (&b), -ESTALE);
    assert_int_equal (remove_it (&b), 0);
    assert_int_equal (access (in_dir ("c"), F_OK), -1);
    buf_fini (&b);
}

/* The name of "c" while it is removed. */
static const char *aside (void)
{
    static char path[256];
    struct stat st;

    assert_int_equal (stat (in_dir ("c"), &st), 0);
    (void)snprintf (path, sizeof (path), "%s/.rollcall-removing-%llu-c", dir,
                    (unsigned long long)st.st_ino);
    return path;
}

static int set_aside (const struct buf *b)
{
    return manifest_set_aside (in_dir ("c"), b->data, b->size, NULL);
}

/* Then what is left of it is no capture, whoever finds it.  Cut short there,
 * it goes the next time.
 */
static void test_set_aside (void **state)
{
    struct buf b = take ();
    const char *now = aside ();
    char file[300];

    (void)state;
    assert_int_equal (set_aside (&b), 0);
    assert_int_equal (access (in_dir ("c"), F_OK), -1);
    assert_int_equal (access (now, F_OK), 0);
    assert_int_equal (set_aside (&b), 0);       // again, after a crash
    (void)snprintf (file, sizeof (file), "%s/a", now);
    assert_int_equal (unlink (file), 0);
    assert_int_equal (remove_it (&b), 0);
    assert_int_equal (access (now, F_OK), -1);
    buf_fini (&b);
}

/* What came into it meanwhile is not hidden, and nobody's place is taken. */
static void test_gives_back (void **state)
{
    struct buf b = take ();
    const char *now = aside ();
    char file[300];

    (void)state;
    (void)snprintf (file, sizeof (file), "%s/later", now);
    assert_int_equal (set_aside (&b), 0);
    put (file + strlen (dir) + 1, "1");
    assert_int_equal (mkdir (in_dir ("c"), 0700), 0);
    put ("c/new", "1");
    assert_int_equal (remove_it (&b), -ESTALE);
    assert_int_equal (access (file, F_OK), 0);
    assert_int_equal (access (in_dir ("c/new"), F_OK), 0);
    assert_int_equal (rename (in_dir ("c"), in_dir ("moved")), 0);
    assert_int_equal (remove_it (&b), -ESTALE);
    assert_int_equal (access (in_dir ("c/later"), F_OK), 0);
    assert_int_equal (access (in_dir ("c/a"), F_OK), -1);
    assert_int_equal (access (now, F_OK), -1);
    buf_fini (&b);
}

/* Another directory is not renamed; nor is one whose manifest is damaged. */
static void test_not_set_aside (void **state)
{
    struct buf b = take ();

    (void)state;
    assert_int_equal (manifest_set_aside (in_dir ("c"), b.data, 3, NULL),
                      -ESTALE);
    assert_int_equal (rename (in_dir ("c"), in_dir ("moved")), 0);
    assert_int_equal (set_aside (&b), 0);       // there is none
    assert_int_equal (mkdir (in_dir ("c"), 0700), 0);
    assert_int_equal (set_aside (&b), -ESTALE);
    assert_int_equal (access (in_dir ("c"), F_OK), 0);
    buf_fini (&b);
}

/* What was written to, came later, or took a name must not be lost. */
static void test_changed (void **state)
{
    struct buf b = take ();

    (void)state;
    put ("c/sub/b", "more");
    put ("c/later", "1");
    assert_int_equal (rename (in_dir ("outside"), in_dir ("c/z")), 0);
    assert_int_equal (check (&b), -ESTALE);
    assert_int_equal (remove_it (&b), -ESTALE);
    assert_int_equal (access (in_dir ("c/a"), F_OK), -1);
    assert_int_equal (access (in_dir ("c/sub/b"), F_OK), 0);
    assert_int_equal (access (in_dir ("c/later"), F_OK), 0);
    assert_int_equal (access (in_dir ("c/z"), F_OK), 0);
    buf_fini (&b);
}

/* Of the same size and date, but another file. */
static void test_another_inode (void **state)
{
    struct buf b = take ();
    struct stat st;
    struct timespec times[2];

    (void)state;
    assert_int_equal (stat (in_dir ("c/a"), &st), 0);
    put ("c/new", "2");
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    assert_int_equal (utimensat (AT_FDCWD, in_dir ("c/new"), times, 0), 0);
    assert_int_equal (rename (in_dir ("c/new"), in_dir ("c/a")), 0);
    assert_int_equal (check (&b), -ESTALE);
    assert_int_equal (remove_it (&b), -ESTALE);
    assert_int_equal (access (in_dir ("c/a"), F_OK), 0);
    buf_fini (&b);
}

/* The capture's name leads elsewhere now: nothing there may be touched. */
static void test_another_directory (void **state)
{
    struct buf b = take ();

    (void)state;
    assert_int_equal (rename (in_dir ("c"), in_dir ("moved")), 0);
    assert_int_equal (symlink ("moved", in_dir ("c")), 0);
    assert_true (remove_it (&b) < 0);
    assert_int_equal (access (in_dir ("moved/a"), F_OK), 0);
    assert_int_equal (unlink (in_dir ("c")), 0);
    assert_int_equal (mkdir (in_dir ("c"), 0700), 0);
    put ("c/a", "1");
    assert_int_equal (remove_it (&b), -ESTALE);
    assert_int_equal (access (in_dir ("c/a"), F_OK), 0);
    buf_fini (&b);
}

/* A manifest that is damaged removes nothing. */
static void test_damaged (void **state)
{
    struct buf b = take ();

    (void)state;
    assert_int_equal (manifest_remove (in_dir ("c"), b.data, 3, NULL),
                      -ESTALE);
    assert_int_equal (manifest_remove (in_dir ("c"), b.data, 0, NULL),
                      -ESTALE);
    assert_int_equal (check (&b), 0);
    buf_fini (&b);
}

/* A capture that is one file goes alone: what lies beside it is not its own. */
static void test_one_file (void **state)
{
    struct buf b;
    size_t files = 0;

    (void)state;
    put ("t.pt.trace.json", "{}");
    buf_init (&b, MANIFEST_MAX);
    assert_int_equal (manifest_take (in_dir ("t.pt.trace.json"), &b, &files,
                                     NULL), 0);
    assert_int_equal (files, 1);
    assert_int_equal (manifest_check (in_dir ("t.pt.trace.json"), b.data,
                                      b.size, NULL), 0);
    assert_int_equal (manifest_remove (in_dir ("t.pt.trace.json"), b.data,
                                       b.size, NULL), 0);
    assert_int_equal (access (in_dir ("t.pt.trace.json"), F_OK), -1);
    assert_int_equal (access (in_dir ("outside"), F_OK), 0);
    // again, after a crash
    assert_int_equal (manifest_remove (in_dir ("t.pt.trace.json"), b.data,
                                       b.size, NULL), 0);
    buf_fini (&b);
}

/* Written to, exchanged, or a directory by now: it stays. */
static void test_one_file_changed (void **state)
{
    const char *path = in_dir ("t.pt.trace.json");
    char inside[160];
    struct buf b;
    size_t files = 0;

    (void)state;
    (void)snprintf (inside, sizeof (inside), "%s/t.pt.trace.json/x", dir);
    put ("t.pt.trace.json", "{}");
    buf_init (&b, MANIFEST_MAX);
    assert_int_equal (manifest_take (path, &b, &files, NULL), 0);
    put ("t.pt.trace.json", "{ }");
    assert_int_equal (manifest_check (path, b.data, b.size, NULL), -ESTALE);
    assert_int_equal (manifest_remove (path, b.data, b.size, NULL), -ESTALE);
    assert_int_equal (access (path, F_OK), 0);
    assert_int_equal (rename (in_dir ("outside"), path), 0);
    assert_int_equal (manifest_remove (path, b.data, b.size, NULL), -ESTALE);
    assert_int_equal (access (path, F_OK), 0);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (mkdir (inside, 0700), 0);
    assert_int_equal (manifest_check (path, b.data, b.size, NULL), -ESTALE);
    assert_int_equal (manifest_remove (path, b.data, b.size, NULL), -ESTALE);
    assert_int_equal (access (inside, F_OK), 0);
    buf_fini (&b);
}

/* The number of the file's inode is that of a directory by now, or the other
 * way round: neither is removed.
 */
static void test_one_inode (void **state)
{
    const char *path = in_dir ("t.pt.trace.json");
    char inside[160], made[256];
    struct stat st;
    int n;

    (void)state;
    (void)snprintf (inside, sizeof (inside), "%s/t.pt.trace.json/x", dir);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (mkdir (inside, 0700), 0);
    assert_int_equal (stat (path, &st), 0);
    n = snprintf (made, sizeof (made), "%ju %ju%ct.pt.trace.json%c2 1 %ju",
                  (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, '\0', '\0',
                  (uintmax_t)st.st_ino);
    assert_int_equal (manifest_remove (path, made, (size_t)n + 1, NULL),
                      -ESTALE);
    assert_int_equal (access (inside, F_OK), 0);
    assert_int_equal (rmdir (inside), 0);
    assert_int_equal (rmdir (path), 0);
    put ("t.pt.trace.json", "{}");
    assert_int_equal (stat (path, &st), 0);
    n = snprintf (made, sizeof (made), "%ju %ju", (uintmax_t)st.st_dev,
                  (uintmax_t)st.st_ino);
    assert_int_equal (manifest_remove (path, made, (size_t)n + 1, NULL),
                      -ESTALE);
    assert_int_equal (access (path, F_OK), 0);
    assert_int_equal (unlink (path), 0);
}

/* The directory of a capture's name is a file by now. */
static void test_file_for_directory (void **state)
{
    struct buf b = take ();

    (void)state;
    assert_int_equal (rename (in_dir ("c"), in_dir ("moved")), 0);
    put ("c", "1");
    assert_int_equal (check (&b), -ESTALE);
    assert_int_equal (remove_it (&b), -ESTALE);
    assert_int_equal (access (in_dir ("c"), F_OK), 0);
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ON_CAPTURE (test_beside),
        ON_CAPTURE (test_remove),
        ON_CAPTURE (test_remove_rest),
        ON_CAPTURE (test_set_aside),
        ON_CAPTURE (test_gives_back),
        ON_CAPTURE (test_not_set_aside),
        ON_CAPTURE (test_changed),
        ON_CAPTURE (test_another_inode),
        ON_CAPTURE (test_another_directory),
        ON_CAPTURE (test_damaged),
        ON_CAPTURE (test_one_file),
        ON_CAPTURE (test_one_file_changed),
        ON_CAPTURE (test_one_inode),
        ON_CAPTURE (test_file_for_directory),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
