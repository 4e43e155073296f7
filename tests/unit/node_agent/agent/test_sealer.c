/* tests/unit/node_agent/agent/test_sealer.c - what is sealed, and when */
#include "node_agent/agent/sealer_check.h"

#include <sched.h>

/* A budget that is looked at between files only is none: a profiler's file may
 * have 60 GB.
 */
static void test_rests_in_a_file (void **state)
{
    struct fixture *f = *state;
    unsigned small;

    put (f, "data", 1);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    small = rests;
    rests = 0;
    put (f, "data", 9 * (off_t)CONTENT_CHUNK);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (rests, small + 8);
}

/* Whoever ends an agent waits for the thread: it must stop within a file, and
 * what it has so far must not count as the capture.
 */
static void test_breaks_off (void **state)
{
    struct fixture *f = *state;

    put (f, "data", (off_t)CONTENT_SIZE_MAX);   // hours
    end_at = 10;
    seal (f);
    assert_int_equal (f->rc, -ECANCELED);
    assert_int_equal (rests, 10);
}

/* The spool's row says that the shipment is there; with the power lost before
 * its bytes are on the disk, that row would be of an empty file.
 */
static void test_synced_before_its_row (void **state)
{
    struct fixture *f = *state;
    struct stat st;

    put (f, "data", 1);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (stat (f->shipment, &st), 0);
    assert_int_equal (synced, st.st_ino);
    assert_int_equal (synced_size, st.st_size);
    sync_error = EIO;
    seal (f);
    assert_int_equal (f->rc, -EIO);
    sync_error = 0;
    assert_non_null (strstr (f->err.text, "cannot fsync"));
}

/* A file that nobody can deliver must not look as if it had never been there.
 */
static void test_leaves_out_aloud (void **state)
{
    struct fixture *f = *state;
    char deep[PATH_MAX];
    size_t n = (size_t)snprintf (deep, sizeof (deep), "%s", f->capture);

    put (f, "data", 1);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf (deep + n, sizeof (deep) - n, "/%d", i);
    assert_int_equal (fileio_mkdirs (deep, 0700, NULL), 0);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "30/31/32: directories are not"));
    // the whole of it
    f->skipped = 0;
    assert_int_equal (fileio_remove_tree (f->capture, NULL), 0);
    assert_int_equal (mkfifo (f->capture, 0600), 0);
    seal (f);
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "all of it: Not a directory"));
}

/* A capture that is one file is its own raw file; without it a release would
 * remove what nobody has.
 */
static void test_one_file (void **state)
{
    struct fixture *f = *state;

    (void)snprintf (f->capture, sizeof (f->capture), "%s/r.pt.trace.json",
                    f->dir);
    assert_int_equal (fileio_replace (f->capture, "{}", 2, 0600, NULL), 0);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->skipped, 0);
    assert_string_equal (f->raw_path, "r.pt.trace.json");
    // removed before it could be read
    assert_int_equal (unlink (f->capture), 0);
    seal (f);
    assert_int_equal (f->rc, -ENOENT);
    assert_true (f->moved);
}

/* Sealed, it would count as one that has no files. */
static void test_moved (void **state)
{
    struct fixture *f = *state;
    char other[PATH_MAX];

    put (f, "data", 1);
    (void)snprintf (other, sizeof (other), "%s/b_ascend_pt", f->dir);
    for (int again = 0; again < 2; again++) {
        f->again = again;
        (void)strcpy (made_at_read, other);
        (void)strcpy (renamed_at_read, f->capture);
        seal (f);
        assert_int_equal (f->rc, -ENOENT);
        assert_true (f->moved);
        assert_int_equal (rename (other, f->capture), 0);
    }
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_false (f->moved);
    assert_int_equal (f->nitems, 2);
    // the spool's directory is another thing
    (void)strcpy (f->shipment, "/nonexistent/1-0");
    seal (f);
    assert_int_equal (f->rc, -ENOENT);
    assert_false (f->moved);
}

