/* tests/unit/node_agent/discovery/test_watch.c - when a capture counts as
 * finished */
#include "node_agent/discovery/watch_check.h"

#include <fcntl.h>
#include <sys/resource.h>

/* Without a marker: not before it has been unchanged for the quiet period. */
static void test_quiet (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, 5, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 100, 0), 0);
    assert_int_equal (f->settled, 0);
    assert_int_equal (watch_unsettled (f->w), 1);
    assert_int_equal (scan_at (f, 159, 0), 0);
    assert_int_equal (f->settled, 0);
    put (f, "a_ascend_pt/x", "grows");          // the clock starts again
    assert_int_equal (scan_at (f, 161, 0), 0);
    assert_int_equal (scan_at (f, 220, 0), 0);
    assert_int_equal (f->settled, 0);
    assert_int_equal (scan_at (f, 221, 0), 0);
    assert_int_equal (f->settled, 1);
    assert_int_equal (f->hint, 5);
    assert_int_equal (watch_unsettled (f->w), 0);
    assert_int_equal (scan_at (f, 999, 0), 0);  // once is enough
    assert_int_equal (f->settled, 1);
    assert_int_equal (watch_count_below (f->w, f->dir), 1);
}

/* analyse.done is the last thing that an analysis makes. */
static void test_marker (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    put (f, "a_ascend_pt/ASCEND_PROFILER_OUTPUT/analyse.done", "");
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_int_equal (f->settled, 1);
}

/* What is written behind the marker has none of its own: taken at once, half of
 * it would be delivered as the whole.
 */
static void test_marker_then_more (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    put (f, "a_ascend_pt/ASCEND_PROFILER_OUTPUT/analyse.done", "");
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_int_equal (f->settled, 1);
    // much later, when versions are not held back for their number
    put (f, "a_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", "[");
    assert_int_equal (scan_at (f, 1000, 0), 0);
    assert_int_equal (f->settled, 1);
    put (f, "a_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", "[{}");
    assert_int_equal (scan_at (f, 1059, 0), 0);
    assert_int_equal (scan_at (f, 1118, 0), 0);
    assert_int_equal (f->settled, 1);
    assert_int_equal (scan_at (f, 1119, 0), 0);
    assert_int_equal (f->settled, 2);
}

/* Directories whose names begin alike are two: what is another run's would be
 * counted, and waited for, as this one's.
 */
static void test_names_that_begin_alike (void **state)
{
    struct fixture *f = *state;
    char dir[PATH_MAX], own[PATH_MAX];

    put (f, "job1/a_ascend_pt/profiler_info_0.json", "{}");
    put (f, "job1/own/c_ascend_pt/profiler_info_0.json", "{}");
    put (f, "job12/b_ascend_pt/profiler_info_1.json", "{}");
    (void)snprintf (dir, sizeof (dir), "%s/job1", f->dir);
    (void)snprintf (own, sizeof (own), "%s/job1/own", f->dir);
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_int_equal (watch_count_below (f->w, f->dir), 3);
    assert_int_equal (watch_count_below (f->w, dir), 2);
    watch_destroy (f->w);
    assert_non_null (f->w = watch_create ());
    assert_int_equal (watch_exclude (f->w, dir, own, NULL), 0);
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_int_equal (watch_count_below (f->w, f->dir), 2);
}

/* The marker stays beside a log that goes on growing: a version for each line
 * would fill the aggregator's disk.
 */
