/* tests/unit/aggregator/archive/test_raw_tree.c - where the raw files of a job
 * go */
#include "aggregator/store/root_check.h"

#include "job_build/raw_tree.h"

#include <fcntl.h>

struct fixture {
    struct root root;
    char out[PATH_MAX / 2];
    char named[ERR_TEXT_MAX];   // the first that was missing
    int64_t newest;             // of what is delivered
    int64_t version;            // that counts; 0: the newest
    size_t left;                // that are expected not to be in it
    struct file_facts facts;    // of what is delivered
};

static int setup (void **state)
{
    struct fixture *f = calloc (1, sizeof (*f));

    root_make (&f->root);
    (void)snprintf (f->out, sizeof (f->out), "%s/captures", f->root.dir);
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    root_remove (&f->root);
    free (f);
    return 0;
}

static void deliver (struct fixture *f, int64_t rank, const char *capture,
                     const char *path, const char *bytes)
{
    struct ledger_item item = { .kind = ITEM_RAW, .rank = rank,
                                .newest_ns = f->newest };

    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    (void)snprintf (item.path, sizeof (item.path), "%s", path);
    item.facts = f->facts;
    item.content = root_digest (bytes);
    assert_int_equal (store_put_chunk (f->root.s, &item.content,
                                       strlen (bytes), CODEC_PLAIN, bytes,
                                       strlen (bytes), &item.place, NULL), 0);
    assert_int_equal (ledger_add_content (f->root.l, &item.content, &item.place,
                                          NULL), 0);
    assert_true (ledger_add_item (f->root.l, &item, NULL) >= 0);
}

static int64_t version_of (void *arg, int64_t rank, const char *capture,
                           const char *dir)
{
    const struct fixture *f = arg;

    assert_int_equal (rank, 0);
    assert_string_equal (capture, "a");
    assert_string_equal (dir, "");
    return f->version;
}

static int put (struct fixture *f, struct raw_tree *t, atomic_bool *cancel,
                struct err *err)
{
    struct tree out;
    int rc;

    assert_int_equal (fileio_mkdirs (f->out, 0700, NULL), 0);
    assert_int_equal (tree_open (&out, f->out, NULL), 0);
    rc = raw_tree_put (t, &out, cancel, err);
    tree_close (&out);
    return rc;
}

/* 'missing' of so many files. */
static void build_without (struct fixture *f, size_t files, size_t missing)
{
    struct raw_tree *t = NULL;
    struct err err = { "" };
    atomic_bool cancel = false;

    if (raw_tree_create (f->root.l, f->root.s, "j", &t, &err) < 0)
        fail_msg ("%s", err.text);
    raw_tree_choose (t, f->version ? version_of : NULL, f);
    if (put (f, t, &cancel, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (t->left, f->left);
    assert_int_equal (t->n, files);
    assert_int_equal (t->missing, missing);
    (void)snprintf (f->named, sizeof (f->named), "%s", t->named[0].text);
    raw_tree_destroy (t);
}

static void build (struct fixture *f, size_t files)
{
    build_without (f, files, 0);
}

static void check_file (struct fixture *f, const char *name, const char *want)
{
    char path[PATH_MAX];
    struct buf b;

    assert_true (fileio_join (path, sizeof (path), f->out, name));
    buf_init (&b, 1024);
    if (fileio_read_at (AT_FDCWD, path, &b, NULL) != 0)
        fail_msg ("%s is not there", name);
    assert_string_equal (buf_text (&b), want);
    buf_fini (&b);
}

static void check_facts (struct fixture *f, const char *name, mode_t mode,
                         int64_t mtime_ns)
{
    char path[PATH_MAX];
    struct stat st;

    assert_true (fileio_join (path, sizeof (path), f->out, name));
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 07777, mode);
    assert_true (st.st_mtim.tv_sec * INT64_C (1000000000) +
                     st.st_mtim.tv_nsec == mtime_ns);
}

/* Mode and time are those of the version, also of a file that is there. */
static void test_facts (void **state)
{
    struct fixture *f = *state;

    f->facts = (struct file_facts){ S_IFREG | 0751, 1234567890123456789, -1,
                                    -1 };
    deliver (f, 0, "a", "x", "a0");
    build (f, 1);
    check_facts (f, "a/x", 0751, 1234567890123456789);
    f->newest = 7;
    f->facts.mode = S_IFREG | 0600;
    f->facts.mtime_ns = -5;
    deliver (f, 0, "a", "x", "a0");
    build (f, 1);
    check_facts (f, "a/x", 0600, -5);
}

/* Names that only one rank has need nothing more. */
static void test_own_names (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "a", "x", "a0");
    deliver (f, 1, "b", "x", "b1");
    deliver (f, 1, "b", "sub/y", "b1y");
    build (f, 3);
    check_file (f, "a/x", "a0");
    check_file (f, "b/x", "b1");
    check_file (f, "b/sub/y", "b1y");
}

