/* tests/unit/node_agent/agent/test_sealer_errors.c - files that cannot be read
 * while a capture is sealed
 */
#include "node_agent/agent/sealer_check.h"

/* A disk that cannot read one file must not keep all others, and the rows, from
 * being delivered; but what passes is waited for.
 */
static void test_unreadable (void **state)
{
    static const int bad[] = { -EIO, -ESTALE, -ETIMEDOUT };
    struct fixture *f = *state;
    char link[PATH_MAX];

    put (f, "data", 1);
    put (f, "worn", BAD_SIZE);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        bad_with = bad[i];
        f->again = false;
        seal (f);
        assert_int_equal (f->rc, bad[i]);
        assert_non_null (strstr (f->err.text, "worn: "));
        f->again = true;
        seal (f);
        assert_int_equal (f->rc, 0);
        assert_int_equal (f->nitems, 2);
        assert_string_equal (f->raw_path, "data");
        assert_int_equal (f->skipped, 1);
        assert_non_null (strstr (f->why.text, "worn: "));
        assert_non_null (strstr (f->why.text, strerror (-bad[i])));
    }
    (void)snprintf (link, sizeof (link), "%s/1-2", f->dir);
    assert_int_equal (access (link, F_OK), -1);
    // what is not a file's own fault fails it all, again or not
    bad_with = -ENOMEM;
    seal (f);
    assert_int_equal (f->rc, -ENOMEM);
    // and it is there again
    bad_with = 0;
    seal (f);
    assert_int_equal (f->nitems, 3);
    assert_int_equal (f->skipped, 0);
}

/* Once it was sealed as it was read then, nobody would read it again: what has
 * nothing to do with the capture must not make it a damaged one.
 */
static void test_waits (void **state)
{
    static const char *const names[] = { "ASCEND_PROFILER_OUTPUT",
                                         "step_trace_time.csv", "analysis.db",
                                         "profiler_info_0.json", "data",
                                         "profiler_metadata.json" };
    static const int waited[] = { -EIO, -ESTALE, -ETIMEDOUT };
    static const int never[] = { -EMFILE, -ENFILE, -ENOMEM };
    struct fixture *f = *state;

    put (f, "data", 1);
    put (f, "profiler_info_0.json", 1);
    put (f, "profiler_metadata.json", 1);
    assert_int_equal (fileio_mkdirs (in (f, names[0]), 0700, NULL), 0);
    put (f, "ASCEND_PROFILER_OUTPUT/step_trace_time.csv", 1);
    put (f, "ASCEND_PROFILER_OUTPUT/analysis.db", 1);
    for (size_t n = 0; n < sizeof (names) / sizeof (names[0]); n++) {
        bad_name = names[n];
        for (int i = 0; i < 6; i++) {
            bad_with = i < 3 ? waited[i] : never[i - 3];
            f->again = false;
            seal (f);
            assert_int_equal (f->rc, bad_with);
            assert_non_null (strstr (f->err.text, strerror (-bad_with)));
            f->again = true;
            seal (f);
            assert_int_equal (f->rc, i < 3 ? 0 : bad_with);
        }
    }
    // the file itself is another thing
    bad_with = -EACCES;
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->skipped, 1);
}

/* As many files as before are not the same files: released, the one that was
 * left out would be lost.
 */
static void test_one_comes_one_is_left_out (void **state)
{
    static const int bad[] = { -EIO, -ENODATA };
    struct fixture *f = *state;
    char made[PATH_MAX];

    other_sealer (f, true, true, on_sealed);
    put (f, "data", 1);
    put (f, "worn", BAD_SIZE);
    seal (f);
    assert_int_equal (f->nitems, 3);
    assert_true (f->manifest > 0);
    assert_true (fileio_join (made, sizeof (made), f->capture, "new"));
    f->again = true;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        bad_with = bad[i];
        (void)strcpy (made_at_read, made);
        seal (f);
        assert_int_equal (f->rc, 0);
        assert_int_equal (f->nitems, 3);
        assert_int_equal (f->manifest, 0);
        assert_int_equal (unlink (made), 0);
    }
    // nothing is left out, but it is another one
    bad_with = 0;
    (void)strcpy (made_at_read, made);
    assert_true (fileio_join (renamed_at_read, sizeof (renamed_at_read),
                              f->capture, "data"));
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 3);
    assert_int_equal (f->manifest, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        SEALER_TEST (test_unreadable),
        SEALER_TEST (test_waits),
        SEALER_TEST (test_one_comes_one_is_left_out),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
