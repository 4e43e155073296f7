/* tests/unit/aggregator/service/test_aggregator_agents.c - which agents there
 * are: they come, are silent, are started again, are too many */
#include "aggregator/service/service_check.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

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
    assert_int_equal (service_agents (s), 1);
    s->gone = 1;
    service_hello_as (s, 2, 1, "j", 1); // the host's agent, restarted
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (service_agents (s), 1);
}

static struct job_agent *only_agent (struct service *s)
{
    assert_int_equal (service_agents (s), 1);
    return &s->a.jobs->job.agents[0];
}

/* Anybody who may connect could say every millisecond that it is the agent of
 * another host, which then would deliver nothing any more.
 */
static void test_rival (void **state)
{
    const struct message *last;
    struct service *s = *state;
    struct job_agent *agent;

    service_hello_as (s, 1, 1, "j", 1);
    agent = only_agent (s);
    (void)service_said (s, MESSAGE_WELCOME);
    for (int i = 0; i < 100; i++)
        service_hello_as (s, 2, 1, "j", 1);
    assert_int_equal (agent->peer.id[0], 1);
    // the first one is asked whether it is there, not as often
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 0);
    // seconds later both are still there: the second is told why not
    agent->rival_ns -= 60 * NS_PER_S;
    service_hello_as (s, 2, 1, "j", 1);
    last = &s->sent[(s->nsent - 1) % SENT_MAX];
    assert_int_equal (last->type, MESSAGE_REFUSED);
    assert_non_null (strstr (last->text, "host1"));
    assert_int_equal (agent->peer.id[0], 1);
    // so is each of many: one without an answer says that a firewall may be in
    // between
    (void)service_said (s, MESSAGE_REFUSED);
    for (unsigned i = 2; i < 10; i++)
        service_hello_as (s, i, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 8);
    // the first one has fallen silent, its connection half open
    agent->heard_ns -= 60 * NS_PER_S;
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello_as (s, 2, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (only_agent (s)->peer.id[0], 2);
}

/* A dead node was one of "agents: 3", for ever. */
static void test_silent (void **state)
{
    struct message done = { .type = MESSAGE_DONE };
    struct service *s = *state;
    struct json *j = json_object ();
    char text[MESSAGE_TEXT_MAX];
    struct job_agent *agent;
    int64_t now = clock_mono_ns ();

    for (unsigned i = 1; i < 4; i++)
        service_hello_as (s, i, i, "j", 3);
    service_offer (s, 2, 7, "rank2");
    service_hear (s, 3, &done);
    aggregator_check_silent (&s->a, now);
    // one that is a minute old: but we did nothing meanwhile
    aggregator_check_silent (&s->a, now + 60 * NS_PER_S);
    assert_int_equal (aggregator_add_silent (&s->a, j, text, sizeof (text)), 0);
    s->a.awake_ns = now;
    service_hello_as (s, 1, 1, "j", 3);
    agent = job_agent_of_host (&s->a.jobs->job, "key1");
    agent->heard_ns = now + 50 * NS_PER_S;
    aggregator_check_silent (&s->a, now + 60 * NS_PER_S);
    assert_false (agent->lost);
    assert_int_equal (aggregator_add_silent (&s->a, j, text, sizeof (text)), 1);
    assert_non_null (strstr (text, "host host2 since 20"));
    service_hello_as (s, 2, 2, "j", 3);         // it is heard again
    assert_int_equal (aggregator_add_silent (&s->a, j, text, sizeof (text)), 0);
    json_free (j);
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
    assert_int_equal (service_agents (s), AGGREGATOR_AGENTS_MAX);
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello_as (s, i, i, "job0", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 1);
    s->gone = 7;
    service_hello_as (s, i + 1, 7, "job0", 1);  // restarted
    service_hello_as (s, 9, 9, "job0", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 2);
    assert_int_equal (service_agents (s), AGGREGATOR_AGENTS_MAX);
}

/* Each start of a host or container is another host: those that are gone do not
 * fill a job that lives on.
 */
