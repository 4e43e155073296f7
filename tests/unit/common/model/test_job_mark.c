/* tests/unit/common/model/test_job_mark.c - whose captures a directory is for
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/job_mark.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_job_mark.XXXXXX";

static int make_dir (void **state)
{
    (void)state;
    memcpy (dir + strlen (dir) - 6, "XXXXXX", 6);
    return mkdtemp (dir) ? 0 : -1;
}

static int remove_dir (void **state)
{
    (void)state;
    return fileio_remove_tree (dir, NULL);
}

static int read_mark (struct job_mark *ret)
{
    int fd = open (dir, O_RDONLY | O_DIRECTORY), rc = job_mark_read (fd, ret);

    (void)close (fd);
    return rc;
}

static void put (const char *text)
{
    char path[128];

    (void)snprintf (path, sizeof (path), "%s/%s", dir, JOB_MARK_NAME);
    assert_int_equal (fileio_replace (path, text, strlen (text), 0600, NULL),
                      0);
}

static void check (const char *job, int64_t rank, int64_t world_size)
{
    struct job_mark m;

    assert_int_equal (read_mark (&m), 0);
    assert_string_equal (m.job, job);
    assert_int_equal (m.rank, rank);
    assert_int_equal (m.world_size, world_size);
}

static void test_rank (void **state)
{
    struct job_mark m;

    (void)state;
    assert_int_equal (read_mark (&m), -ENOENT);
    assert_int_equal (job_mark_write (dir, "a \"job\"", 3, 8, NULL), 0);
    check ("a \"job\"", 3, 8);
    // a rank's directory is its job's alone
    assert_int_equal (job_mark_write (dir, "b", 3, 8, NULL), 0);
    check ("b", 3, 8);
}

static void test_results (void **state)
{
    (void)state;
    assert_int_equal (job_mark_write (dir, "a", -1, 8, NULL), 0);
    assert_int_equal (job_mark_write (dir, "a", -1, 8, NULL), 0);
    check ("a", -1, 8);
    // captures of "a" are there, and stay so
    assert_int_equal (job_mark_write (dir, "b", -1, 4, NULL), -EEXIST);
    check ("a", -1, 8);
    assert_int_equal (job_mark_write (dir, "a", -1, 4, NULL), 0);
    check ("a", -1, 4);
}

static void check_capture (struct job_marks *m, int above, const char *name,
                           int64_t rank, const char *host)
{
    struct job_mark mark;

    assert_int_equal (job_marks_find (m, above, name, &mark), 0);
    assert_string_equal (mark.job, "a");
    assert_int_equal (mark.world_size, 4);
    assert_int_equal (mark.rank, rank);
    assert_string_equal (mark.host, host);
}

/* A mark of all ranks says of which rank and host each capture is. */
static void test_list (void **state)
{
    static const struct job_mark_capture list[] = {
        { "one/file", 3, "left", 2 }, { "rank3/one/x", 9, "", 3 },
        { "none", 4, "right", -1 }, { "a\n\"b\tc/x", 6, "l", 0 },
    };
    struct job_marks m = { .last[0].is = false };
    char path[128];
    int above, below;

    (void)state;
    (void)snprintf (path, sizeof (path), "%s/rank3", dir);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (job_mark_list (dir, "a", 4, list, 4, NULL), 0);
    assert_true ((above = open (dir, O_PATH | O_DIRECTORY)) >= 0);
    assert_true ((below = open (path, O_PATH | O_DIRECTORY)) >= 0);
    check_capture (&m, above, "one", 2, "left");
    check_capture (&m, below, "one", 3, "");
    check_capture (&m, above, "none", -1, "right");
    check_capture (&m, above, "a\n\"b\tc", 0, "l");
    check_capture (&m, above, "other", -1, "");
    check_capture (&m, below, "other", -1, "");
    job_marks_fini (&m);
    // who does not know them takes nothing away
    assert_int_equal (job_mark_write (dir, "a", -1, -1, NULL), 0);
    check_capture (&m, above, "one", 2, "left");
    assert_int_equal (job_mark_list (dir, "b", 4, list, 4, NULL), -EEXIST);
    job_marks_fini (&m);
    (void)close (above);
    (void)close (below);
}

static void test_bad (void **state)
{
    static const char *const bad[] = { "", "{", "[]", "{\"job\": 1}", "null" };
    char text[4100], path[128];
    struct job_mark m;

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        put (bad[i]);
        assert_int_equal (read_mark (&m), -EBADMSG);
    }
    memset (text, ' ', sizeof (text) - 1);
    text[sizeof (text) - 1] = '\0';
    put (text);
    assert_int_equal (read_mark (&m), -EBADMSG);
    // anybody may write one, and everybody reads it
    (void)snprintf (text, sizeof (text), "{\"job\": \"a\"%4086s", "}");
    assert_true (strlen (text) == 4097);
    put (text);
    assert_int_equal (read_mark (&m), -EBADMSG);
    (void)snprintf (text, sizeof (text), "{\"job\": \"a\"%4085s", "}");
    put (text);
    check ("a", -1, -1);
    memset (text, 'x', JOB_MARK_ID_MAX);
    text[JOB_MARK_ID_MAX] = '\0';
    assert_int_equal (job_mark_write (dir, text, 0, 1, NULL), -ENAMETOOLONG);
    // what is said of it by others is not heard
    (void)snprintf (path, sizeof (path), "%s/%s", dir, JOB_MARK_NAME);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (symlink ("/etc/passwd", path), 0);
    assert_int_equal (read_mark (&m), -EBADMSG);
    put ("{\"job\": \"a\"}");
    check ("a", -1, -1);
    assert_int_equal (job_mark_write ("/nowhere", "a", 0, 1, NULL), -ENOENT);
}

/* A service that is killed while it marks a directory would leave the mark's
 * temporary file among a job's raw files for ever.
 */
static void test_killed (void **state)
{
    static const char *const names[] = { ".tmp.77", ".tmp.12345", "", "s" };
    char path[4][128];

    (void)state;
    for (int i = 0; i < 4; i++) {
        (void)snprintf (path[i], sizeof (path[i]), "%s/%s%s", dir,
                        JOB_MARK_NAME, names[i]);
        assert_int_equal (fileio_replace (path[i], "{\"job\": \"a\"}", 12,
                                          0600, NULL), 0);
    }
    assert_int_equal (job_mark_write (dir, "a", -1, -1, NULL), 0);
    assert_int_equal (access (path[0], F_OK), -1);
    assert_int_equal (access (path[1], F_OK), -1);
    check ("a", -1, -1);
    assert_int_equal (access (path[3], F_OK), 0);       // another's
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_rank, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown (test_results, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown (test_list, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown (test_bad, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown (test_killed, make_dir, remove_dir),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
