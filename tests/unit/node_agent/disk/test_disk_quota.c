/* tests/unit/node_agent/disk/test_disk_quota.c - room in the spool, and which
 * captures a policy concerns */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "disk/disk_quota.h"
#include "disk/release.h"

#include <string.h>
#include <sys/statvfs.h>

#define GIB (UINT64_C (1) << 30)

/* A file system of 100 GiB with so much free. */
static uint64_t free_now = 50 * GIB;

int __wrap_statvfs (const char *path, struct statvfs *v);

int __wrap_statvfs (const char *path, struct statvfs *v)
{
    (void)path;
    memset (v, 0, sizeof (*v));
    v->f_frsize = 1;
    v->f_blocks = 100 * GIB;
    v->f_bavail = free_now;
    return 0;
}

static void test_admits (void **state)
{
    struct disk_quota g = { .spool_dir = "/spool" };

    (void)state;
    assert_int_equal (disk_quota_quota_bytes (&g), 10 * GIB);
    assert_true (disk_quota_admits (&g, 0, 0) > 1);
    // near the quota one at a time, or it would be exceeded by all of them
    assert_int_equal (disk_quota_admits (&g, 10 * GIB - 1, 0), 1);
    assert_false (g.full);
    assert_int_equal (disk_quota_admits (&g, 10 * GIB, 0), 0);
    assert_int_equal (disk_quota_admits (&g, GIB, 9 * GIB), 0);
    assert_non_null (strstr (g.why.text, "kept until there is a second"));
    assert_true (g.full);
    assert_non_null (strstr (g.why.text, "--spool-quota"));
    free_now = GIB - 1;
    assert_int_equal (disk_quota_admits (&g, 0, 0), 0);
    assert_non_null (strstr (g.why.text, "--disk-floor"));
    free_now = 50 * GIB;
    assert_true (disk_quota_admits (&g, 0, 0) > 1);
    assert_false (g.full);
}

static void test_words (void **state)
{
    struct release_policy p = { .kind = RELEASE_NEVER };
    enum disk_quota_policy g;

    (void)state;
    assert_true (disk_quota_parse_policy ("drop-oldest-shipped", &g));
    assert_int_equal (g, DISK_QUOTA_DROP);
    assert_false (disk_quota_parse_policy ("drop", &g));
    assert_true (release_parse ("after=2m", &p));
    assert_int_equal (p.kind, RELEASE_AFTER);
    assert_int_equal (p.after_ns, INT64_C (120000000000));
    assert_false (release_parse ("after=", &p));
    assert_false (release_parse ("always", &p));
    assert_int_equal (p.kind, RELEASE_AFTER);
}

/* Only what is below the directory, not what has a name like it. */
static void test_concerns (void **state)
{
    struct release_policy p = { .kind = RELEASE_SHIPPED, .below = "/a/b" };

    (void)state;
    assert_true (release_concerns (&p, "/a/b/c"));
    assert_false (release_concerns (&p, "/a/bc/d"));
    assert_false (release_concerns (&p, "/a/b"));
    p.below = NULL;
    assert_true (release_concerns (&p, "/x"));
    p.kind = RELEASE_NEVER;
    assert_false (release_concerns (&p, "/x"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_admits),
        cmocka_unit_test (test_words),
        cmocka_unit_test (test_concerns),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
