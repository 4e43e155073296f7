/* tests/unit/aggregator/service/test_build_schedule.c - when a service builds a
 * job */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/build_schedule.h"

#define START (1000 * NS_PER_S)
#define TICK (100 * NS_PER_MS)

/* A service whose time is what the test says. */
struct sim {
    struct build_schedule p;
    int64_t now, took;          // took: by each build
    int64_t busy_until;         // of the build under way, 0: none
    int64_t building;           // ns in all
    unsigned builds;
};

static void step (struct sim *s)
{
    s->now += TICK;
    if (s->busy_until > 0 && s->now >= s->busy_until) {
        build_schedule_ended (&s->p, true, s->now);
        s->busy_until = 0;
    }
    if (s->busy_until > 0 || build_schedule_due_ns (&s->p) > s->now)
        return;
    build_schedule_began (&s->p, s->now);
    s->busy_until = s->now + s->took;
    s->building += s->took;
    s->builds++;
}

static void test_nothing (void **state)
{
    struct build_schedule p = { 0 };

    (void)state;
    assert_true (build_schedule_due_ns (&p) == INT64_MAX);
    build_schedule_arrived (&p, START);
    build_schedule_began (&p, START + BUILD_SCHEDULE_SETTLE_NS);
    assert_true (build_schedule_due_ns (&p) == INT64_MAX);
    build_schedule_ended (&p, true,
                          START + BUILD_SCHEDULE_SETTLE_NS + NS_PER_S);
    assert_true (build_schedule_due_ns (&p) == INT64_MAX);
}

static void test_settle (void **state)
{
    struct build_schedule p = { 0 };

    (void)state;
    build_schedule_arrived (&p, START);
    assert_true (build_schedule_due_ns (&p) ==
                 START + BUILD_SCHEDULE_SETTLE_NS);
    build_schedule_arrived (&p, START + NS_PER_S);
    assert_true (build_schedule_due_ns (&p) ==
                 START + NS_PER_S + BUILD_SCHEDULE_SETTLE_NS);
}

/* What could not be built is built when the disk has room again, without a new
 * item, and not at once again and again.
 */
static void test_failure (void **state)
{
    struct build_schedule p = { 0 };
    int64_t failed = START + BUILD_SCHEDULE_SETTLE_NS + NS_PER_S;

    (void)state;
    build_schedule_arrived (&p, START);
    build_schedule_began (&p, START + BUILD_SCHEDULE_SETTLE_NS);
    build_schedule_ended (&p, false, failed);
    assert_true (build_schedule_due_ns (&p) ==
                 failed + BUILD_SCHEDULE_RETRY_NS);
}

static void failed (struct build_schedule *p, int64_t *now, int64_t took)
{
    *now = build_schedule_due_ns (p);
    build_schedule_began (p, *now);
    *now += took;
    build_schedule_ended (p, false, *now);
}

/* A night with a full disk: it is tried less and less often, but once a minute,
 * also if more arrives; and a large one not without rests.  The next failure
 * begins anew.
 */
static void test_failures (void **state)
{
    static const int64_t pauses[] = { 10, 20, 40, 60, 60, 60 };
    struct build_schedule p = { 0 };
    int64_t now;

    (void)state;
    build_schedule_arrived (&p, START);
    for (size_t i = 0; i < sizeof (pauses) / sizeof (pauses[0]); i++) {
        failed (&p, &now, NS_PER_S);
        build_schedule_arrived (&p, now + NS_PER_S);
        assert_true (build_schedule_due_ns (&p) == now + pauses[i] * NS_PER_S);
    }
    failed (&p, &now, 100 * NS_PER_S);
    assert_true (build_schedule_due_ns (&p) ==
                 now + BUILD_SCHEDULE_REST * 100 * NS_PER_S);
    now = build_schedule_due_ns (&p);
    build_schedule_began (&p, now);
    build_schedule_ended (&p, true, now);
    assert_true (build_schedule_due_ns (&p) == INT64_MAX);
    build_schedule_arrived (&p, now);
    failed (&p, &now, 0);
    assert_true (build_schedule_due_ns (&p) == now + BUILD_SCHEDULE_RETRY_NS);
}

