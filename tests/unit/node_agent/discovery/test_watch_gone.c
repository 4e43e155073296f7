/* tests/unit/node_agent/discovery/test_watch_gone.c - captures that are not
 * where they were */
#include "node_agent/discovery/watch_check.h"

/* Profilers remove the capture of warm-up steps: it must not be handed on as
 * one that cannot be read, neither before nor after it was settled.
 */
static void test_vanished (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    put (f, "x_ascend_pt/FRAMEWORK/data", "1");
    (void)snprintf (path, sizeof (path), "%s/x_ascend_pt", f->dir);
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_int_equal (watch_scan (f->w, QUIET, 0, 0, on_settled, f, NULL), 0);
    assert_int_equal (watch_unsettled (f->w), 1);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    assert_int_equal (watch_scan (f->w, 0, 1, 0, on_settled, f, NULL), 0);
    assert_int_equal (watch_unsettled (f->w), 0);
    assert_int_equal (f->settled, 0);
    put (f, "x_ascend_pt/FRAMEWORK/data", "1");
    assert_int_equal (watch_scan (f->w, 0, 2, 0, on_settled, f, NULL), 0);
    assert_int_equal (f->settled, 1);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    assert_int_equal (watch_scan (f->w, 0, 3, 0, on_settled, f, NULL), 0);
    assert_int_equal (f->settled, 1);
}

static void none_gone (struct fixture *f)
{
    struct watch_gone gone;

    assert_false (watch_next_gone (f->w, INT64_MAX, &gone));
    assert_int_equal (watch_missing_ns (f->w), 0);
}

static void gone_is (struct fixture *f, const char *name)
{
    struct watch_gone gone;

    assert_true (watch_next_gone (f->w, INT64_MAX, &gone));
    assert_non_null (strstr (gone.path, name));
    assert_false (gone.moved);
    free (gone.path);
    none_gone (f);
}

static void remove_tree (struct fixture *f, const char *name)
{
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/%s", f->dir, name);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
}

/* What nobody has read is lost: it is told; what was handed on is not, nor is
 * what a profiler that was stopped in its warm-up removes.
 */
static void test_gone (void **state)
{
    struct fixture *f = *state;

    put (f, "warm_ascend_pt/FRAMEWORK/data", "1");
    put (f, "late_ascend_pt/FRAMEWORK/data", "1");
    put (f, "read_ascend_pt/profiler_info_1.json", "{}");
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, 0), 0);
    remove_tree (f, "warm_ascend_pt");
    put (f, "late_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 2, 0), 0);
    none_gone (f);
    remove_tree (f, "late_ascend_pt");
    assert_int_equal (scan_at (f, 3, 0), 0);
    gone_is (f, "late_ascend_pt");
    assert_int_equal (flush_at (f, 3), 0);
    assert_int_equal (f->settled, 1);
    remove_tree (f, "read_ascend_pt");
    assert_int_equal (scan_at (f, 4, 0), 0);
    none_gone (f);
    // refused when it had settled: for want of room
    put (f, "wait_ascend_pt/FRAMEWORK/data", "1");
    f->rc = -EAGAIN;
    assert_int_equal (scan_at (f, 5, 0), 0);
    assert_int_equal (flush_at (f, 5), -EAGAIN);
    remove_tree (f, "wait_ascend_pt");
    assert_int_equal (scan_at (f, 6, 0), 0);
    gone_is (f, "wait_ascend_pt");
}

static void move (struct fixture *f, const char *from, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];

    (void)snprintf (a, sizeof (a), "%s/%s", f->dir, from);
    (void)snprintf (b, sizeof (b), "%s/%s", f->dir, to);
    assert_int_equal (rename (a, b), 0);
}

/* It was away when somebody looked, and is back before a search: the same as
 * ever, and wanted again all the same.  One that stays away is none of ours.
 */
static void test_back (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    put (f, "x_ascend_pt/profiler_info_0.json", "{}");
    (void)snprintf (path, sizeof (path), "%s/x_ascend_pt", f->dir);
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_int_equal (flush_at (f, 1), 0);
    assert_int_equal (f->settled, 1);
    move (f, "x_ascend_pt", "away");
    watch_hand_on_if_back (f->w, path);
    watch_hand_on_if_back (f->w, "/nowhere/x_ascend_pt");
    assert_int_equal (flush_at (f, 2), 0);      // not while it is away
    assert_int_equal (f->settled, 1);
    move (f, "away", "x_ascend_pt");
    assert_int_equal (scan_at (f, 3, 0), 0);
    assert_int_equal (flush_at (f, 3), 0);
    assert_int_equal (f->settled, 2);
    assert_int_equal (scan_at (f, 4, 0), 0);    // once
    assert_int_equal (flush_at (f, 4), 0);
    assert_int_equal (f->settled, 2);
    watch_hand_on_if_back (f->w, path);
    remove_tree (f, "x_ascend_pt");
    assert_int_equal (scan_at (f, 5, 0), 0);
    none_gone (f);
}

/* What is found elsewhere is no loss, whatever its name is there; of what is
 * not that is known when a search has ended that began afterwards.
 */
static void test_moved (void **state)
{
    struct fixture *f = *state;
    struct watch_gone gone;

    put (f, "tmp/a_ascend_pt/profiler_info_0.json", "{}");
    put (f, "tmp/b_ascend_pt/profiler_info_1.json", "{}");
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, 0), 0);
    move (f, "tmp/a_ascend_pt", "tmp/c_ascend_pt");
    move (f, "tmp", "final");
    remove_tree (f, "final/b_ascend_pt");
    // another one, which may have its inode
    put (f, "final/d_ascend_pt/profiler_info_1.json", "{}");
    assert_int_equal (scan_at (f, 2, 0), 0);
    assert_int_equal (watch_unsettled (f->w), 4);
    assert_int_equal (watch_missing_ns (f->w), 2 * NS_PER_S);
    assert_true (watch_next_gone (f->w, NS_PER_S, &gone));
    assert_non_null (strstr (gone.path, "tmp/a_ascend_pt"));
    assert_true (gone.moved);
    free (gone.path);
    assert_false (watch_next_gone (f->w, NS_PER_S, &gone));
    assert_int_equal (watch_unsettled (f->w), 3);
    gone_is (f, "tmp/b_ascend_pt");
    assert_int_equal (watch_unsettled (f->w), 2);
}

/* Of what was missed before this life nothing but the name is known. */
static void test_missed (void **state)
{
    static const char name[] = "node0_7_20251124100000000_ascend_pt";
    struct fixture *f = *state;
    struct watch_gone gone;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/now/%s/x", f->dir, name);
    put (f, path + strlen (f->dir) + 1, "1");
    put (f, "now/rank_0_ascend_pt/x", "1");
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    (void)snprintf (path, sizeof (path), "/was/%s", name);
    watch_miss (f->w, path, NULL, 5);
    watch_miss (f->w, path, NULL, 6);           // once
    watch_miss (f->w, "/was/rank_0_ascend_pt", NULL, 5);
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_true (watch_next_gone (f->w, 4, &gone));
    assert_string_equal (gone.path, path);
    assert_true (gone.moved);
    free (gone.path);
    assert_false (watch_next_gone (f->w, 4, &gone));
    gone_is (f, "/was/rank_0_ascend_pt");       // there are many of this name
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        WATCH_TEST (test_vanished), WATCH_TEST (test_gone),
        WATCH_TEST (test_back), WATCH_TEST (test_moved), WATCH_TEST (test_missed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
