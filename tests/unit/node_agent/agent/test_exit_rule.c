/* tests/unit/node_agent/agent/test_exit_rule.c - when an agent ends by itself
 *
 * Seconds since it began.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/exit_rule.h"
#include "base/clock.h"

#include <string.h>

#define BEGAN (1000 * NS_PER_S)

static int64_t at (int64_t seconds)
{
    return BEGAN + seconds * NS_PER_S;
}

/* It goes on for so many seconds, and ends then, with these words. */
static void ends (struct exit_facts *l, int64_t seconds, const char *words)
{
    const char *why;

    l->now_ns = at (seconds);
    assert_null (exit_reason (l));
    l->now_ns++;
    why = exit_reason (l);
    assert_non_null (why);
    if (!strstr (why, words))
        fail_msg ("no \"%s\" in: %s", words, why);
}

static const struct exit_facts of_run = { .began_ns = BEGAN, .run = true,
                                          .deadline_ns = 120 * NS_PER_S };

static void test_alone (void **state)
{
    struct exit_facts l = of_run;

    (void)state;
    ends (&l, 60, "no wrapper has joined");
    l.heard_ns = at (59);
    ends (&l, 60, "no wrapper has joined");
    // COMMAND may run for days, whatever becomes of the aggregator
    l.joined = true;
    l.now_ns = at (1000000);
    assert_null (exit_reason (&l));
}

/* There was nothing to deliver, and nobody it could have been delivered to:
 * that everything was would be a lie.
 */
static void test_unheard (void **state)
{
    struct exit_facts l = of_run;

    (void)state;
    l.joined = l.done = true;
    l.ended_ns = at (1);
    ends (&l, 60, "cannot be reached");
}

static void test_silent (void **state)
{
    struct exit_facts l = of_run;

    (void)state;
    l.joined = true;
    l.ended_ns = at (1);
    l.heard_ns = at (2);
    ends (&l, 141, "undelivered data stays");
    l.heard_ns = at (200);
    ends (&l, 220, "undelivered data stays");
    l.done = true;
    ends (&l, 220, "everything was delivered, but");
    l.heard_ns = at (2);
    ends (&l, 22, "everything was delivered, but");
    // it has to be started anew, and to look through its root
    l.served = true;
    ends (&l, 62, "everything was delivered, but");
}

static void test_once (void **state)
{
    struct exit_facts l = { .began_ns = BEGAN, .once = true, .served = true };

    (void)state;
    ends (&l, 60, "cannot be reached");
    l.heard_ns = at (50);
    ends (&l, 110, "undelivered data stays");
    // nothing is left but captures to be removed: it may be back soon
    l.done = true;
    ends (&l, 110, "everything was delivered, but");
}

/* Each of several aggregators gets its time to answer. */
static void test_others (void **state)
{
    struct exit_facts l = { .began_ns = BEGAN, .once = true, .served = true,
                            .others_ns = 60 * NS_PER_S };

    (void)state;
    ends (&l, 120, "the aggregator cannot be reached");
    l.missing = 2;
    ends (&l, 120, "the aggregators cannot be reached");
    l.heard_ns = at (50);
    ends (&l, 170, "the aggregators are gone; undelivered data stays");
    l.done = true;
    ends (&l, 170, "the aggregators are gone: it is not known whether they");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_alone), cmocka_unit_test (test_unheard),
        cmocka_unit_test (test_silent), cmocka_unit_test (test_once),
        cmocka_unit_test (test_others),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
