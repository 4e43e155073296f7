/* tests/unit/aggregator/service/test_usage.c - how much a root holds, by job
 * and user, and how fast it grows */
#include "aggregator/ledger/ledger_check.h"

#include "base/clock.h"
#include "service/usage.h"

#include <math.h>

#define HOUR_NS (3600 * NS_PER_S)
#define NOW (1000000 * HOUR_NS)

static void enter_for (struct root *r, const char *job, const char *capture,
                       const char *bytes, int64_t received_ns)
{
    struct ledger_item i = true_item (capture, bytes);

    (void)snprintf (i.job, sizeof (i.job), "%s", job);
    i.received_ns = received_ns;
    assert_int_equal (enter (r, i, bytes), 1);
}

static uint64_t of (const struct usage *u, const char *job)
{
    const struct usage_job *j = usage_of_job (u, job);

    return j ? j->bytes : UINT64_MAX;
}

/* What two jobs have counts for the first one; what one has twice, once. */
static void test_count (void **state)
{
    struct root *r = *state;
    struct usage u = { .total = 0 };

    enter_for (r, "one", "a", "0123456789", NOW - 2 * HOUR_NS);
    enter_for (r, "one", "b", "0123456789", NOW - HOUR_NS);
    enter_for (r, "two", "a", "0123456789", NOW);
    enter_for (r, "two", "b", "01234", NOW);
    say_of (r, "one", FACT_USER, "alice");
    say_of (r, "two", FACT_USER, "bob");
    say_of (r, "two", FACT_PIN, "1");
    assert_int_equal (usage_count (&u, r->l, r->s, NOW, NULL), 0);
    assert_int_equal (u.total, 15);
    assert_int_equal (of (&u, "one"), 10);
    assert_int_equal (of (&u, "two"), 5);
    assert_int_equal (usage_of_user (&u, "alice"), 10);
    assert_int_equal (usage_of_user (&u, "bob"), 5);
    assert_int_equal (usage_of_user (&u, "carol"), 0);
    assert_false (usage_of_job (&u, "one")->pinned);
    assert_true (usage_of_job (&u, "two")->pinned);
    // again, and it is not twice as much
    assert_int_equal (usage_count (&u, r->l, r->s, NOW, NULL), 0);
    assert_int_equal (u.total, 15);
    usage_fini (&u);
}

/* A job that gets another user takes all of its bytes with it. */
static void test_user (void **state)
{
    struct usage u = { .total = 0 };

    (void)state;
    usage_add (&u, "j", 100, NOW);
    assert_int_equal (usage_of_user (&u, "alice"), 0);
    usage_set_user (&u, "j", "alice");
    usage_add (&u, "j", 10, NOW);
    assert_int_equal (usage_of_user (&u, "alice"), 110);
    usage_set_user (&u, "j", "bob");
    assert_int_equal (usage_of_user (&u, "alice"), 0);
    assert_int_equal (usage_of_user (&u, "bob"), 110);
    usage_set_user (&u, "j", "");
    assert_int_equal (usage_of_user (&u, "bob"), 0);
    assert_int_equal (of (&u, "j"), 110);
    usage_fini (&u);
}

/* Nothing is said of growth before there has been an hour. */
static void test_rate (void **state)
{
    struct usage u = { .total = 0 };

    (void)state;
    assert_true (isnan (usage_rate (&u, 24, NOW)));
    usage_add (&u, "j", 600, NOW);
    assert_true (isnan (usage_rate (&u, 24, NOW + HOUR_NS - 1)));
    assert_true (fabs (usage_rate (&u, 24, NOW + HOUR_NS) - 14400) < 1);
    usage_add (&u, "j", 600, NOW + 11 * HOUR_NS);
    assert_true (fabs (usage_rate (&u, 24, NOW + 12 * HOUR_NS) - 2400) < 1);
    // a day later it grows no more, but it did in that week
    assert_true (usage_rate (&u, 24, NOW + 40 * HOUR_NS) == 0);
    assert_true (fabs (usage_rate (&u, USAGE_HOURS, NOW + 48 * HOUR_NS) -
                       600) < 1);
    usage_add (&u, "j", 1, NOW + 2000 * HOUR_NS);
    assert_true (usage_rate (&u, USAGE_HOURS, NOW + 2000 * HOUR_NS) < 1);
    usage_fini (&u);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_count), cmocka_unit_test (test_user),
        cmocka_unit_test (test_rate),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