static void test_grows (void **state)
{
    struct fixture *f = *state;
    unsigned settled;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 0, 0), 0);
    assert_int_equal (scan_at (f, 60, 0), 0);
    assert_int_equal (f->settled, 1);
    // its analysis is read at once
    put (f, "a_ascend_pt/ASCEND_PROFILER_OUTPUT/analyse.done", "");
    assert_int_equal (scan_at (f, 70, 0), 0);
    assert_int_equal (f->settled, 2);
    put (f, "a_ascend_pt/log", "1");
    assert_int_equal (scan_at (f, 72, 0), 0);
    assert_int_equal (scan_at (f, 131, 0), 0);
    assert_int_equal (f->settled, 2);
    // not before a pause of twice the quiet period has passed
    assert_int_equal (scan_at (f, 132, 0), 0);
    assert_int_equal (scan_at (f, 189, 0), 0);
    assert_int_equal (f->settled, 2);
    assert_int_equal (scan_at (f, 190, 0), 0);
    assert_int_equal (f->settled, 3);
    // for want of room, say: the same version does not wait
    watch_hand_on_again (f->w, NULL);
    assert_int_equal (scan_at (f, 191, 0), 0);
    assert_int_equal (f->settled, 4);
    // a line each 61 s, for a day
    settled = f->settled;
    for (int64_t at = 200; at < 86600; at += 61) {
        put (f, "a_ascend_pt/log", at % 2 ? "1" : "22");
        assert_int_equal (scan_at (f, at, 0), 0);
        assert_int_equal (scan_at (f, at + 60, 0), 0);
    }
    assert_in_range (f->settled - settled, 24, 32);
    // and then nothing for long: as in the beginning
    assert_int_equal (scan_at (f, 200000, 0), 0);
    settled = f->settled;
    for (int64_t at = 300000; at < 300200; at += 100) {
        put (f, "a_ascend_pt/log", at % 200 ? "333" : "4444");
        assert_int_equal (scan_at (f, at, 0), 0);
        assert_int_equal (scan_at (f, at + 60, 0), 0);
        assert_int_equal (f->settled, ++settled);
    }
    // the job has ended: nothing comes later
    for (int64_t at = 300210; at < 300400; at += 70) {
        put (f, "a_ascend_pt/log", at % 20 ? "55555" : "666666");
        assert_int_equal (scan_at (f, at, 0), 0);
        assert_int_equal (scan_at (f, at + 60, 0), 0);
    }
    assert_in_range (f->settled - settled, 1, 2);
    settled = f->settled;
    watch_look_at_all (f->w);
    assert_int_equal (scan_at (f, 300411, 0), 0);
    assert_int_equal (f->settled, settled + 1);
}

/* Never quiet, it is never read: nobody would know why.  One that is still
 * being collected is as it should be.
 */
static void test_busy (void **state)
{
    struct fixture *f = *state;
    char newest[256] = "";
    const char *path;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    put (f, "b_ascend_pt/FRAMEWORK/data", "{}");
    for (int64_t at = 0; at < 600; at += 30) {
        put (f, "a_ascend_pt/log", at % 60 ? "1" : "22");
        put (f, "b_ascend_pt/FRAMEWORK/data", at % 60 ? "1" : "22");
        assert_int_equal (scan_at (f, at, 0), 0);
        assert_null (watch_next_busy (f->w, QUIET, at * NS_PER_S, newest));
    }
    // five quiet periods of three minutes are more
    assert_null (watch_next_busy (f->w, 3 * QUIET, 600 * NS_PER_S, newest));
    path = watch_next_busy (f->w, QUIET, 600 * NS_PER_S, newest);
    assert_non_null (path);
    assert_non_null (strstr (path, "/a_ascend_pt"));
    assert_string_equal (newest, "log");
    assert_null (watch_next_busy (f->w, QUIET, 601 * NS_PER_S, newest));
    assert_int_equal (f->settled, 0);
}

/* A capture that has been quiet for long when it is first seen need not be
 * watched: its dates say so.
 */
static void test_old (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 1, WALL), 0);
    assert_int_equal (f->settled, 1);
}

/* Analysed again: handed on again. */
static void test_changed (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 1, WALL), 0);
    put (f, "a_ascend_pt/ASCEND_PROFILER_OUTPUT/x", "new");
    assert_int_equal (scan_at (f, 2, WALL), 0);
    assert_int_equal (f->settled, 2);
}

/* A file that is put back has its size and an older date, one that becomes
 * readable even its date: not to be noticed, they would never be delivered.
 * The spool's links are no change: all would be sealed again for each.
 */
