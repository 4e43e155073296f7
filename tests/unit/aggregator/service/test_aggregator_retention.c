/* tests/unit/aggregator/service/test_aggregator_retention.c - a service removes
 * what is no longer kept, by a clock of the test's
 */
#include "aggregator/service/service_check.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define DAY_NS (24 * 3600 * NS_PER_S)

static int64_t days;            // from now on

int64_t __real_clock_wall_ns (void);
int64_t __wrap_clock_wall_ns (void);

int64_t __wrap_clock_wall_ns (void)
{
    return __real_clock_wall_ns () + days * DAY_NS;
}

/* The rows of a capture of a job, from an agent that ends then. */
static void deliver (struct service *s, unsigned peer, const char *job,
                     const char *capture)
{
    const struct message done = { .type = MESSAGE_DONE };

    service_hello (s, peer, job, 1);
    service_offer (s, peer, peer, capture);
    service_chunk (s, peer, peer, capture);
    aggregator_commit (&s->a);
    service_hear (s, peer, &done);
}

/* A turn of the loop, or two around the making of a plan. */
static void check (struct service *s, int64_t now)
{
    aggregator_check_retention (&s->a, now);
    if (!s->a.keep.reader)
        return;
    while (!root_reader_ended (s->a.keep.reader))
        (void)sched_yield ();
    aggregator_check_retention (&s->a, now);
}

/* Turns of the loop, at a time of its own clock, until nothing is under way. */
static void turn (struct service *s, int64_t now)
{
    for (unsigned i = 0; i < 1000; i++) {
        aggregator_check_gc (&s->a, now + NS_PER_S * i);
        check (s, s->a.keep.under_way ? s->a.keep.go_on_ns : now);
    }
    assert_false (s->a.keep.under_way);
    assert_null (s->a.gc);
}

static bool has (struct service *s, const char *job)
{
    return ledger_newest (s->a.ledger, job, ITEM_RAW) > 0;
}

static void keep (struct service *s, enum retention_limit which,
                  const char *text)
{
    const bool none = strcmp (text, "0") == 0;  // no user may ask for that
    struct retention_rule *rule = s->opt.keep.rules;

    assert_int_equal (retention_add (&s->opt.keep, which, none ? "1" : text,
                                     NULL), 0);
    if (none)
        *(which == RETENTION_DAYS ? &rule->keep_days : &rule->keep_last) = 0;
    days = 0;
}

static void test_days (void **state)
{
    struct service *s = *state;
    const int64_t hour = 3600 * NS_PER_S;
    int64_t now = clock_mono_ns ();
    struct json *status = json_object ();

    keep (s, RETENTION_DAYS, "10");
    deliver (s, 1, "old", "c1");
    turn (s, now);
    turn (s, now += hour);
    assert_true (has (s, "old"));
    aggregator_add_retention (&s->a, status);
    assert_string_equal (json_text (json_get (json_get (status, "retention"),
                                              "next"), ""), "old");
    json_free (status);
    days = 11;
    turn (s, now);              // not before the hour is over
    assert_true (has (s, "old"));
    turn (s, now += 11 * DAY_NS);
    assert_false (has (s, "old"));
    assert_int_equal (s->a.gc_report.removed, 1);
    service_close (s);
    service_open (s);
    assert_false (has (s, "old"));
}

/* A job to which an agent still delivers stays until it is done. */
static void test_busy (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "done", "c1");
    service_hello (s, 2, "busy", 1);
    service_offer (s, 2, 2, "c2");
    service_chunk (s, 2, 2, "c2");
    aggregator_commit (&s->a);
    turn (s, now);
    turn (s, now + 3600 * NS_PER_S);
    assert_false (has (s, "done"));
    assert_true (has (s, "busy"));
}

