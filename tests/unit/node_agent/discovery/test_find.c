/* tests/unit/node_agent/discovery/test_find.c - the captures below a directory
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "discovery/find.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char top[64];

static int make_top (void **state)
{
    (void)state;
    (void)snprintf (top, sizeof (top), "/tmp/rollcall-find-XXXXXX");
    return mkdtemp (top) ? 0 : -1;
}

static int remove_top (void **state)
{
    (void)state;
    return fileio_remove_tree (top, NULL);
}

static void make_dirs (const char *name)
{
    char path[512];

    assert_true (fileio_join (path, sizeof (path), top, name));
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
}

static const char *name_at (const struct found_list *list, size_t i)
{
    return i < list->n ? list->items[i].name : "(none)";
}

static void test_tree (void **state)
{
    struct found_list list = { .n = 0 };
    struct err err = { "" };
    char path[128];

    (void)state;
    make_dirs ("b_ascend_pt/ASCEND_PROFILER_OUTPUT");
    make_dirs ("b_ascend_pt/inner_ascend_pt");      // not searched
    make_dirs ("a/by_content/FRAMEWORK");
    make_dirs ("a/by_prof/PROF_000001_2025_ABC");
    make_dirs ("cluster_analysis_output/c_ascend_pt");
    make_dirs ("PLATFORM_1/c_ascend_pt");
    make_dirs ("d_ascend_pt_op_args");
    make_dirs (".hidden/c_ascend_pt");
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 3);
    assert_string_equal (name_at (&list, 0), "by_content");
    assert_string_equal (name_at (&list, 1), "PROF_000001_2025_ABC");
    assert_string_equal (name_at (&list, 2), "b_ascend_pt");
    // what another root gave is not found again, nor by another spelling
    (void)snprintf (path, sizeof (path), "%s/a/../a/", top);
    assert_int_equal (find_captures (path, &list, &err), 0);
    assert_int_equal (list.n, 3);
    assert_int_equal (list.nproblems, 0);
    find_free (&list);
    assert_int_equal (list.n, 0);
}

static void make_file (const char *name)
{
    char path[512];

    assert_true (fileio_join (path, sizeof (path), top, name));
    assert_int_equal (fileio_replace (path, "x", 1, 0600, NULL), 0);
}

/* What merely looks like a part of a capture does not hide the captures that
 * lie beside it.
 */
static void test_noise (void **state)
{
    struct found_list list = { .n = 0 };
    struct err err = { "" };

    (void)state;
    make_dirs ("job/a_ascend_pt");
    make_dirs ("job/PROF_000001_20250101_ABC");     // msprof's, beside it
    make_file ("job/profiler_info_7.json");
    make_dirs ("other/PROF_notes");
    make_dirs ("other/PROF_1_2_");
    make_dirs ("other/x");
    make_file ("other/PROF_1_2_3");
    make_file ("other/FRAMEWORK");
    make_file ("other/profiler_info_old.json");
    make_dirs ("renamed");
    make_file ("renamed/profiler_info_3.json");
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 2);
    assert_string_equal (name_at (&list, 0), "a_ascend_pt");
    assert_string_equal (name_at (&list, 1), "renamed");
    assert_int_equal (list.nproblems, 0);
    find_free (&list);
}

static void put_file (const char *name, const char *text)
{
    char path[512];

    assert_true (fileio_join (path, sizeof (path), top, name));
    assert_int_equal (fileio_replace (path, text, strlen (text), 0600, NULL),
                      0);
}

#define KINETO "{\"schemaVersion\": 1, \"traceEvents\": []}"
#define TORCH_NPU "[{\"ph\": \"X\", \"ts\": \"17.5\", \"dur\": 1}]"

/* Traces by their names or, under other names, by what is in them; nothing
 * within a capture, whatever it is called.
 */