static void test_put_back (void **state)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct fixture *f = *state;
    char path[PATH_MAX], link_path[PATH_MAX];
    struct stat st;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/x", "0000");
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 1, WALL), 0);
    assert_int_equal (f->settled, 1);
    (void)snprintf (path, sizeof (path), "%s/a_ascend_pt/x", f->dir);
    assert_int_equal (utimensat (AT_FDCWD, path, old, 0), 0);
    assert_int_equal (scan_at (f, 1000, WALL), 0);
    assert_int_equal (f->settled, 2);
    assert_int_equal (chmod (path, 0644), 0);
    assert_int_equal (scan_at (f, 2000, WALL), 0);
    assert_int_equal (f->settled, 3);
    assert_int_equal (fingerprint_newest_ns (f->fingerprint) > 0, 1);
    (void)snprintf (link_path, sizeof (link_path), "%s/link", f->dir);
    assert_int_equal (link (path, link_path), 0);
    assert_int_equal (scan_at (f, 3000, WALL), 0);
    assert_int_equal (unlink (link_path), 0);
    assert_int_equal (scan_at (f, 4000, WALL), 0);
    assert_int_equal (f->settled, 3);
    // another file, its date and that of its directory as they were
    (void)snprintf (link_path, sizeof (link_path), "%s/a_ascend_pt", f->dir);
    assert_int_equal (stat (link_path, &st), 0);
    put (f, "a_ascend_pt/x", "1111");
    assert_int_equal (chmod (path, 0644), 0);
    assert_int_equal (utimensat (AT_FDCWD, path, old, 0), 0);
    assert_int_equal (utimensat (AT_FDCWD, link_path,
                                 (struct timespec[]){ st.st_atim, st.st_mtim },
                                 0), 0);
    assert_int_equal (scan_at (f, 5000, WALL), 0);
    assert_int_equal (f->settled, 4);
}

/* To look at a capture is to walk it.  One that has not changed for 160 s is
 * looked at after 10 s again, an old one after 30 s, but all of them when the
 * job has ended: else its last change would be left behind.
 */
static void test_look_seldom (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 0, WALL), 0);
    assert_int_equal (scan_at (f, 160, WALL), 0);
    assert_int_equal (f->settled, 1);
    put (f, "a_ascend_pt/x", "new");
    assert_int_equal (scan_at (f, 169, WALL), 0);
    assert_int_equal (f->settled, 1);
    assert_int_equal (scan_at (f, 171, WALL), 0);
    assert_int_equal (f->settled, 2);
    assert_int_equal (scan_at (f, 9000, WALL), 0);
    put (f, "a_ascend_pt/x", "newer");
    assert_int_equal (scan_at (f, 9029, WALL), 0);
    assert_int_equal (f->settled, 2);
    assert_int_equal (scan_at (f, 9031, WALL), 0);
    assert_int_equal (f->settled, 3);
    assert_int_equal (scan_at (f, 20000, WALL), 0);
    put (f, "a_ascend_pt/x", "newest");
    watch_look_at_all (f->w);
    assert_int_equal (scan_at (f, 20000, WALL), 0);
    assert_int_equal (f->settled, 4);
}

/* What is older than the job is not of the job. */
static void test_since (void **state)
{
    struct fixture *f = *state;

    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (watch_add (f->w, f->dir, false, WALL, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, WALL), 0);
    assert_int_equal (f->settled, 0);
    assert_int_equal (watch_unsettled (f->w), 0);
    // each search counts anew
    assert_int_equal (scan_at (f, 2, WALL), 0);
    assert_int_equal (watch_count_older (f->w), 1);
}

/* A directory that does not exist yet is no problem; one below it that cannot
 * be read is one, told once.
 */