/* Agents of divided jobs say the scope: an open offer of one of its versions. */
static void test_busy_scope (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();
    struct ledger_assignment a = { .newest_ns = 1 };
    struct message m = { .type = MESSAGE_OFFER, .item = 1, .kind = ITEM_ROWS,
                         .size = 2, .newest_ns = 1, .place = "da" };
    const struct message gone = { .type = MESSAGE_GONE, .item = 2 };

    keep (s, RETENTION_LAST, "0");
    service_hello (s, 1, "scope", 1);
    PRINT (m.capture, "c");
    assert_int_equal (digest_of ("c1", 2, &m.content), 0);
    service_hear (s, 1, &m);
    service_chunk (s, 1, 1, "c1");
    aggregator_commit (&s->a);
    PRINT (a.scope, "scope");
    PRINT (a.dir, "da");
    PRINT (a.capture, "c");
    PRINT (a.job, "j");
    assert_int_equal (ledger_assign (s->a.ledger, &a, NULL), 1);
    assert_true (has (s, "j"));
    m.item = 2;
    m.kind = ITEM_RAW;
    PRINT (m.path, "f");
    assert_int_equal (digest_of ("c2", 2, &m.content), 0);
    service_hear (s, 1, &m);
    turn (s, now);
    turn (s, now += 3600 * NS_PER_S);
    assert_true (has (s, "j"));
    service_hear (s, 1, &gone);
    turn (s, now + 3600 * NS_PER_S);
    assert_false (has (s, "j"));
}

/* Data that came after the plan: the job is looked at again in an hour. */
static void test_newer (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "j", "c1");
    check (s, now);
    check (s, now += 5 * NS_PER_S);
    assert_true (s->a.keep.under_way);
    deliver (s, 2, "j", "c2");
    check (s, now);
    assert_true (has (s, "j"));
    assert_int_equal (s->a.keep.skipped, 1);
    turn (s, now + 3600 * NS_PER_S);
    assert_false (has (s, "j"));
}

/* One that was pinned, or removed, after the plan does not end the run. */
static void test_pinned_meanwhile (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();
    struct ledger_fact pin = { .at_ns = 1 };

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "a", "c1");
    deliver (s, 2, "b", "c2");
    check (s, now);
    check (s, now += 5 * NS_PER_S);
    PRINT (pin.job, "a");
    PRINT (pin.key, FACT_PIN);
    PRINT (pin.value, "1");
    assert_int_equal (ledger_set_fact (s->a.ledger, &pin, NULL), 1);
    for (int i = 0; i < 3; i++)
        check (s, s->a.keep.go_on_ns);
    assert_int_equal (s->a.keep.skipped, 1);
    assert_true (has (s, "a"));
    assert_false (has (s, "b"));
}

/* Two jobs that go, and their plan. */
static void plan_two (struct service *s)
{
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "a", "c1");
    deliver (s, 2, "b", "c2");
    check (s, now);
    check (s, now + 5 * NS_PER_S);
    assert_true (s->a.keep.under_way);
}

static void only_a_stays (struct service *s)
{
    for (int i = 0; i < 3; i++)
        check (s, s->a.keep.go_on_ns);
    assert_int_equal (s->a.keep.skipped, 1);
    assert_true (has (s, "a"));
    assert_false (has (s, "b"));
}

static void tag (struct service *s, const char *job, const char *value,
                 int64_t at_ns)
{
    struct ledger_fact f = { .at_ns = at_ns };

    PRINT (f.job, "%s", job);
    PRINT (f.key, FACT_TAG);
    PRINT (f.value, "%s", value);
    assert_int_equal (ledger_set_fact (s->a.ledger, &f, NULL), 1);
}

/* A tag that somebody gave after the plan was begun may keep the job, whatever
 * the clock said then.  What an import says of the future keeps nothing.
 */
static void test_tagged_meanwhile (void **state)
{
    struct service *s = *state;

    tag (s, "b", "imported", INT64_MAX);
    plan_two (s);
    tag (s, "a", "release", 1);
    only_a_stays (s);
}