/* What was beside a capture is beside it again, and takes no other's place. */
static void test_beside (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "a", "x", "a0");
    deliver (f, 0, "a", "a_op_args/t/x", "arguments");
    deliver (f, 0, "a", "sub/a_op_args/x", "its own");
    deliver (f, 0, "a", "b_op_args/x", "another name");
    deliver (f, 0, "a", "a_op_args", "a file");
    deliver (f, 1, "rank3", "rank3_op_arg/x", "of 1");
    build (f, 6);
    check_file (f, "a/x", "a0");
    check_file (f, "a_op_args/t/x", "arguments");
    check_file (f, "a/sub/a_op_args/x", "its own");
    check_file (f, "a/b_op_args/x", "another name");
    check_file (f, "a/a_op_args", "a file");
    check_file (f, "rank1/rank3_op_arg/x", "of 1");
}

/* A name that several have: each is below its rank, whoever came first. */
static void test_shared_name (void **state)
{
    struct fixture *f = *state;

    deliver (f, 12, "prof", "x", "of 12");
    deliver (f, 0, "prof", "x", "of 0");
    deliver (f, -1, "prof", "x", "of none");
    deliver (f, 0, "prof", "only/here", "too");
    deliver (f, 3, "alone", "x", "of 3");
    build (f, 5);
    check_file (f, "rank12/prof/x", "of 12");
    check_file (f, "rank0/prof/x", "of 0");
    check_file (f, "rank0/prof/only/here", "too");
    check_file (f, "no-rank/prof/x", "of none");
    check_file (f, "alone/x", "of 3");
}

/* Captures that are called as the directories between. */
static void test_rank_names (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "prof", "x", "of 0");
    deliver (f, 1, "prof", "x", "of 1");
    deliver (f, 2, "rank0", "prof/x", "of 2");
    deliver (f, 3, "no-rank", "prof/x", "of 3");
    deliver (f, 4, "rank0_ascend_pt", "x", "of 4");
    build (f, 5);
    check_file (f, "rank0/prof/x", "of 0");
    check_file (f, "rank1/prof/x", "of 1");
    check_file (f, "rank2/rank0/prof/x", "of 2");
    check_file (f, "rank3/no-rank/prof/x", "of 3");
    check_file (f, "rank0_ascend_pt/x", "of 4");
}

/* A capture that is one file lies there as it did where it came from, so that
 * it is found again; a name that nobody has as a capture makes no file beside.
 */
static void test_one_file (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "a.pt.trace.json", "a.pt.trace.json", "of 0");
    deliver (f, 1, "t.pt.trace.json", "t.pt.trace.json", "of 1");
    deliver (f, 2, "t.pt.trace.json", "t.pt.trace.json", "of 2");
    deliver (f, -1, "t.pt.trace.json", "t.pt.trace.json", "of none");
    deliver (f, 4, "rank4", "rank4", "of 4");
    deliver (f, 5, ".rollcall-raw.part", ".rollcall-raw.part", "hidden");
    build_without (f, 6, 1);
    check_file (f, "a.pt.trace.json", "of 0");
    check_file (f, "rank1/t.pt.trace.json", "of 1");
    check_file (f, "rank2/t.pt.trace.json", "of 2");
    check_file (f, "no-rank/t.pt.trace.json", "of none");
    check_file (f, "rank4/rank4", "of 4");
}

/* A directory that has a file of its own name is no single file: the file would
 * lie where the directory is to be, and the others be missing.
 */
static void test_own_name_inside (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "prof", "prof", "of its name");
    deliver (f, 0, "prof", "trace.json", "beside it");
    deliver (f, 1, "a", "a", "shared, of 1");
    deliver (f, 2, "a", "b", "shared, beside it");
    deliver (f, 2, "a", "a", "shared, of 2");
    build (f, 5);
    check_file (f, "prof/prof", "of its name");
    check_file (f, "prof/trace.json", "beside it");
    check_file (f, "rank1/a", "shared, of 1");  // it is one file in rank 1
    check_file (f, "rank2/a/a", "shared, of 2");
    check_file (f, "rank2/a/b", "shared, beside it");
}