static void test_absent (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/later", f->dir);
    assert_int_equal (watch_add (f->w, path, false, 0, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_null (watch_next_problem (f->w));
    put (f, "later/a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 2, WALL), 0);
    assert_int_equal (f->settled, 1);
}

/* Time is up: what has not settled goes as it is, and says so. */
static void test_flush (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_int_equal (flush_at (f, 1), 0);
    assert_int_equal (f->settled, 1);
    assert_int_equal (f->unfinished, 1);
}

/* What waits for another reason is as whole as it was: for room, say, or since
 * it soon follows another version.
 */
static void test_flush_settled (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    f->rc = -EAGAIN;
    assert_int_equal (scan_at (f, 1, WALL), -EAGAIN);
    f->rc = 0;
    f->settled = 0;
    assert_int_equal (flush_at (f, 62), 0);
    assert_int_equal (f->settled, 1);
    assert_int_equal (f->unfinished, 0);
}

/* One that has to wait, as for an aggregator that is away, holds up no other. */
static void test_waits_alone (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    put (f, "b_ascend_pt/profiler_info_1.json", "{}");
    f->rc = -EINPROGRESS;
    assert_int_equal (scan_at (f, 1, WALL), -EAGAIN);
    assert_int_equal (f->settled, 2);
    assert_int_equal (flush_at (f, 1), -EAGAIN);
    assert_int_equal (f->settled, 4);
    assert_non_null (watch_unsettled_path (f->w, 1));
    assert_null (watch_unsettled_path (f->w, 2));
    f->rc = 0;
    assert_int_equal (flush_at (f, 1), 0);
    assert_null (watch_unsettled_path (f->w, 0));
}

/* A capture that could not be taken now is handed on again. */
static void test_refused (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    f->rc = -ENOSPC;
    assert_int_equal (scan_at (f, 1, WALL), -ENOSPC);
    assert_int_equal (watch_unsettled (f->w), 1);
    f->rc = 0;
    assert_int_equal (scan_at (f, 2, WALL), 0);
    assert_int_equal (f->settled, 2);
    assert_int_equal (watch_unsettled (f->w), 0);
}
/* One is forgotten while another is seen for the first time: should that
 * vanish before it is read, nobody would know unless it is told here.
 */
static void test_seen (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    put (f, "a_ascend_pt/FRAMEWORK/data", "1");
    put (f, "b_ascend_pt/FRAMEWORK/data", "1");
    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_int_equal (scan_at (f, 1, 0), 0);
    assert_non_null (strstr (watch_next_seen (f->w), "a_ascend_pt"));
    assert_non_null (strstr (watch_next_seen (f->w), "b_ascend_pt"));
    assert_null (watch_next_seen (f->w));
    (void)snprintf (path, sizeof (path), "%s/a_ascend_pt", f->dir);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    put (f, "c_ascend_pt/FRAMEWORK/data", "1");
    assert_int_equal (scan_at (f, 2, 0), 0);
    assert_non_null (strstr (watch_next_seen (f->w), "c_ascend_pt"));
    assert_null (watch_next_seen (f->w));
    watch_report_again (f->w);  // it could not be written down
    assert_non_null (strstr (watch_next_seen (f->w), "b_ascend_pt"));
    assert_non_null (strstr (watch_next_seen (f->w), "c_ascend_pt"));
    assert_null (watch_next_seen (f->w));
}

static enum watch_owner say_foreign (void *arg, const char *path)
{
    return strstr (path, arg) ? WATCH_FOREIGN : WATCH_OURS;
}

/* Two jobs write into one working directory: each has its own captures, also
 * when the other's process is dead and nobody can be asked any more.
 */
static void test_foreign (void **state)
{
    struct fixture *f = *state;
    struct found_list list = { .n = 0 };
    struct err why = { "" };
    char other[] = "other";

    put (f, "ours_ascend_pt/FRAMEWORK/data", "1");
    put (f, "other_ascend_pt/FRAMEWORK/data", "1");
    watch_ask (f->w, say_foreign, other);
    assert_int_equal (watch_add (f->w, f->dir, true, 1, -1, NULL), 0);
    assert_int_equal (find_captures (f->dir, &list, &why), 0);
    assert_int_equal (list.n, 2);
    assert_int_equal (watch_found (f->w, f->dir, &list, 0, &why, 1, NULL), 0);
    assert_int_equal (watch_unsettled (f->w), 1);
    other[0] = '#';             // it cannot be told any more
    assert_int_equal (watch_found (f->w, f->dir, &list, 0, &why, 1, NULL), 0);
    put (f, "other_ascend_pt/FRAMEWORK/more", "1");
    assert_int_equal (watch_scan (f->w, 0, 2, 0, on_settled, f, NULL), 0);
    assert_int_equal (flush_at (f, 2), 0);
    assert_int_equal (f->settled, 1);
    assert_non_null (strstr (f->last, "ours_ascend_pt"));
    // after a full disk all are handed on again: all of ours
    watch_hand_on_again (f->w, NULL);
    assert_int_equal (watch_unsettled (f->w), 1);
    assert_int_equal (watch_scan (f->w, 0, 3, 0, on_settled, f, NULL), 0);
    assert_int_equal (flush_at (f, 3), 0);
    assert_int_equal (f->settled, 2);
    assert_non_null (strstr (f->last, "ours_ascend_pt"));
    // the ledger's list of what has vanished is of our captures
    assert_non_null (strstr (watch_next_seen (f->w), "ours_ascend_pt"));
    assert_null (watch_next_seen (f->w));
    find_free (&list);
}

static enum watch_owner say_as_told (void *arg, const char *path)
{
    (void)path;
    return *(enum watch_owner *)arg;
}

/* Whose it is turns out later: until then it is neither read nor noted, and the
 * end waits for it.
 */
static void test_undecided (void **state)
{
    static const enum watch_owner ends[] = { WATCH_OURS, WATCH_FOREIGN };
    enum watch_owner owner = WATCH_UNDECIDED;
    struct fixture *f = *state;
    struct err why = { "" };

    watch_ask (f->w, say_as_told, &owner);
    assert_int_equal (watch_add (f->w, f->dir, true, 1, -1, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct found_list list = { .n = 0 };

        put (f, i ? "b_ascend_pt/FRAMEWORK/data" : "a_ascend_pt/FRAMEWORK/data",
             "1");
        owner = WATCH_UNDECIDED;
        assert_int_equal (find_captures (f->dir, &list, &why), 0);
        for (int k = 0; k < 2; k++)
            assert_int_equal (watch_found (f->w, f->dir, &list, 0, &why, 1,
                                           NULL), 0);
        assert_int_equal (watch_scan (f->w, 0, 2, INT64_MAX, on_settled, f,
                                      NULL), 0);
        assert_int_equal (flush_at (f, 2), 0);
        assert_int_equal (f->settled, i);
        assert_int_equal (watch_unsettled (f->w), 1);
        assert_null (watch_next_seen (f->w));
        owner = ends[i];
        assert_int_equal (watch_scan (f->w, 0, 3, INT64_MAX, on_settled, f,
                                      NULL), 0);
        assert_int_equal (f->settled, 1);
        assert_int_equal (watch_unsettled (f->w), 0);
        if (i == 0)
            assert_non_null (strstr (watch_next_seen (f->w), "a_ascend_pt"));
        assert_null (watch_next_seen (f->w));
        find_free (&list);
    }
}

/* A large directory is not searched here, what is found in it is watched. */
static void test_large (void **state)
{
    struct fixture *f = *state;
    struct found_list list = { .n = 0 };
    struct err why = { "" };

    (void)snprintf (why.text, sizeof (why.text), "no permission");
    put (f, "x_ascend_pt/FRAMEWORK/data", "1");
    assert_int_equal (watch_add (f->w, f->dir, true, 0, -1, NULL), 0);
    assert_string_equal (watch_large (f->w, 0), f->dir);
    assert_null (watch_large (f->w, 1));
    assert_int_equal (watch_scan (f->w, 0, 0, 0, on_settled, f, NULL), 0);
    assert_int_equal (f->settled, 0);
    assert_int_equal (find_captures (f->dir, &list, &why), 0);
    assert_int_equal (watch_found (f->w, f->dir, &list, 0, &why, 1, NULL), 0);
    find_free (&list);
    assert_int_equal (watch_scan (f->w, 0, 2, 0, on_settled, f, NULL), 0);
    assert_int_equal (f->settled, 1);
    // searched again: the same one
    assert_int_equal (watch_found (f->w, f->dir, &list, -EACCES, &why, 3,
                                   NULL), 0);
    assert_int_equal (watch_scan (f->w, 0, 4, 0, on_settled, f, NULL), 0);
    assert_int_equal (f->settled, 1);
    assert_non_null (watch_next_problem (f->w));
}

/* What is told of a capture without descriptors is nothing: handed on, that
 * would be a version of its own, and a capture of no rank.
 */
static void test_no_descriptors (void **state)
{
    struct fixture *f = *state;
    struct found_list list = { .n = 0 };
    struct rlimit was, none;
    const char *problem;

    put (f, "x_ascend_pt/FRAMEWORK/data", "1");
    assert_int_equal (watch_add (f->w, f->dir, true, 0, -1, NULL), 0);
    assert_int_equal (find_captures (f->dir, &list, NULL), 0);
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = 0;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    assert_int_equal (watch_found (f->w, f->dir, &list, 0, NULL, 1, NULL), 0);
    find_free (&list);
    assert_int_equal (watch_scan (f->w, 0, 2, WALL, on_settled, f, NULL), 0);
    assert_int_equal (flush_at (f, 2), 0);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &was), 0);
    assert_int_equal (f->settled, 0);
    assert_int_equal (watch_unsettled (f->w), 1);
    assert_non_null (problem = watch_next_problem (f->w));
    assert_non_null (strstr (problem, strerror (EMFILE)));
    assert_int_equal (watch_scan (f->w, 0, 3, WALL, on_settled, f, NULL), 0);
    assert_int_equal (f->settled, 1);
}

/* What is found at the very end may still settle; what goes on changing, or
 * waits for room, does not hold up the end.
 */
static void test_awaits (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (watch_add (f->w, f->dir, false, 0, -1, NULL), 0);
    assert_false (watch_is_waiting (f->w, 0));
    put (f, "a_ascend_pt/profiler_info_0.json", "{}");
    assert_int_equal (scan_at (f, 10, 0), 0);
    assert_true (watch_is_waiting (f->w, 9 * NS_PER_S));
    put (f, "a_ascend_pt/profiler_info_0.json", "{1}");
    assert_int_equal (scan_at (f, 15, 0), 0);
    assert_false (watch_is_waiting (f->w, 10 * NS_PER_S));
    // another version, after one was handed on, waits anew
    assert_int_equal (flush_at (f, 15), 0);
    assert_false (watch_is_waiting (f->w, 9 * NS_PER_S));
    put (f, "a_ascend_pt/profiler_info_0.json", "{12}");
    assert_int_equal (scan_at (f, 100, 0), 0);
    assert_true (watch_is_waiting (f->w, 95 * NS_PER_S));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        WATCH_TEST (test_quiet), WATCH_TEST (test_marker),
        WATCH_TEST (test_marker_then_more),
        WATCH_TEST (test_names_that_begin_alike),
        WATCH_TEST (test_grows), WATCH_TEST (test_busy), WATCH_TEST (test_old),
        WATCH_TEST (test_changed), WATCH_TEST (test_put_back),
        WATCH_TEST (test_look_seldom), WATCH_TEST (test_since),
        WATCH_TEST (test_absent), WATCH_TEST (test_flush),
        WATCH_TEST (test_flush_settled), WATCH_TEST (test_refused),
        WATCH_TEST (test_waits_alone),
        WATCH_TEST (test_seen), WATCH_TEST (test_foreign),
        WATCH_TEST (test_undecided),
        WATCH_TEST (test_awaits),
        WATCH_TEST (test_large), WATCH_TEST (test_no_descriptors),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
