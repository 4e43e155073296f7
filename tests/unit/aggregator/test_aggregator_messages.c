/* tests/unit/aggregator/test_aggregator_messages.c - what agents may say */
#include "service_check.h"

#include <stdio.h>
#include <string.h>

static size_t agents (const struct service *s)
{
    size_t n = 0;

    for (const struct served *j = s->a.jobs; j; j = j->next)
        n += j->job.nagents;
    return n;
}

/* One connection that says hello as many would take the room of all, and the
 * memory that there is.
 */
static void test_one_connection (void **state)
{
    struct service *s = *state;

    service_hello_as (s, 1, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    service_hello_as (s, 1, 1, "j", 1); // it is said again and again
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    service_hello_as (s, 1, 2, "j", 1);
    service_hello_as (s, 1, 1, "other", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 2);
    assert_int_equal (agents (s), 1);
    service_hello_as (s, 2, 1, "j", 1); // the host's agent, restarted
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (agents (s), 1);
}

/* However many connections: memory has an end.  Who is known is served. */
static void test_agents_max (void **state)
{
    struct service *s = *state;
    char job[32];
    unsigned i;

    for (i = 0; i < AGGREGATOR_AGENTS_MAX; i++) {
        (void)snprintf (job, sizeof (job), "job%u", i / 1000);
        service_hello_as (s, i, i, job, 1);
    }
    assert_int_equal (agents (s), AGGREGATOR_AGENTS_MAX);
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello_as (s, i, i, "job0", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 1);
    service_hello_as (s, i + 1, 7, "job0", 1);  // restarted
    service_hello_as (s, 9, 9, "job0", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 2);
    assert_int_equal (agents (s), AGGREGATOR_AGENTS_MAX);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_one_connection), TEST (test_agents_max),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
