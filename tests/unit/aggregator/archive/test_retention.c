/* tests/unit/aggregator/archive/test_retention.c - which jobs are no longer kept
 */
#include "aggregator/ledger/ledger_check.h"

#include "archive/retention.h"
#include "base/clock.h"

#define DAY (24 * 3600 * NS_PER_S)
#define NOW (100 * DAY)

/* A job of one capture that came so many days ago. */
static void add (struct root *r, const char *job, int64_t days,
                 const char *bytes)
{
    struct ledger_item i = true_item ("c", bytes);

    (void)snprintf (i.job, sizeof (i.job), "%s", job);
    i.newest_ns = 1;
    i.received_ns = NOW - days * DAY;
    assert_int_equal (enter (r, i, bytes), 1);
}

/* A job with a content of three chunks. */
static void add_large (struct root *r, const char *job, int64_t days)
{
    const char fill[3] = { *job, (char)(*job + 1), (char)(*job + 2) };
    struct ledger_item i = item_of ("c", 0);

    (void)snprintf (i.job, sizeof (i.job), "%s", job);
    i.received_ns = NOW - days * DAY;
    enter_large (r, &i, fill);
}

static void limit (struct retention_rules *rules, enum retention_limit which,
                   const char *text)
{
    assert_int_equal (retention_add (rules, which, text, NULL), 0);
}

/* Less than a user may ask for. */
static void limit_bytes (struct retention_rules *rules, int64_t bytes)
{
    limit (rules, RETENTION_SIZE, "1MiB");
    rules->rules[rules->n - 1].max_bytes = bytes;
}

/* The names of those that go, newest first. */
static void goes (struct root *r, const struct retention_rules *rules,
                  const char *want)
{
    struct retention_plan p;
    char text[256] = "";

    assert_int_equal (retention_plan (r->l, r->s, rules, NOW, &p, NULL), 0);
    for (size_t i = 0; i < p.n; i++) {
        if (p.jobs[i].goes)
            (void)strcat (strcat (text, p.jobs[i].job), " ");
    }
    retention_free (&p);
    assert_string_equal (text, want);
}

static void fill (struct root *r)
{
    add (r, "d", 40, "dddd");
    add (r, "c", 30, "cccc");
    add (r, "b", 20, "bbbb");
    add (r, "a", 10, "aaaa");
}

static void test_limits (void **state)
{
    struct root *r = *state;
    struct retention_rules days = { .n = 0 }, last = days, both = days,
                           size = days, none = days;

    fill (r);
    goes (r, &none, "");
    limit (&days, RETENTION_DAYS, "25");
    goes (r, &days, "c d ");
    limit (&last, RETENTION_LAST, "1");
    goes (r, &last, "b c d ");
    limit (&both, RETENTION_LAST, "3");
    limit (&both, RETENTION_DAYS, "15");
    goes (r, &both, "d ");
    limit_bytes (&size, 9);
    goes (r, &size, "c d ");
    say_of (r, "c", FACT_PIN, "1");
    goes (r, &size, "d ");
    goes (r, &days, "d ");
}

/* Bytes that a newer job has as well cost nothing. */
static void test_shared (void **state)
{
    struct root *r = *state;
    struct retention_rules size = { .n = 0 };

    add (r, "old", 3, "same");
    add (r, "new", 1, "same");
    limit_bytes (&size, 4);
    goes (r, &size, "");
    add (r, "older", 4, "x");
    goes (r, &size, "older ");
}

/* Of a large file its chunks count, not only the list of them. */
static void test_large (void **state)
{
    struct root *r = *state;
    struct retention_rules rules = { .n = 0 };

    add_large (r, "A", 2);
    add_large (r, "N", 1);
    limit (&rules, RETENTION_SIZE, "7MB");
    goes (r, &rules, "");
    limit (&rules, RETENTION_SIZE, "6MB");
    goes (r, &rules, "A ");
}

static void test_tags (void **state)
{
    struct root *r = *state;
    struct retention_rules rules = { .n = 0 }, only = { .only_tag = true };

    fill (r);
    say_of (r, "a", FACT_TAG, "x=y");
    say_of (r, "d", FACT_TAG, "long");
    say_of (r, "a", FACT_TAG, "z");
    limit (&only, RETENTION_DAYS, "long=1");
    goes (r, &only, "d ");
    limit (&rules, RETENTION_DAYS, "x=y=1");
    goes (r, &rules, "a ");
    limit (&rules, RETENTION_DAYS, "z=15");
    goes (r, &rules, "");       // one of its tags keeps it
    limit (&rules, RETENTION_DAYS, "long=100");
    limit (&rules, RETENTION_DAYS, "25");
    goes (r, &rules, "c ");
}

