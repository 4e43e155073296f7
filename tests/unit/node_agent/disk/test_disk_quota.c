/* tests/unit/node_agent/disk/test_disk_quota.c - room in the spool, release
 * of captures */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "disk/disk_quota.h"
#include "disk/release.h"
#include "spool/manifest.h"
#include "spool/manifest_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define GIB (UINT64_C (1) << 30)

static char dir[64];                    // of one test

/* A file system of 100 GiB with so much free. */
static uint64_t free_now = 50 * GIB;

int __wrap_statvfs (const char *path, struct statvfs *v);

int __wrap_statvfs (const char *path, struct statvfs *v)
{
    (void)path;
    memset (v, 0, sizeof (*v));
    v->f_frsize = 1;
    v->f_blocks = 100 * GIB;
    v->f_bavail = free_now;
    return 0;
}

static void test_admits (void **state)
{
    struct disk_quota g = { .spool_dir = "/spool" };

    (void)state;
    assert_int_equal (disk_quota_quota_bytes (&g), 10 * GIB);
    assert_true (disk_quota_admits (&g, 0, 0) > 1);
    // near the quota one at a time, or it would be exceeded by all of them
    assert_int_equal (disk_quota_admits (&g, 10 * GIB - 1, 0), 1);
    assert_false (g.full);
    assert_int_equal (disk_quota_admits (&g, 10 * GIB, 0), 0);
    assert_int_equal (disk_quota_admits (&g, GIB, 9 * GIB), 0);
    assert_non_null (strstr (g.why.text, "kept until there is a second"));
    assert_true (g.full);
    assert_non_null (strstr (g.why.text, "--spool-quota"));
    free_now = GIB - 1;
    assert_int_equal (disk_quota_admits (&g, 0, 0), 0);
    assert_non_null (strstr (g.why.text, "--disk-floor"));
    free_now = 50 * GIB;
    assert_true (disk_quota_admits (&g, 0, 0) > 1);
    assert_false (g.full);
}

static void test_words (void **state)
{
    struct release_policy p = { .kind = RELEASE_NEVER };
    enum disk_quota_policy g;

    (void)state;
    assert_true (disk_quota_parse_policy ("drop-oldest-shipped", &g));
    assert_int_equal (g, DISK_QUOTA_DROP);
    assert_false (disk_quota_parse_policy ("drop", &g));
    assert_true (release_parse ("after=2m", &p));
    assert_int_equal (p.kind, RELEASE_AFTER);
    assert_int_equal (p.after_ns, INT64_C (120000000000));
    assert_false (release_parse ("after=", &p));
    assert_false (release_parse ("always", &p));
    assert_int_equal (p.kind, RELEASE_AFTER);
}

/* Only what is below the directory, not what has a name like it. */
static void test_concerns (void **state)
{
    struct release_policy p = { .kind = RELEASE_SHIPPED, .below = "/a/b" };

    (void)state;
    assert_true (release_concerns (&p, "/a/b/c"));
    assert_false (release_concerns (&p, "/a/bc/d"));
    assert_false (release_concerns (&p, "/a/b"));
    p.below = NULL;
    assert_true (release_concerns (&p, "/x"));
    p.kind = RELEASE_NEVER;
    assert_false (release_concerns (&p, "/x"));
}

/* ---- manifests ---- */

static const char *in_dir (const char *name)
{
    static char path[4][256];
    static unsigned n;
    char *at = path[n++ % 4];

    (void)snprintf (at, sizeof (path[0]), "%s/%s", dir, name);
    return at;
}

static void put (const char *name, const char *text)
{
    FILE *f = fopen (in_dir (name), "w");

    assert_non_null (f);
    assert_true (fputs (text, f) >= 0);
    assert_int_equal (fclose (f), 0);
}

static int make_capture (void **state)
{
    (void)state;
    (void)strcpy (dir, "/tmp/test_guard.XXXXXX");
    if (!mkdtemp (dir) || mkdir (in_dir ("c"), 0700) < 0 ||
        mkdir (in_dir ("c/sub"), 0700) < 0)
        return -1;
    put ("outside", "not of the capture");
    put ("c/a", "1");
    put ("c/sub/b", "22");
    put ("c/z", "333");
    return 0;
}

static int remove_capture (void **state)
{
    char command[128];

    (void)state;
    (void)snprintf (command, sizeof (command), "rm -rf '%s'", dir);
    return system (command);
}

static struct buf take (void)
{
    struct buf b;
    size_t files = 0;

    buf_init (&b, MANIFEST_MAX);
    assert_int_equal (manifest_take (in_dir ("c"), &b, &files, NULL), 0);
    assert_int_equal (files, 3);
    return b;
}

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

#define ON_CAPTURE(test) \
    cmocka_unit_test_setup_teardown (test, make_capture, remove_capture)

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_admits),
        cmocka_unit_test (test_words),
        cmocka_unit_test (test_concerns),
        ON_CAPTURE (test_lists),
        ON_CAPTURE (test_beside),
        ON_CAPTURE (test_remove),
        ON_CAPTURE (test_remove_rest),
        ON_CAPTURE (test_set_aside),
        ON_CAPTURE (test_gives_back),
        ON_CAPTURE (test_not_set_aside),
        ON_CAPTURE (test_changed),
        ON_CAPTURE (test_another_inode),
        ON_CAPTURE (test_another_directory),
        ON_CAPTURE (test_is_of),
        ON_CAPTURE (test_is_born_later),
        ON_CAPTURE (test_link_inside),
        ON_CAPTURE (test_damaged),
        ON_CAPTURE (test_one_file),
        ON_CAPTURE (test_one_file_changed),
        ON_CAPTURE (test_one_inode),
        ON_CAPTURE (test_file_for_directory),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