/* Not in another version either: with each version that counts the place of
 * the file would change, and what was there be in the way of the next.
 */
static void test_own_name_of_version (void **state)
{
    struct fixture *f = *state;

    f->newest = 1;
    deliver (f, 0, "a", "a", "of 1");
    f->newest = 2;
    deliver (f, 0, "a", "b", "of 2");
    f->version = 1;
    f->left = 0;
    build (f, 2);
    check_file (f, "a/a", "of 1");
    f->version = 2;
    f->left = 1;
    build (f, 1);
    check_file (f, "a/b", "of 2");
}

/* Of a capture that came again the newer files are there. */
static void test_again (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "a", "x", "older and longer");
    build (f, 1);
    deliver (f, 0, "a", "x", "newer");
    f->left = 1;
    build (f, 1);
    check_file (f, "a/x", "newer");
}

/* A version of x, y and z, then one of the rest while it was being removed, to
 * which something was written: files are all of the version whose rows count.
 */
static void test_version (void **state)
{
    struct fixture *f = *state;

    f->newest = 1;
    deliver (f, 0, "a", "gone", "before the first");
    f->newest = 2;
    deliver (f, 0, "a", "x", "x of 2");
    deliver (f, 0, "a", "y", "y of both");
    deliver (f, 0, "a", "z", "z of 2");
    f->newest = 3;
    deliver (f, 0, "a", "y", "y of both");
    deliver (f, 0, "a", "z", "z of 3");
    f->version = 2;
    f->left = 2;
    build (f, 3);
    check_file (f, "a/x", "x of 2");
    check_file (f, "a/y", "y of both");
    check_file (f, "a/z", "z of 2");
    f->version = 3;
    f->left = 3;
    build (f, 2);
    check_file (f, "a/z", "z of 3");
    check_file (f, "a/y", "y of both");
    // of version 4 there are rows, and no raw files yet
    f->version = 4;
    build (f, 2);
    check_file (f, "a/z", "z of 3");
}

/* What came last of one content and another is no loss of the first. */
static void test_back_again (void **state)
{
    struct fixture *f = *state;

    f->newest = 1;
    deliver (f, 0, "a", "x", "as it was");
    f->newest = 2;
    deliver (f, 0, "a", "x", "other");
    f->newest = 3;
    deliver (f, 0, "a", "x", "as it was");
    f->left = 1;
    build (f, 1);
    check_file (f, "a/x", "as it was");
}

static void path_in (struct fixture *f, const char *name, char path[PATH_MAX])
{
    assert_true (fileio_join (path, PATH_MAX, f->out, name));
}

static ino_t inode_of (struct fixture *f, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    path_in (f, name, path);
    assert_int_equal (stat (path, &st), 0);
    return st.st_ino;
}

static void overwrite (const char *path, off_t at, const char *bytes)
{
    int fd = open (path, O_WRONLY);

    assert_true (fd >= 0);
    assert_int_equal (pwrite (fd, bytes, strlen (bytes), at), strlen (bytes));
    (void)close (fd);
}

/* A service builds again and again: who reads the tree must not see files that
 * are being written, and what is whole is not written again; what is not is,
 * although its name and size are right.
 */
static void test_only_changes (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    ino_t x, y;

    deliver (f, 0, "a", "x", "whole");
    deliver (f, 0, "a", "y", "not so");
    build (f, 2);
    x = inode_of (f, "a/x");
    y = inode_of (f, "a/y");
    path_in (f, "a/y", path);
    overwrite (path, 0, "X");
    build (f, 2);
    assert_true (inode_of (f, "a/x") == x);
    assert_true (inode_of (f, "a/y") != y);     // renamed over the other
    check_file (f, "a/y", "not so");
}

/* A service has built when one file of a capture was there, and builds again
 * when the others are: what it had put in the place of the directory is in it
 * then, also if that is the last copy.
 */
