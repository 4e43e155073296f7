/* tests/unit/aggregator/service/test_aggregator_facts.c - who started a job, as
 * its captures say
 */
#include "aggregator/service/service_check.h"

#include <string.h>

static struct job_origin about;
static bool of_one_user;

struct job_origin __wrap_job_build_about (const struct job_build *b);
bool __wrap_job_build_is_of (const struct job_build *b, const char *user);

struct job_origin __wrap_job_build_about (const struct job_build *b)
{
    (void)b;
    return about;
}

bool __wrap_job_build_is_of (const struct job_build *b, const char *user)
{
    (void)b;
    return of_one_user && strcmp (user, about.user) == 0;
}

static bool says (struct service *s, const char *key, const char *value)
{
    struct ledger_fact f = { .gone = false };

    (void)snprintf (f.job, sizeof (f.job), "j");
    (void)snprintf (f.key, sizeof (f.key), "%s", key);
    (void)snprintf (f.value, sizeof (f.value), "%s", value);
    return ledger_has_fact (s->a.ledger, &f, NULL) == 1;
}

static void build_ends (struct service *s, const char *user, bool one)
{
    struct served served = { .noted_size = 0 };

    (void)snprintf (served.job.id, sizeof (served.job.id), "j");
    about = (struct job_origin){ .scheduler_id = "", .command = "train.py" };
    (void)snprintf (about.user, sizeof (about.user), "%s", user);
    of_one_user = one;
    s->a.building = &served;
    assert_true (aggregator_note_origin (&s->a));       // durable
    s->a.building = NULL;
}

static void built_by (struct service *s, const char *user, bool one)
{
    const struct ledger_item i = { .job = "j", .kind = ITEM_ROWS,
                                   .capture = "c", .received_ns = 1 };

    assert_true (ledger_add_item (s->a.ledger, &i, NULL) >= 0);
    build_ends (s, user, one);
}

static void test_facts (void **state)
{
    struct service *s = *state;

    built_by (s, "alice", true);
    assert_true (says (s, FACT_USER, "alice"));
    assert_true (says (s, FACT_COMMAND, "train.py"));
    assert_false (says (s, FACT_SCHEDULER_ID, ""));
    // again, and nothing new is written
    built_by (s, "alice", true);
    built_by (s, "bob", true);
    assert_true (says (s, FACT_USER, "bob"));
    assert_false (says (s, FACT_USER, "alice"));
    usage_fini (&s->a.usage);
}

/* Captures of two users: it is visible to neither, also if one of them had it
 * alone before.
 */
static void test_two_users (void **state)
{
    struct service *s = *state;

    built_by (s, "alice", false);
    assert_false (says (s, FACT_USER, "alice"));
    built_by (s, "alice", true);
    assert_true (says (s, FACT_USER, "alice"));
    assert_int_equal (usage_of_job (&s->a.usage, "j")->user, 0);
    built_by (s, "bob", false);
    assert_false (says (s, FACT_USER, "alice"));
    assert_false (says (s, FACT_USER, "bob"));
    assert_true (usage_of_job (&s->a.usage, "j")->user == TEXTS_NONE);
    assert_true (says (s, FACT_COMMAND, "train.py"));
    usage_fini (&s->a.usage);
}

/* Its command went with its last capture, while it was built. */
static void test_removed (void **state)
{
    struct service *s = *state;

    build_ends (s, "alice", true);
    assert_false (says (s, FACT_COMMAND, "train.py"));
    assert_false (says (s, FACT_USER, "alice"));
}

/* A run's root does not last. */
static void test_run (void **state)
{
    struct service *s = *state;

    s->opt.run_dir = s->dir;
    built_by (s, "alice", true);
    assert_false (says (s, FACT_USER, "alice"));
}

static void say_divided (struct service *s, unsigned peer, bool home,
                         const char *text)
{
    struct message m = { .type = MESSAGE_DIVIDED, .home = home };

    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    service_hear (s, peer, &m);
    assert_int_equal (service_commit (s), 0);
}

/* Where the rest of a job is, as far as any agent has said it. */
static void test_divided (void **state)
{
    struct service *s = *state;
    char many[MESSAGE_TEXT_MAX] = "tcp://first:1";

    service_hello (s, 1, "j", 0);
    service_hello (s, 2, "j", 0);
    say_divided (s, 1, true, "tcp://b:1");
    assert_true (says (s, FACT_RAW_AT, "tcp://b:1"));
    say_divided (s, 2, true, "tcp://c:1, tcp://b:1");
    say_divided (s, 1, true, "tcp://b:1");
    assert_true (says (s, FACT_RAW_AT, "tcp://b:1, tcp://c:1"));
    // b:1 is no part of xb:1 or of b:12, and what is no endpoint is not kept
    say_divided (s, 1, true, "tcp://b:12, nonsense, tcp://xb:1");
    assert_true (says (s, FACT_RAW_AT, "tcp://b:1, tcp://c:1, tcp://b:12, "
                                       "tcp://xb:1"));
    say_divided (s, 1, false, "tcp://a:1");
    assert_true (says (s, FACT_HOME, "tcp://a:1"));
    // the next aggregator knows as much when it hears of less
    service_close (s);
    service_open (s);
    service_hello (s, 1, "j", 0);
    say_divided (s, 1, false, "tcp://d:1");
    assert_true (says (s, FACT_HOME, "tcp://a:1, tcp://d:1"));
    for (unsigned i = 0; i < 60; i++)
        (void)snprintf (many + strlen (many), 16, ", tcp://x:%u", i + 100);
    say_divided (s, 1, false, many);
    assert_false (says (s, FACT_HOME, "tcp://a:1, tcp://d:1"));
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_facts), TEST (test_two_users), TEST (test_run),
        TEST (test_removed), TEST (test_divided),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