/* What a build found of a job keeps it not: it may end between. */
static void test_built_meanwhile (void **state)
{
    struct ledger_fact f = { .job = "b", .key = FACT_COMMAND, .value = "x",
                             .at_ns = INT64_MAX };
    struct service *s = *state;

    plan_two (s);
    assert_int_equal (ledger_set_fact (s->a.ledger, &f, NULL), 1);
    tag (s, "a", "release", 1);
    only_a_stays (s);
}

/* So may a capture that was given to it. */
static void test_merged_meanwhile (void **state)
{
    struct service *s = *state;
    struct ledger_assignment x = { .newest_ns = 1, .at_ns = INT64_MAX };

    PRINT (x.scope, "scope");
    PRINT (x.dir, "d");
    PRINT (x.capture, "c");
    PRINT (x.job, "b");
    assert_int_equal (ledger_assign (s->a.ledger, &x, NULL), 1);
    plan_two (s);
    x.newest_ns = 2;
    x.at_ns = 1;
    PRINT (x.job, "a");
    assert_int_equal (ledger_assign (s->a.ledger, &x, NULL), 1);
    only_a_stays (s);
}

/* A removal that takes long does not take all of the time. */
static void test_pauses (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "a", "c1");
    deliver (s, 2, "b", "c2");
    check (s, now);
    check (s, now += 5 * NS_PER_S);
    for (int i = 0; i < 3; i++)
        check (s, now);
    assert_int_equal (has (s, "a") + has (s, "b"), 1);
    turn (s, now);
    assert_int_equal (has (s, "a") + has (s, "b"), 0);
}

/* A collection that did not end is begun again, also by the next service. */
static void test_collected_later (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "j", "c1");
    check (s, now);
    for (int i = 0; i < 4; i++)
        check (s, i == 0 ? now + 5 * NS_PER_S : s->a.keep.go_on_ns);
    assert_non_null (s->a.gc);
    assert_false (has (s, "j"));
    aggregator_end_gc (&s->a);
    service_close (s);
    service_open (s);
    turn (s, now);
    turn (s, now + 5 * NS_PER_S);
    assert_int_equal (s->a.gc_report.removed, 1);
    assert_false (s->a.keep.gc_due);
}

/* The newest data came too long before now, or after it. */
static void test_clock (void **state)
{
    static const int wrong[] = { 500, -500 };
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_DAYS, "0");
    deliver (s, 1, "j", "c1");
    turn (s, now);
    for (int i = 0; i < 2; i++) {
        days = wrong[i];
        turn (s, now += 3600 * NS_PER_S);
        turn (s, now += 1000 * DAY_NS);
        assert_true (has (s, "j"));
    }
    days = 399;
    turn (s, now += 3600 * NS_PER_S);
    days += 4;
    turn (s, now += 4 * DAY_NS);
    assert_true (has (s, "j"));
    days = 399;
    turn (s, now += 3600 * NS_PER_S);
    turn (s, now += 4 * DAY_NS);
    assert_true (has (s, "j"));
}

/* A clock that jumps is believed when it has gone on for three days, although
 * data is delivered under it.
 */
static void test_clock_jumps (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_DAYS, "10");
    deliver (s, 1, "j", "c1");
    turn (s, now);
    turn (s, now += 3600 * NS_PER_S);
    days = 300;
    deliver (s, 2, "k", "c2");
    turn (s, now += 3600 * NS_PER_S);
    assert_true (has (s, "j"));
    service_close (s);          // the next one has not seen the jump
    service_open (s);
    turn (s, now);
    turn (s, now += 5 * NS_PER_S);
    days += 2;
    turn (s, now += 2 * DAY_NS);
    assert_true (has (s, "j"));
    days += 2;
    turn (s, now += 2 * DAY_NS);
    assert_false (has (s, "j"));
}