static void test_one_becomes_many (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct stat st;
    ino_t before;

    deliver (f, 0, "prof", "prof", "first");
    build (f, 1);
    check_file (f, "prof", "first");
    before = inode_of (f, "prof");
    store_segment_path (f->root.dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    overwrite (path, st.st_size - 1, "X");
    deliver (f, 0, "prof", "a", "sorted before it");
    deliver (f, 0, "prof", "sub/z", "and behind it");
    build (f, 3);
    check_file (f, "prof/prof", "first");
    assert_true (inode_of (f, "prof/prof") == before);
    check_file (f, "prof/a", "sorted before it");
    check_file (f, "prof/sub/z", "and behind it");
    build (f, 3);
    assert_true (inode_of (f, "prof/prof") == before);
}

/* What cannot be given back as it was is named; the others are there. */
static void test_missing (void **state)
{
    struct fixture *f = *state;
    struct ledger_item lost = { .kind = ITEM_RAW, .rank = 2, .job = "j",
                                .capture = "c", .path = "z",
                                .content = { { 1 } } };
    char path[PATH_MAX];
    struct stat st;

    deliver (f, 0, "a", "x", "damaged here");
    store_segment_path (f->root.dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    overwrite (path, st.st_size - 1, "X");
    deliver (f, 1, "b", "y", "whole");
    build_without (f, 2, 1);
    assert_string_equal (f->named, "raw file a/x: its stored data is "
                         "damaged; after rollcall fsck aggregator --repair an "
                         "agent can deliver it again");
    path_in (f, "a/x", path);
    assert_int_equal (access (path, F_OK), -1);
    check_file (f, "b/y", "whole");
    assert_int_equal (ledger_add_item (f->root.l, &lost, NULL), 1);
    build_without (f, 3, 2);
}

/* The end of the program does not wait for all that is to be copied. */
static void test_cancel (void **state)
{
    struct fixture *f = *state;
    atomic_bool cancel = true;
    struct raw_tree *t = NULL;
    char path[PATH_MAX];

    deliver (f, 0, "a", "x", "bytes");
    assert_int_equal (raw_tree_create (f->root.l, f->root.s, "j", &t, NULL), 0);
    assert_int_equal (put (f, t, &cancel, NULL), -EINTR);
    raw_tree_destroy (t);
    path_in (f, "a/x", path);
    assert_int_equal (access (path, F_OK), -1);
}

/* Links in the place of a directory, of a file and of the file that is written:
 * nothing is made or changed where they lead.
 */
static void test_links (void **state)
{
    struct fixture *f = *state;
    char outside[PATH_MAX], path[PATH_MAX];

    deliver (f, 0, "a", "x", "bytes");
    deliver (f, 0, "b", "dir/y", "bytes");
    deliver (f, 0, "c", "z", "bytes");
    assert_int_equal (fileio_mkdirs (f->out, 0700, NULL), 0);
    (void)snprintf (outside, sizeof (outside), "%s/outside", f->root.dir);
    assert_int_equal (mkdir (outside, 0700), 0);
    path_in (f, "a", path);
    assert_int_equal (symlink (outside, path), 0);
    path_in (f, "b", path);
    assert_int_equal (mkdir (path, 0700), 0);
    path_in (f, "b/dir", path);
    assert_int_equal (symlink (outside, path), 0);
    path_in (f, "c", path);
    assert_int_equal (mkdir (path, 0700), 0);
    path_in (f, "c/z", path);
    (void)snprintf (outside, sizeof (outside), "%s/outside/z", f->root.dir);
    assert_int_equal (symlink (outside, path), 0);
    path_in (f, ".rollcall-raw.part", path);
    assert_int_equal (symlink (outside, path), 0);
    build_without (f, 3, 2);
    assert_non_null (strstr (f->named, "is a symbolic link"));
    path_in (f, "c/z", path);
    assert_int_equal (unlink (path), 0);        // a file has its place
    (void)snprintf (outside, sizeof (outside), "%s/outside", f->root.dir);
    assert_int_equal (rmdir (outside), 0);      // it is empty
}

/* A file where another one's directory should be: the others are there. */
static void test_in_the_way (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "a", "x", "a file");
    deliver (f, 0, "a", "x/y", "below it");
    deliver (f, 1, "b", "z", "of another");
    build_without (f, 3, 1);
    assert_non_null (strstr (f->named, "raw file a/x/y: "));
    check_file (f, "a/x", "a file");
    check_file (f, "b/z", "of another");
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_own_names), TEST (test_beside), TEST (test_shared_name),
        TEST (test_rank_names),
        TEST (test_one_file), TEST (test_own_name_inside),
        TEST (test_own_name_of_version), TEST (test_one_becomes_many),
        TEST (test_again), TEST (test_version),
        TEST (test_back_again),
        TEST (test_in_the_way), TEST (test_only_changes), TEST (test_missing),
        TEST (test_cancel), TEST (test_links), TEST (test_facts),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
