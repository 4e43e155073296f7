/* tests/unit/aggregator/service/test_aggregator_shares.c - what one key leaves to
 * others
 */
#include "aggregator/service/service_check.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static void hello_by (struct service *s, const char *who, unsigned peer,
                      const char *job)
{
    s->who = who;
    service_hello_as (s, peer, peer, job, 1);
}

static void all_silent (struct service *s)
{
    for (struct served *j = s->a.jobs; j; j = j->next) {
        for (size_t i = 0; i < j->job.nagents; i++)
            j->job.agents[i].heard_ns -= AGGREGATOR_IDLE_NS + NS_PER_S;
    }
    (void)service_said (s, MESSAGE_WELCOME);
}

/* One key that opens jobs without end leaves room for those of others. */
static void test_share_of_jobs (void **state)
{
    struct service *s = *state;
    char job[32];
    unsigned i;

    for (i = 0; i < AGGREGATOR_JOBS_MAX; i++) {
        (void)snprintf (job, sizeof (job), "job%u", i);
        hello_by (s, "k1", i, job);
    }
    assert_int_equal (s->a.njobs, AGGREGATOR_JOBS_MAX / 2);
    (void)service_said (s, MESSAGE_WELCOME);
    hello_by (s, "k2", i++, "mine");
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    hello_by (s, "k1", i++, "one more");
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 1);
    hello_by (s, "k1", i++, "mine");    // a job that is there, it may
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    all_silent (s);
    hello_by (s, "k1", i, "one more");
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (s->a.njobs, 1);
}

/* Nor does one fill a job that others deliver to. */
static void test_share_of_agents (void **state)
{
    struct service *s = *state;
    unsigned i;

    for (i = 0; i < JOB_AGENTS_MAX / 2 + 5; i++)
        hello_by (s, "k1", i, "default");
    assert_int_equal (service_agents (s), JOB_AGENTS_MAX / 2);
    (void)service_said (s, MESSAGE_WELCOME);
    hello_by (s, "k2", i, "default");
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
}

static void say_rank (struct service *s, const char *who, unsigned peer,
                      int64_t rank)
{
    struct message m = { .type = MESSAGE_RANK, .rank = rank,
                         .phase = RANK_ENDED };

    memset (m.text, 'x', 1000);
    s->who = who;
    service_hear (s, peer, &m);
}

/* 137 MB of names of ranks, which stayed when the connection was gone. */
static void test_share_of_texts (void **state)
{
    struct service *s = *state;
    struct job *other, *many;

    hello_by (s, "k1", 1, "many");
    hello_by (s, "k1", 2, "more");
    hello_by (s, "k2", 3, "other");
    many = &aggregator_find_job (&s->a, "many")->job;
    other = &aggregator_find_job (&s->a, "other")->job;
    for (int64_t i = 0; i < capture_world_max; i++)
        say_rank (s, "k1", 1, i);
    assert_int_equal (many->nranks, JOB_RANKS_MAX);
    assert_true (many->texts < AGGREGATOR_TEXTS_MAX * 3 / 4);
    say_rank (s, "k1", 2, 0);
    assert_int_equal (aggregator_find_job (&s->a, "more")->job.nranks, 0);
    say_rank (s, "k2", 3, 0);
    assert_int_equal (other->nranks, 1);
    assert_int_equal (strlen (other->ranks[0].text), 1000);
    // what was said again is not counted again
    say_rank (s, "k2", 3, 0);
    assert_int_equal (other->texts, 1000 + JOB_TEXT_COST);
    all_silent (s);
    hello_by (s, "k2", 3, "other");
    aggregator_check_shares (&s->a, INT64_MAX);
    assert_int_equal (s->a.njobs, 1);
    assert_int_equal (other->texts, 1000 + JOB_TEXT_COST);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_share_of_jobs), TEST (test_share_of_agents),
        TEST (test_share_of_texts),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