/* What does not go by age does not wait: the disk may be full. */
static void test_off_for_days (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_LAST, "1");
    assert_int_equal (retention_add (&s->opt.keep, RETENTION_DAYS, "aged=1",
                                     NULL), 0);
    deliver (s, 1, "j", "c1");
    tag (s, "j", "aged", 1);
    deliver (s, 2, "k", "c2");
    turn (s, now);
    turn (s, now += 3600 * NS_PER_S);
    service_close (s);
    service_open (s);
    days = 2;
    deliver (s, 3, "l", "c3");
    turn (s, now);
    turn (s, now += 5 * NS_PER_S);
    assert_true (has (s, "j"));
    assert_false (has (s, "k"));
    assert_true (has (s, "l"));
    days = 6;
    turn (s, now += 4 * DAY_NS);
    assert_false (has (s, "j"));
}

/* Data of a clock that began in 1970 stays when it is right. */
static void test_clock_of_1970 (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_DAYS, "10");
    days = -20000;
    deliver (s, 1, "early", "c1");
    days = 0;
    deliver (s, 2, "late", "c2");
    turn (s, now);
    turn (s, now += 3600 * NS_PER_S);
    assert_true (has (s, "early"));
    assert_true (has (s, "late"));
}

/* Builds that follow each other give way when retention has waited for them. */
static void test_turn (void **state)
{
    struct service *s = *state;
    struct served busy = { .noted_size = 0 };
    int64_t now = clock_mono_ns (), minute = 60 * NS_PER_S;

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "j", "c1");
    turn (s, now);
    s->a.building = &busy;
    check (s, now += 60 * minute);
    check (s, now += 9 * minute);
    s->a.building = NULL;       // before the next one begins
    assert_false (aggregator_upkeep_has_turn (&s->a, now));
    s->a.building = &busy;
    check (s, now += 2 * minute);
    assert_false (aggregator_upkeep_has_turn (&s->a, now));
    s->a.building = NULL;
    assert_true (aggregator_upkeep_has_turn (&s->a, now));
    check (s, now);
    assert_true (s->a.keep.under_way);
    assert_true (aggregator_upkeep_has_turn (&s->a, now + minute));
    assert_false (aggregator_upkeep_has_turn (&s->a, now + 3 * minute));
    turn (s, now + minute);
    assert_false (has (s, "j"));
    assert_false (aggregator_upkeep_has_turn (&s->a, now + minute));
}

/* What was removed is acknowledged when it is offered again, and not asked for.
 */
static void test_offered_again (void **state)
{
    struct service *s = *state;
    int64_t now = clock_mono_ns ();

    keep (s, RETENTION_LAST, "0");
    deliver (s, 1, "j", "c1");
    turn (s, now);
    turn (s, now + 3600 * NS_PER_S);
    assert_false (has (s, "j"));
    (void)service_said (s, MESSAGE_GET);
    service_hello (s, 2, "j", 1);
    (void)service_said (s, MESSAGE_GET);
    service_offer (s, 2, 9, "c1");
    aggregator_commit (&s->a);
    assert_int_equal (s->sent[s->nsent - 1].type, MESSAGE_ACK);
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    assert_false (has (s, "j"));
}

#define SERVICE_TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST (test_days), SERVICE_TEST (test_busy),
        SERVICE_TEST (test_busy_scope), SERVICE_TEST (test_newer),
        SERVICE_TEST (test_pinned_meanwhile),
        SERVICE_TEST (test_tagged_meanwhile),
        SERVICE_TEST (test_built_meanwhile),
        SERVICE_TEST (test_merged_meanwhile),
        SERVICE_TEST (test_clock),
        SERVICE_TEST (test_clock_jumps), SERVICE_TEST (test_clock_of_1970),
        SERVICE_TEST (test_pauses), SERVICE_TEST (test_collected_later),
        SERVICE_TEST (test_off_for_days), SERVICE_TEST (test_turn),
        SERVICE_TEST (test_offered_again),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