static void test_traces (void **state)
{
    struct found_list list = { .n = 0 };
    struct err err = { "" };

    (void)state;
    put_file ("a.pt.trace.json", "");
    put_file ("b.json", KINETO);
    put_file ("c.json", TORCH_NPU);
    put_file ("d.json", "{\"traceEvents\": 1}");
    put_file ("e.json", "[{\"ph\": \"X\", \"ts\": 17.5, \"dur\": 1}]");
    put_file ("f.json", "{\"name\": \"package\", \"version\": 1}");
    put_file ("g.json", "");
    put_file ("h.txt", KINETO);
    put_file (".i.json", KINETO);
    make_dirs ("j.json");
    put_file ("j.json/k.json", KINETO);
    make_dirs ("l_ascend_pt/ASCEND_PROFILER_OUTPUT");
    put_file ("l_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", TORCH_NPU);
    put_file ("l_ascend_pt/m.json", KINETO);
    make_dirs ("n.pt.trace.json");      // as archive get lays it there
    put_file ("n.pt.trace.json/n.pt.trace.json", "");
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 6);
    assert_string_equal (name_at (&list, 0), "a.pt.trace.json");
    assert_string_equal (name_at (&list, 1), "b.json");
    assert_string_equal (name_at (&list, 2), "c.json");
    assert_string_equal (name_at (&list, 3), "k.json");
    assert_string_equal (name_at (&list, 4), "l_ascend_pt");
    assert_string_equal (name_at (&list, 5), "n.pt.trace.json");
    assert_non_null (strstr (list.items[5].path, "n.pt.trace.json/n"));
    // who meant them to be taken is told why they are not
    assert_int_equal (list.nproblems, 2);
    assert_non_null (strstr (list.problems[0], "d.json is not read as a "
                             "trace: it has no traceEvents"));
    assert_non_null (strstr (list.problems[1], "e.json is not read"));
    find_free (&list);
    // large directories are not opened file by file
    list.names_only = true;
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 3);
    find_free (&list);
}

static int find_one (const char *name, struct found_list *list)
{
    struct err err = { "" };
    char path[512];

    assert_true (fileio_join (path, sizeof (path), top, name));
    return find_captures (path, list, &err);
}

/* What is given may be a file; the same one twice is one. */
static void test_file_root (void **state)
{
    struct found_list list = { .n = 0 };
    char path[128];

    (void)state;
    put_file ("b.json", KINETO);
    put_file ("f.json", "{}");
    (void)snprintf (path, sizeof (path), "%s/link", top);
    assert_int_equal (symlink ("b.json", path), 0);
    assert_int_equal (find_one ("b.json", &list), 0);
    assert_int_equal (find_one ("b.json", &list), 0);
    assert_int_equal (find_one ("link", &list), 0);
    assert_int_equal (find_one ("f.json", &list), -ENOTDIR);
    assert_int_equal (list.n, 1);
    assert_string_equal (name_at (&list, 0), "b.json");
    find_free (&list);
}

/* ---- a directory that cannot be read to its end ---- */

static int readdirs_left = -1;  // before they fail; -1: they do not

struct dirent *__real_readdir (DIR *dir);
struct dirent *__wrap_readdir (DIR *dir);

struct dirent *__wrap_readdir (DIR *dir)
{
    if (readdirs_left == 0) {
        errno = EIO;
        return NULL;
    }
    if (readdirs_left > 0)
        readdirs_left--;
    return __real_readdir (dir);
}

/* A faulty disk must not make ranks disappear without a word. */
static void test_read_error (void **state)
{
    struct found_list list = { .n = 0 };
    struct err err = { "" };

    (void)state;
    make_dirs ("a_ascend_pt");
    make_dirs ("b_ascend_pt");
    readdirs_left = 3;
    assert_int_equal (find_captures (top, &list, &err), 0);
    readdirs_left = -1;
    assert_true (list.nproblems >= 1);
    assert_non_null (strstr (list.problems[0], "Input/output error"));
    find_free (&list);
}

static void test_links (void **state)
{
    struct found_list list = { .n = 0 };
    struct err err = { "" };
    char path[128];

    (void)state;
    make_dirs ("real/x_ascend_pt");
    (void)snprintf (path, sizeof (path), "%s/loop", top);
    assert_int_equal (symlink (".", path), 0);
    (void)snprintf (path, sizeof (path), "%s/y_ascend_pt", top);
    assert_int_equal (symlink ("real/x_ascend_pt", path), 0);
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 1);
    assert_int_equal (list.nproblems, 1);
    assert_non_null (strstr (list.problems[0], "y_ascend_pt is a symbolic"));
    find_free (&list);
}

static void test_depth (void **state)
{
    struct found_list list = { .n = 0 };
    struct err err = { "" };

    (void)state;
    make_dirs ("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/x_ascend_pt");
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 0);
    assert_int_equal (list.nproblems, 1);
    find_free (&list);
}

/* ---- a search that has a limit ---- */

static int64_t now_ns, tick_ns;     // what the clock says, and each look adds