static void test_agents_gone (void **state)
{
    struct message rank = { .type = MESSAGE_RANK, .rank = 3 };
    struct service *s = *state;
    struct job *j;
    unsigned i;

    for (i = 0; i < JOB_AGENTS_MAX; i++)
        service_hello_as (s, i, i, "j", 1);
    j = &s->a.jobs->job;
    rank.rank = 3;
    service_hear (s, 7, &rank);
    rank.rank = 4;
    service_hear (s, 9, &rank);
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello_as (s, i, i, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 1);
    for (unsigned k = 0; k < 9; k++)
        j->agents[k].heard_ns -= 2 * AGGREGATOR_IDLE_NS;
    service_hello_as (s, i, i, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (service_agents (s), JOB_AGENTS_MAX - 8);
    // what others said is theirs
    assert_int_equal (j->nranks, 1);
    assert_int_equal (j->ranks[0].rank, 4);
    assert_string_equal (j->agents[j->ranks[0].agent].host, "host9");
    // one that was silent, and is there, says hello again
    service_hello_as (s, 7, 7, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
}

/* A connection is this agent, and of this job; or NULL. */
static void check_peer (struct service *s, unsigned peer, const char *host,
                        const char *job)
{
    struct net_peer from = { .size = sizeof (peer) };
    struct job_agent *agent;
    struct served *of;

    memcpy (from.id, &peer, sizeof (peer));
    of = aggregator_find_peer (&s->a, &from, &agent);
    assert_true ((of != NULL) == (job != NULL));
    if (!of)
        return;
    assert_string_equal (of->job.id, job);
    assert_string_equal (agent->host, host);
    assert_memory_equal (agent->peer.id, from.id, from.size);
}

/* Of a service that lives for months the table would have every host that ever
 * was.  What is to be built needs what agents have said.
 */
static void test_gone (void **state)
{
    struct message done = { .type = MESSAGE_DONE };
    struct service *s = *state;
    int64_t now = clock_mono_ns (), minute = 60 * NS_PER_S;
    struct served *j;

    service_hello_as (s, 1, 1, "peace", 1);
    service_hear (s, 1, &done);
    for (unsigned i = 2; i < 4; i++)
        service_hello_as (s, i, i, "j", 2);
    service_hear (s, 2, &done);
    aggregator_forget_gone (&s->a, now + 9 * minute);
    assert_int_equal (s->a.njobs, 2);
    aggregator_forget_gone (&s->a, now + 11 * minute);
    assert_int_equal (s->a.njobs, 1);
    // host2 has ended, but host3 has not: the roll has the words of both
    assert_int_equal (service_agents (s), 2);
    j = s->a.jobs;
    j->job.agents[1].heard_ns = now + 60 * minute;
    build_schedule_arrived (&j->schedule, now);
    aggregator_forget_gone (&s->a, now + 61 * minute);
    assert_int_equal (service_agents (s), 2);
    j->schedule = (struct build_schedule){ .first_ns = 0 };
    aggregator_forget_gone (&s->a, now + 61 * minute);
    assert_int_equal (service_agents (s), 1);
    assert_string_equal (only_agent (s)->host, "host3");
    check_peer (s, 2, "", NULL);
    check_peer (s, 3, "host3", "j");
    aggregator_forget_gone (&s->a, now + 121 * minute);
    assert_int_equal (s->a.njobs, 0);
    service_hello_as (s, 3, 3, "j", 2);         // it is there after all
    assert_int_equal (service_agents (s), 1);
}

/* What a connection says is taken for that of its agent, whoever comes, goes,
 * moves in memory or is started again.
 */
static void test_peers (void **state)
{
    struct service *s = *state;
    struct job *j;

    for (unsigned i = 0; i < 9; i++)
        service_hello (s, i, i < 6 ? "j" : "k", 1);
    check_peer (s, 5, "host5", "j");
    check_peer (s, 6, "host6", "k");
    check_peer (s, 9, NULL, NULL);
    s->gone = 4;
    service_hello_as (s, 20, 4, "j", 1);        // restarted
    check_peer (s, 4, NULL, NULL);
    check_peer (s, 20, "host4", "j");
    j = &aggregator_find_job (&s->a, "j")->job;
    j->agents[1].heard_ns -= 2 * AGGREGATOR_IDLE_NS;
    j = &aggregator_find_job (&s->a, "k")->job;
    for (size_t i = 0; i < j->nagents; i++)
        j->agents[i].heard_ns -= 2 * AGGREGATOR_IDLE_NS;
    for (unsigned i = 100; i < 100 + JOB_AGENTS_MAX - 5; i++)
        service_hello (s, i, "j", 1);           // the last one makes room
    check_peer (s, 0, "host0", "j");
    check_peer (s, 1, NULL, NULL);
    check_peer (s, 5, "host5", "j");
    check_peer (s, 20, "host4", "j");
    check_peer (s, 6, NULL, NULL);
    check_peer (s, 100, "host100", "j");
    assert_null (aggregator_find_job (&s->a, "k"));
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_one_connection), TEST (test_rival), TEST (test_silent),
        TEST (test_gone), TEST (test_agents_max), TEST (test_agents_gone),
        TEST (test_peers),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