static void test_forecast (void **state)
{
    struct root *r = *state;
    struct retention_rules rules = { .n = 0 };
    struct retention_plan p;
    struct retention_job next;

    fill (r);
    limit (&rules, RETENTION_DAYS, "50");
    assert_int_equal (retention_plan (r->l, r->s, &rules, NOW, &p, NULL), 0);
    assert_int_equal (retention_forecast (&p, &next), 1);
    assert_string_equal (next.job, "d");
    assert_true (next.goes_ns == NOW + 10 * DAY);
    retention_free (&p);
    rules.n = 0;
    assert_int_equal (retention_plan (r->l, r->s, &rules, NOW, &p, NULL), 0);
    assert_int_equal (retention_forecast (&p, &next), 0);
    retention_free (&p);
}

/* By number and size, if the order of dates and that of arrival agree. */
static void test_timeless (void **state)
{
    struct root *r = *state;
    struct retention_rules days = { .timeless = true }, last = days, size = days,
                           both = days;

    fill (r);
    limit (&days, RETENTION_DAYS, "25");
    days.forget_days = 1;
    goes (r, &days, "");
    limit (&last, RETENTION_LAST, "1");
    goes (r, &last, "b c d ");
    limit_bytes (&size, 9);
    goes (r, &size, "c d ");
    limit (&both, RETENTION_DAYS, "1");
    limit_bytes (&both, 9);
    goes (r, &both, "c d ");
    add (r, "imported", 90, "iiii");
    goes (r, &last, "b c d ");
    goes (r, &size, "c d ");
    add (r, "of 1970", 99, "1970");     // fills what the size allows
    goes (r, &size, "c d ");
    last.timeless = false;
    goes (r, &last, "b c d imported of 1970 ");
}

/* Also of jobs that stay, once. */
static void test_forget (void **state)
{
    struct root *r = *state;
    struct retention_rules rules = { .forget_days = 25 };
    struct retention_plan p;

    fill (r);
    say_of (r, "c", FACT_PIN, "1");
    say_of (r, "d", FACT_FORGOTTEN, "1");
    assert_int_equal (retention_plan (r->l, r->s, &rules, NOW, &p, NULL), 0);
    for (size_t i = 0; i < p.n; i++)
        assert_int_equal (p.jobs[i].forgets, *p.jobs[i].job == 'c');
    assert_int_equal (p.going, 0);
    retention_free (&p);
}

static void test_wrong (void **state)
{
    static const char *const bad[] = { "", "x", "-1", "1.5", "a b=1", "=1",
                                       "t=", "t=x" };
    struct retention_rules rules = { .n = 0 };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        assert_int_equal (retention_add (&rules, RETENTION_DAYS, bad[i], NULL),
                          -EINVAL);
    limit (&rules, RETENTION_SIZE, "t=1.5GB");
    assert_true (rules.rules[rules.n - 1].max_bytes == 1500000000);
}

/* What would remove everything is not what somebody means. */
static void test_least (void **state)
{
    static const struct {
        enum retention_limit which;
        const char *text, *says;
    } bad[] = {
        { RETENTION_SIZE, "5", "\"5\" is 5 bytes, and would keep no "
          "job: the least is 1M" },
        { RETENTION_SIZE, "t=999999", "the least is 1M" },
        { RETENTION_SIZE, "0", "the least is 1M" },
        { RETENTION_DAYS, "0", "would keep no job" },
        { RETENTION_LAST, "t=0", "rollcall archive rm" },
    };
    struct retention_rules rules = { .n = 0 };
    struct err err = { "" };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        assert_int_equal (retention_add (&rules, bad[i].which, bad[i].text,
                                         &err), -EINVAL);
        assert_non_null (strstr (err.text, bad[i].says));
    }
    assert_int_equal (rules.n, 0);
    limit (&rules, RETENTION_SIZE, "1M");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_limits), ROOT_TEST (test_shared),
        ROOT_TEST (test_tags),   ROOT_TEST (test_forecast),
        ROOT_TEST (test_forget), ROOT_TEST (test_large),
        ROOT_TEST (test_timeless),
        cmocka_unit_test (test_wrong), cmocka_unit_test (test_least),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
