/* tests/unit/aggregator/service/test_aggregator_quota.c - what is beyond a quota
 * stays on its node until there is room
 */
#include "aggregator/service/service_check.h"

#include <string.h>

/* Whether an OFFER is answered. */
static bool answered (struct service *s, uint64_t item, const char *capture)
{
    s->nsent = 0;
    service_offer (s, 1, item, capture);
    return service_said (s, MESSAGE_GET) == 1;
}

/* What WELCOME says to an agent that asks again. */
static const char *welcome (struct service *s)
{
    s->nsent = 0;
    service_hello (s, 1, "j", 1);
    assert_int_equal (s->sent[0].type, MESSAGE_WELCOME);
    return s->sent[0].text;
}

static void deliver (struct service *s, uint64_t item, const char *capture)
{
    assert_true (answered (s, item, capture));
    service_chunk (s, 1, item, capture);
    assert_int_equal (service_commit (s), 0);
}

static void begin (struct service *s, int64_t bytes)
{
    s->opt.quotas.job = bytes;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 1);
}

static void test_waits (void **state)
{
    struct service *s = *state;

    begin (s, 20);
    assert_string_equal (welcome (s), "");
    deliver (s, 1, "a capture");
    assert_false (answered (s, 2, "a larger one"));
    assert_non_null (strstr (welcome (s), "delivery waits: quota of job j is "
                             "full"));
    // another one is small enough
    assert_true (answered (s, 3, "small"));
}

/* With more room, the same OFFER is answered. */
static void test_room (void **state)
{
    struct service *s = *state;

    begin (s, 3);
    assert_false (answered (s, 1, "a capture"));
    assert_false (answered (s, 1, "a capture"));
    s->opt.quotas.job = 1000;
    deliver (s, 1, "a capture");
    assert_int_equal (s->a.usage.total, strlen ("a capture"));
}

/* What was stored before counts, too. */
static void test_count (void **state)
{
    struct service *s = *state;

    begin (s, 0);
    deliver (s, 1, "a capture");
    s->opt.quotas.root = 12;
    aggregator_count_usage (&s->a);
    assert_int_equal (s->a.usage.total, strlen ("a capture"));
    assert_false (answered (s, 2, "more"));
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_waits), TEST (test_room), TEST (test_count),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
