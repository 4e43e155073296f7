/* tests/unit/aggregator/service/test_quota.c - how much a root may hold */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "service/quota.h"

#include <errno.h>
#include <string.h>

#define NOW (1000 * NS_PER_S)

static struct err why, hint;
static struct usage promised;

static bool allows (const struct quotas *q, const struct usage *u,
                    const char *job, uint64_t bytes)
{
    why.text[0] = hint.text[0] = '\0';
    return quotas_allow (q, u, &promised, job, bytes, &why, &hint);
}

static void says (const struct err *err, const char *text)
{
    if (!strstr (err->text, text))
        fail_msg ("no \"%s\" in \"%s\"", text, err->text);
}

static struct usage two_users (void)
{
    struct usage u = { .total = 0 };

    usage_add (&u, "old", 100, NOW);
    usage_add (&u, "large", 500, NOW);
    usage_add (&u, "kept", 900, NOW);
    usage_add (&u, "bobs", 300, NOW);
    usage_set_user (&u, "old", "alice");
    usage_set_user (&u, "large", "alice");
    usage_set_user (&u, "kept", "alice");
    usage_set_pin (&u, "kept", true);
    usage_set_user (&u, "bobs", "bob");
    return u;
}

static void test_options (void **state)
{
    struct option_list l = { .items = { "1kB", "bob=2kB", "a=b=3kB" }, .n = 3 };
    struct quotas q = { .root = 0 };

    (void)state;
    assert_false (quotas_any (&q));
    assert_int_equal (quotas_read (&q, &l, NULL), 0);
    assert_true (quotas_any (&q));
    assert_int_equal (q.user, 1000);
    assert_int_equal (q.nusers, 2);
    assert_int_equal (q.users[1].bytes, 3000);
    l = (struct option_list){ .items = { "bob=much" }, .n = 1 };
    assert_int_equal (quotas_read (&q, &l, &why), -EINVAL);
    says (&why, "bob=much");
    l = (struct option_list){ .items = { "=5" }, .n = 1 };
    assert_int_equal (quotas_read (&q, &l, NULL), -EINVAL);
}

static void test_user (void **state)
{
    struct option_list l = { .items = { "1600", "bob=10kB" }, .n = 2 };
    struct usage u = two_users ();
    struct quotas q = { .root = 0 };

    (void)state;
    assert_int_equal (quotas_read (&q, &l, NULL), 0);
    assert_true (allows (&q, &u, "old", 100));
    assert_false (allows (&q, &u, "old", 101));
    says (&why, "quota of user alice is full: 1.5 kB of 1.6 kB");
    says (&hint, "not pinned is large (500 B), the oldest old (100 B)");
    assert_true (allows (&q, &u, "bobs", 9700));
    assert_false (allows (&q, &u, "bobs", 9701));
    // whose it is, is not known before its first build
    assert_true (allows (&q, &u, "new", 1 << 30));
    usage_fini (&u);
}

static void test_job_and_root (void **state)
{
    struct usage u = two_users ();
    struct quotas q = { .job = 900 };

    (void)state;
    assert_true (allows (&q, &u, "large", 400));
    assert_false (allows (&q, &u, "large", 401));
    says (&why, "quota of job large is full");
    assert_true (allows (&q, &u, "new", 900));
    q = (struct quotas){ .root = 2000 };
    assert_true (allows (&q, &u, "new", 200));
    assert_false (allows (&q, &u, "new", 201));
    says (&why, "quota of this root is full: 1.8 kB of 2.0 kB");
    says (&hint, "large (500 B)");
    q.root = 1000;              // made smaller than what there is
    assert_false (allows (&q, &u, "new", 0));
    usage_set_pin (&u, "old", true);
    usage_set_pin (&u, "large", true);
    usage_set_pin (&u, "bobs", true);
    assert_false (allows (&q, &u, "new", 0));
    says (&hint, "pinned");
    usage_fini (&u);
}

/* What is promised to others takes room, too. */
static void test_promised (void **state)
{
    struct usage u = two_users ();
    struct quotas q = { .root = 2000, .user = 1900 };
    int64_t number;

    (void)state;
    usage_set_user (&promised, "other", "alice");
    number = usage_promise (&promised, "other", 150);
    assert_true (allows (&q, &u, "new", 50));
    assert_false (allows (&q, &u, "new", 51));
    q.user = 1700;
    assert_false (allows (&q, &u, "old", 51));
    says (&why, "quota of user alice is full");
    usage_change (&promised, number, -150);
    assert_true (allows (&q, &u, "old", 51));
    q.job = 600;
    (void)usage_promise (&promised, "large", 100);
    assert_false (allows (&q, &u, "large", 1));
    says (&why, "quota of job large is full");
    usage_fini (&promised);
    usage_fini (&u);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_options), cmocka_unit_test (test_user),
        cmocka_unit_test (test_job_and_root), cmocka_unit_test (test_promised),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