/* Whoever was writing it may go on, into files that are removed. */
static void test_unfinished (void **state)
{
    struct fixture *f = *state;

    other_sealer (f, true, true, on_sealed);
    put (f, "data", 1);
    seal (f);
    assert_true (f->manifest > 0);
    f->unfinished = true;
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->manifest, 0);
}

/* Hashed for hours, and refused by the ledger, again and again. */
static void test_too_large (void **state)
{
    struct fixture *f = *state;

    put (f, "data", 1);
    put (f, "core", 0);
    if (truncate (in (f, "core"), (off_t)CONTENT_SIZE_MAX + 1) < 0) {
        print_message ("SKIPPED: the file system has no files so large\n");
        skip ();
    }
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "core: it is larger"));
}

/* What is beside the capture is delivered with it; what has its name and is in
 * the capture could not be told from that, and is not.
 */
static void test_beside (void **state)
{
    struct fixture *f = *state;
    const char *name = strrchr (f->capture, '/') + 1;
    char path[PATH_MAX], file[PATH_MAX], want[PATH_MAX];

    other_sealer (f, true, true, on_sealed);
    put (f, "data", 1);
    (void)snprintf (path, sizeof (path), "%s_op_args", f->capture);
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    assert_true (fileio_join (file, sizeof (file), path, "x"));
    assert_int_equal (fileio_replace (file, "1", 1, 0600, NULL), 0);
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 3);
    assert_true (f->manifest > 0);
    (void)snprintf (want, sizeof (want), "%s_op_args/x", name);
    assert_string_equal (f->raw_path, want);
    (void)snprintf (file, sizeof (file), "%s/%s_op_args", f->capture, name);
    assert_int_equal (fileio_mkdirs (file, 0700, NULL), 0);
    (void)snprintf (want, sizeof (want), "%s_op_args/y", name);
    put (f, want, 1);
    seal (f);
    assert_int_equal (f->nitems, 3);
    assert_int_equal (f->manifest, 0);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
}

static bool others_had_a_turn;
static unsigned ended;

static void other (void *arg)
{
    (void)arg;
    others_had_a_turn = true;
}

/* The first one ends; before it has been entered, the second one is sealed. */
static void on_one_of_two (void *arg, struct sealed *s)
{
    struct fixture *f = arg;

    (void)s;
    if (++ended == 2) {
        loop_stop (f->loop, 0);
        return;
    }
    (void)loop_add_timer (f->loop, 0, other, NULL);
    while (syncs < 2)
        (void)sched_yield ();
    for (unsigned i = 0; i < 1000; i++)
        (void)sched_yield ();   // until it is ready, too
}

/* An agent that seals thousands of captures as fast as it enters them was not
 * heard of for half a minute, and taken for lost.
 */
static void test_others_have_a_turn (void **state)
{
    struct fixture *f = *state;
    struct watch_settled what = { .path = f->capture, .finished = true };
    const struct sealer_analysis none = { NULL, false };

    other_sealer (f, false, false, on_one_of_two);
    syncs = 0;
    ended = 0;
    others_had_a_turn = false;
    put (f, "data", 1);
    for (uint64_t id = 1; id <= 2; id++)
        assert_int_equal (sealer_add (f->sealer, &what, id, f->shipment, false,
                                      &none), 0);
    run (f);
    assert_true (others_had_a_turn);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        SEALER_TEST (test_rests_in_a_file),
        SEALER_TEST (test_breaks_off),
        SEALER_TEST (test_synced_before_its_row),
        SEALER_TEST (test_leaves_out_aloud),
        SEALER_TEST (test_one_file),
        SEALER_TEST (test_moved),
        SEALER_TEST (test_unfinished),
        SEALER_TEST (test_too_large),
        SEALER_TEST (test_beside),
        SEALER_TEST (test_others_have_a_turn),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
