/* tests/unit/common/store/test_space.c - room on file systems */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/space.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define GB UINT64_C (1000000000)

/* The file system that the code under test sees. */
static uint64_t free_now, total_now;
static const char *missing;

int __wrap_statvfs (const char *path, struct statvfs *v);

int __wrap_statvfs (const char *path, struct statvfs *v)
{
    if (missing && strcmp (path, missing) == 0) {
        errno = ENOENT;
        return -1;
    }
    memset (v, 0, sizeof (*v));
    v->f_frsize = 1;
    v->f_blocks = total_now;
    v->f_bavail = free_now;
    return 0;
}

static void test_parse (void **state)
{
    static const char *const bad[] = { "", "%", "-1%", "101%", "x", "5%%",
                                       "5 %" };
    struct space_limit l = { 0 };

    (void)state;
    assert_int_equal (space_parse_limit ("10GB", &l), 0);
    assert_true (l.set && l.bytes == 10000000000 && l.ppm == 0);
    assert_int_equal (space_parse_limit ("0.5%", &l), 0);
    assert_true (l.set && l.bytes == 0 && l.ppm == 5000);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        assert_int_equal (space_parse_limit (bad[i], &l), -EINVAL);
    assert_int_equal (l.ppm, 5000);         // a bad one changes nothing
}

static void test_limit (void **state)
{
    struct space_limit unset = { 0 }, part = { true, 0, 50000 },
                       none = { true, 0, 0 }, all = { true, 0, 1000000 };

    (void)state;
    assert_int_equal (space_limit_bytes (&unset, 1000 * GB, GB), GB);
    // a default must not take more of a small disk than it leaves
    assert_int_equal (space_limit_bytes (&unset, 5 * GB, GB), GB / 2);
    assert_int_equal (space_limit_bytes (&part, 1000 * GB, GB), 50 * GB);
    assert_int_equal (space_limit_bytes (&none, 1000 * GB, GB), 0);
    // file systems of 20 TB and of 10 EB: a share that wrapped would be none
    assert_true (space_limit_bytes (&all, 20000 * GB, GB) == 20000 * GB);
    assert_true (space_limit_bytes (&part, 10 * GB * GB, GB) == GB * GB / 2);
}

/* A disk at its floor must not be begun and left with each file. */
static void test_floor (void **state)
{
    struct space_floor f = { .limit = { true, 100, 0 } };
    struct err why = { "" };

    (void)state;
    total_now = 1000;
    free_now = 100;
    assert_int_equal (space_check_floor (&f, "/x", &why), 1);
    free_now = 99;
    assert_int_equal (space_check_floor (&f, "/x", &why), 0);
    assert_non_null (strstr (why.text, "/x has only 99 B free, 100 B must"));
    free_now = 104;
    assert_int_equal (space_check_floor (&f, "/x", &why), 0);
    free_now = 105;
    assert_int_equal (space_check_floor (&f, "/x", &why), 1);
    free_now = 100;
    assert_int_equal (space_check_floor (&f, "/x", &why), 1);
}

/* A disk that is full of small files has bytes, which nobody can use. */
static void test_text (void **state)
{
    struct space s = { .free_bytes = 5000, .free_inodes = SPACE_FEW_INODES };
    char out[SPACE_TEXT_MAX];

    (void)state;
    space_text (&s, out);
    assert_string_equal (out, "5.0 kB free");
    s.free_inodes = 1;
    space_text (&s, out);
    assert_string_equal (out, "room for 1 more file");
    s.free_inodes = UINT64_MAX;         // they are not limited
    s.free_bytes = UINT64_MAX;
    space_text (&s, out);
    assert_non_null (strstr (out, "EB free"));
}

/* A directory that is not made yet is as good as the one above. */
static void test_missing (void **state)
{
    struct space s;

    (void)state;
    total_now = 7;
    missing = "/a/b";
    assert_int_equal (space_of ("/a/b", &s, NULL), 0);
    assert_int_equal (s.total_bytes, 7);
    assert_true (s.free_inodes == UINT64_MAX);
    missing = "/";
    assert_int_equal (space_of ("/", &s, NULL), -ENOENT);
    missing = NULL;
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_parse),
        cmocka_unit_test (test_limit),
        cmocka_unit_test (test_floor),
        cmocka_unit_test (test_text),
        cmocka_unit_test (test_missing),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