static int64_t slow_clock (void)
{
    return now_ns += tick_ns;
}

static struct find_limit a_limit (uint64_t entries, int64_t since_ns)
{
    return (struct find_limit){ .since_ns = since_ns, .entries = entries,
                                .time_ns = FIND_TIME_NS, .now = slow_clock };
}

static void set_time (const char *name, time_t t)
{
    struct timespec times[2] = { { t, 0 }, { t, 0 } };
    char path[512];

    assert_true (fileio_join (path, sizeof (path), top, name));
    assert_int_equal (utimensat (AT_FDCWD, path, times, 0), 0);
}

/* Old directories with files: "old0" to "old19". */
static void make_old (void)
{
    char name[64];

    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 5; k++) {
            (void)snprintf (name, sizeof (name), "old%d/sub%d", i, k);
            make_dirs (name);
        }
        (void)snprintf (name, sizeof (name), "old%d", i);
        set_time (name, 1000);
    }
}

/* What changed since COMMAND began is found, though what sorts before it is
 * more than may be read: a home directory's captures would be lost else.
 */
static void test_limit_entries (void **state)
{
    struct find_limit limit = a_limit (30, 2000 * NS_PER_S);
    struct found_list list = { .names_only = true, .limit = &limit };
    struct err err = { "" };

    (void)state;
    make_old ();
    make_dirs ("zz/results/x_ascend_pt");
    tick_ns = 0;
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 1);
    assert_string_equal (name_at (&list, 0), "x_ascend_pt");
    assert_true (limit.nread <= 30 * FIND_NEW_TIMES);
    assert_true (limit.nleft > 10);
    assert_non_null (strstr (limit.left, "/old"));
    assert_int_equal (list.nproblems, 0);
    find_free (&list);
    find_limit_free (&limit);
}

/* A slow file system: time ends it, however few entries were read.  Here each
 * look at the clock takes a tenth of what there is.
 */
static void test_limit_time (void **state)
{
    struct find_limit limit = a_limit (1000000, 2000 * NS_PER_S);
    struct found_list list = { .names_only = true, .limit = &limit };
    struct err err = { "" };

    (void)state;
    make_old ();
    make_dirs ("zz/x_ascend_pt");
    now_ns = 0;
    tick_ns = FIND_TIME_NS / 10;
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 1);
    assert_true (limit.nleft > 10);
    assert_true (limit.nread < 60);
    find_free (&list);
    find_limit_free (&limit);
}

/* One that is large enough for nothing gives what the other search gives. */
static void test_limit_not_met (void **state)
{
    struct find_limit limit = a_limit (100000, 2000 * NS_PER_S);
    struct found_list list = { .names_only = true, .limit = &limit };
    struct err err = { "" };

    (void)state;
    make_old ();
    make_dirs ("old3/sub4/by_content/FRAMEWORK");
    make_dirs ("old5/y_ascend_ms");
    make_dirs ("old5/PROF_000001_20250101_ABC");    // left of something
    make_dirs ("zz/1/2/3/4/x_ascend_pt/PROF_000001_2025_ABC");
    put_file ("zz/r.pt.trace.json", "");
    tick_ns = 0;
    assert_int_equal (find_captures (top, &list, &err), 0);
    assert_int_equal (list.n, 4);
    assert_int_equal (limit.nleft, 0);
    assert_null (limit.left);
    find_free (&list);
    find_limit_free (&limit);
}

static void test_bad_root (void **state)
{
    struct found_list list = { .n = 0 };
    struct err err = { "" };

    (void)state;
    assert_int_equal (find_captures ("/no/such/place", &list, &err), -ENOENT);
    assert_non_null (strstr (err.text, "/no/such/place"));
    assert_int_equal (find_captures ("/dev/null", &list, &err), -ENOTDIR);
    find_free (&list);
}

int main (void)
{
#define IN_TOP(f) cmocka_unit_test_setup_teardown (f, make_top, remove_top)
    const struct CMUnitTest tests[] = {
        IN_TOP (test_tree),  IN_TOP (test_links),
        IN_TOP (test_depth), IN_TOP (test_bad_root),  IN_TOP (test_noise),
        IN_TOP (test_read_error), IN_TOP (test_traces),
        IN_TOP (test_file_root),    IN_TOP (test_limit_entries),
        IN_TOP (test_limit_time),   IN_TOP (test_limit_not_met),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