/* Items that come for ever put a build off only so long. */
static void test_latest (void **state)
{
    struct build_schedule p = { 0 };

    (void)state;
    for (int64_t t = START; t <= START + 100 * NS_PER_S; t += NS_PER_S)
        build_schedule_arrived (&p, t);
    assert_true (build_schedule_due_ns (&p) ==
                 START + BUILD_SCHEDULE_LATEST_NS);
}

/* What comes while a build is under way is in the next one. */
static void test_meanwhile (void **state)
{
    struct build_schedule p = { 0 };

    (void)state;
    build_schedule_arrived (&p, START);
    build_schedule_began (&p, START + BUILD_SCHEDULE_SETTLE_NS);
    build_schedule_arrived (&p, START + BUILD_SCHEDULE_SETTLE_NS + 1);
    build_schedule_ended (&p, true,
                          START + BUILD_SCHEDULE_SETTLE_NS + 20 * NS_PER_S);
    assert_true (build_schedule_due_ns (&p) ==
                 START + BUILD_SCHEDULE_SETTLE_NS +
                     (1 + BUILD_SCHEDULE_REST) * 20 * NS_PER_S);
}

/* An hour of an item every half second: builds take a quarter of the time at
 * most, and the job is never behind by more than the latest and the rest.
 */
static void check_storm (int64_t took, unsigned least)
{
    struct sim s = { .now = START, .took = took };
    int64_t end = START + 3600 * NS_PER_S;
    unsigned n = 0;

    while (s.now < end) {
        if (n++ % 5 == 0)
            build_schedule_arrived (&s.p, s.now);
        step (&s);
    }
    assert_true (s.builds >= least);
    assert_true (s.building <= 3600 * NS_PER_S / 4 + took);
    assert_true (s.builds <= 3600 * NS_PER_S / BUILD_SCHEDULE_LATEST_NS);
}

static void test_storm (void **state)
{
    (void)state;
    check_storm (TICK, 110);
    check_storm (10 * NS_PER_S, 80);    // 10 s, then 30 s of rest
    check_storm (300 * NS_PER_S, 3);
}

/* Single captures, each after the job was quiet: a short build does not wait,
 * a long one rests.
 */
static void test_drip (void **state)
{
    struct sim quick = { .now = START, .took = TICK };
    struct sim slow = { .now = START, .took = 60 * NS_PER_S };

    (void)state;
    for (unsigned n = 0; n < 36000; n++) {
        if (n % 50 == 0) {
            build_schedule_arrived (&quick.p, quick.now);
            build_schedule_arrived (&slow.p, slow.now);
        }
        step (&quick);
        step (&slow);
    }
    assert_int_equal (quick.builds, 720);
    assert_true (slow.builds >= 14 && slow.builds <= 15);
}

/* What was given to a job had waited already; but a build still rests. */
static void test_given (void **state)
{
    struct build_schedule p = { 0 };

    (void)state;
    build_schedule_given (&p, START - NS_PER_S);
    assert_true (build_schedule_due_ns (&p) == START - NS_PER_S);
    build_schedule_began (&p, START);
    assert_true (build_schedule_due_ns (&p) == INT64_MAX);
    build_schedule_ended (&p, true, START + NS_PER_S);
    build_schedule_given (&p, START);
    assert_true (build_schedule_due_ns (&p) ==
                 START + (1 + BUILD_SCHEDULE_REST) * NS_PER_S);
    build_schedule_began (&p, START + 5 * NS_PER_S);
    build_schedule_ended (&p, true, START + 5 * NS_PER_S);
    build_schedule_arrived (&p, START + 9 * NS_PER_S);
    assert_true (build_schedule_due_ns (&p) ==
                 START + 9 * NS_PER_S + BUILD_SCHEDULE_SETTLE_NS);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_nothing),   cmocka_unit_test (test_settle),
        cmocka_unit_test (test_latest),    cmocka_unit_test (test_meanwhile),
        cmocka_unit_test (test_storm),     cmocka_unit_test (test_drip),
        cmocka_unit_test (test_failure),   cmocka_unit_test (test_given),
        cmocka_unit_test (test_failures),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
