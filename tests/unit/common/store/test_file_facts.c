/* tests/unit/common/store/test_file_facts.c - mode, time and owner of files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/file_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int temporary (void)
{
    char path[] = "/tmp/rollcall-facts-XXXXXX";
    int fd = mkstemp (path);

    assert_true (fd >= 0);
    (void)unlink (path);
    return fd;
}

/* Any time, to the nanosecond, and any mode that runs as nobody else. */
static void test_round_trip (void **state)
{
    static const int64_t times[] = { 0, 1, -1, INT64_C (1764246878131995321),
                                     INT64_C (-86400999999999) };
    int fd = temporary ();

    (void)state;
    for (size_t i = 0; i < sizeof (times) / sizeof (times[0]); i++) {
        struct file_facts want = { S_IFREG | (0400u + (unsigned)i), times[i],
                                   -1, -1 };
        struct file_facts got;
        struct stat st;

        assert_true (file_facts_valid (&want));
        assert_int_equal (file_facts_give (fd, &want, true), 0);
        assert_int_equal (fstat (fd, &st), 0);
        got = file_facts_of (&st, false);
        assert_int_equal (got.mode, want.mode);
        assert_int_equal (got.mtime_ns, want.mtime_ns);
        assert_int_equal (got.uid, -1);
        got = file_facts_of (&st, true);
        assert_int_equal (got.uid, geteuid ());
        assert_int_equal (file_facts_give (fd, &got, true), 0);
    }
    (void)close (fd);
}

/* A file may have any time, also one that does not fit. */
static void test_far_times (void **state)
{
    static const time_t far[] = { INT64_MAX, INT64_C (10413792000), INT64_MIN,
                                  INT64_C (-62135596800) };

    (void)state;
    for (size_t i = 0; i < sizeof (far) / sizeof (far[0]); i++) {
        struct stat st = { .st_mode = S_IFREG };
        struct file_facts f;

        st.st_mtim.tv_sec = far[i];
        st.st_mtim.tv_nsec = 999999999;
        f = file_facts_of (&st, false);
        assert_true (file_facts_valid (&f));
        assert_true (i < 2 ? f.mtime_ns > INT64_C (9223372035000000000)
                           : f.mtime_ns < INT64_C (-9223372034000000000));
    }
}

/* A file of another that runs as its owner comes back as a plain one. */
static void test_special_bits (void **state)
{
    struct stat st = { .st_mode = S_IFREG | 06755 };
    struct file_facts f = file_facts_of (&st, true);

    (void)state;
    assert_int_equal (f.mode, S_IFREG | 0755);
    f.mode |= S_ISUID;
    assert_false (file_facts_valid (&f));
}

static void test_invalid (void **state)
{
    static const struct file_facts bad[] = {
        { 0644, 0, -1, -1 }, { S_IFDIR | 0644, 0, -1, -1 },
        { 0, 1, 0, 0 }, { 0, 0, -1, 0 }, { S_IFREG, 0, -2, -2 },
        { S_IFREG, 0, 0xffffffff, 0 }, { S_IFREG, 0, 0, -1 },
    };
    static const struct file_facts none = { 0, 0, 0, 0 };
    int fd = temporary ();
    struct stat st, now;

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        assert_false (file_facts_valid (&bad[i]));
    assert_true (file_facts_valid (&none));
    assert_int_equal (fstat (fd, &st), 0);
    assert_int_equal (file_facts_give (fd, &none, true), 0);
    assert_int_equal (fstat (fd, &now), 0);
    assert_int_equal (now.st_mode, st.st_mode);
    (void)close (fd);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_far_times), cmocka_unit_test (test_special_bits),
        cmocka_unit_test (test_invalid),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
