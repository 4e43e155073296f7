/* tests/unit/node_agent/identity/test_recall.c - what rollcall knew of a capture
 * that it laid somewhere
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "identity/recall.h"
#include "model/shipment.h"
#include "store/fileio.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_recall.XXXXXX";
static int above;

static int make_dir (void **state)
{
    char path[64];

    (void)state;
    memcpy (dir + strlen (dir) - 6, "XXXXXX", 6);
    if (!mkdtemp (dir))
        return -1;
    PRINT (path, "%s/c", dir);
    above = open (dir, O_PATH | O_DIRECTORY);
    return mkdir (path, 0700) < 0 || above < 0 ? -1 : 0;
}

static int remove_dir (void **state)
{
    (void)state;
    (void)close (above);
    return fileio_remove_tree (dir, NULL);
}

/* A shipment of the capture 'name' at a path below the directory. */
static void ship (const char *path, const char *name, int64_t rank)
{
    int fd = openat (above, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct shipment_writer *w = shipment_writer_create (fd);
    struct capture c;
    uint64_t size;

    assert_non_null (w);
    capture_init (&c);
    c.rank = rank;
    c.state = CAPTURE_COMPLETE;
    PRINT (c.name, "%s", name);
    PRINT (c.evidence.job, "of shipment");
    PRINT (c.evidence.host_key, "0123456789abcdef");
    assert_int_equal (shipment_finish (w, &c, &size, NULL), 0);
    capture_fini (&c);
    shipment_writer_destroy (w);
    (void)close (fd);
}

static void check (const char *name, const char *job, int64_t rank,
                   int64_t world_size, const char *host)
{
    struct job_marks marks = { .last[0].is = false };
    struct recalled r;

    recall_capture (&marks, above, name, &r);
    job_marks_fini (&marks);
    assert_string_equal (r.job, job);
    assert_int_equal (r.rank, rank);
    assert_int_equal (r.world_size, world_size);
    assert_string_equal (r.host, host);
}

static void test_shipment (void **state)
{
    struct job_marks marks = { .last[0].is = false };
    struct recalled r;

    (void)state;
    ship ("c/" SHIPMENT_NAME, "another", 3);
    recall_capture (&marks, above, "c", &r);
    assert_string_equal (r.host_key, "");
    // what its job was called then, it need not be called now
    ship ("c/" SHIPMENT_NAME, "c", 3);
    check ("c", "", CAPTURE_NO_RANK, 0, "");
    recall_capture (&marks, above, "c", &r);
    assert_string_equal (r.host_key, "0123456789abcdef");
    // beside a capture that is one file
    ship (SHIPMENT_NAME, "file", 5);
    recall_capture (&marks, above, "file", &r);
    assert_string_equal (r.host_key, "0123456789abcdef");
    recall_capture (&marks, above, "other", &r);
    assert_string_equal (r.host_key, "");
    job_marks_fini (&marks);
}

/* What it said is not forgotten in silence: the file is named, wherever it is. */
static void test_broken (void **state)
{
    static const struct {
        const char *mark, *path, *said;
    } at[] = {
        { "c/" JOB_MARK_NAME, "x/c", "x/c/" JOB_MARK_NAME " is damaged" },
        { JOB_MARK_NAME, "x/c", "x/" JOB_MARK_NAME " is damaged" },
        { JOB_MARK_NAME, "c", JOB_MARK_NAME " is damaged" },
        { "../" JOB_MARK_NAME, "y/x/c", "y/" JOB_MARK_NAME " is damaged" },
        { "../" JOB_MARK_NAME, "c", "../" JOB_MARK_NAME " is damaged" },
    };

    (void)state;
    assert_int_equal (mkdirat (above, "in", 0700), 0);
    assert_int_equal (mkdirat (above, "in/c", 0700), 0);
    for (size_t i = 0; i < sizeof (at) / sizeof (at[0]); i++) {
        struct job_marks marks = { .last[0].is = false };
        struct err err = { "" };
        char path[128];
        struct recalled r;
        int in = openat (above, "in", O_PATH | O_DIRECTORY);

        PRINT (path, "%s/in/%s", dir, at[i].mark);
        recall_capture (&marks, in, "c", &r);
        assert_false (recall_broken (&r, at[i].path, &err));
        job_marks_fini (&marks);
        assert_int_equal (fileio_replace (path, "{", 1, 0600, NULL), 0);
        recall_capture (&marks, in, "c", &r);
        assert_true (recall_broken (&r, at[i].path, &err));
        assert_memory_equal (err.text, at[i].said, strlen (at[i].said));
        assert_int_equal (unlink (path), 0);
        job_marks_fini (&marks);
        (void)close (in);
    }
}

static void put_mark (const char *path, const struct job_mark *m)
{
    char at[128], *text = job_mark_text (m);

    PRINT (at, "%s/%s", dir, path);
    assert_int_equal (fileio_replace (at, text, strlen (text), 0600, NULL), 0);
    free (text);
}

/* That of one capture; a user may correct it with a mark above it. */
static void test_mark (void **state)
{
    const struct job_mark_capture list[] = { { "c", 1, "left", 2 } };
    const struct job_mark own = { "of get", 3, -1, "right \"hand\"" };
    const struct job_mark unknown = { "", -1, -1, "" };

    (void)state;
    check ("c", "", CAPTURE_NO_RANK, 0, "");
    put_mark ("c/" JOB_MARK_NAME, &own);
    check ("c", "of get", 3, 0, own.host);
    check ("other", "", CAPTURE_NO_RANK, 0, "");
    put_mark (JOB_MARK_NAME, &unknown);
    check ("c", "of get", 3, 0, own.host);
    assert_int_equal (unlinkat (above, JOB_MARK_NAME, 0), 0);
    assert_int_equal (job_mark_write (dir, "of mark", -1, -1, NULL), 0);
    check ("c", "of mark", 3, 0, own.host);
    assert_int_equal (job_mark_list (dir, "of mark", 4, list, 1, NULL), 0);
    check ("c", "of mark", 2, 4, "left");
    // what no launcher started is its own world
    assert_int_equal (job_mark_list (dir, "of mark", 1, list, 1, NULL), 0);
    check ("c", "of mark", 2, 0, "left");
    put_mark (JOB_MARK_NAME, &own);     // of a capture that is one file
    check ("file", "of get", 3, 0, own.host);
}

static void test_fill (void **state)
{
    const struct recalled r = { .job = "j", .host = "h", .rank = 2,
                                .world_size = 4 };
    struct capture c;

    (void)state;
    capture_init (&c);
    recall_fill (&r, &c);
    assert_int_equal (c.rank, 2);
    assert_int_equal (c.world_size, 0);         // the capture did not say it
    assert_string_equal (c.evidence.job, "j");
    assert_string_equal (c.host, "");
    c.rank = 7;                 // what it says itself counts more
    recall_fill (&r, &c);
    assert_int_equal (c.rank, 7);
    capture_fini (&c);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_shipment, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown (test_mark, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown (test_broken, make_dir, remove_dir),
        cmocka_unit_test (test_fill),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
