/* tests/unit/node_agent/agent/test_agent_deadline.c - the deadline after all COMMANDs
 * have ended
 *
 * The clock goes on when it is told to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/agent_delivery.h"
#include "agent/agent_end.h"
#include "agent/agent_private.h"
#include "base/clock.h"

static int64_t now_ns;

int64_t __wrap_clock_mono_ns (void);
int64_t __wrap_clock_mono_ns (void)
{
    return now_ns;
}

void __wrap_ship_was_deaf (struct ship *s, int64_t ns);
void __wrap_ship_was_deaf (struct ship *s, int64_t ns)
{
    (void)s;
    (void)ns;
}

void __wrap_agent_scan (void *a);
void __wrap_agent_scan (void *a)
{
    (void)a;
}

void __wrap_agent_search (void *a);
void __wrap_agent_search (void *a)
{
    (void)a;
}

/* So many seconds in which it stands still, and is asked nothing. */
static void stands_still (int64_t seconds)
{
    now_ns += seconds * NS_PER_S;
}

/* So many in which it looks each second. */
static void runs (struct agent *a, unsigned seconds)
{
    while (seconds-- > 0) {
        now_ns += NS_PER_S;
        agent_look_whether_deaf (a);
    }
}

static void collecting (struct agent *a, const struct agent_options *opt)
{
    *a = (struct agent){ .opt = opt };
    now_ns = 1000 * NS_PER_S;
    agent_begin_life (a);
    assert_true (life_take (&a->life, LIFE_OPENED, NULL));
    runs (a, 3);
}

/* What it missed before is not taken off what came after. */
static void test_before (void **state)
{
    const struct agent_options opt = { .deadline_ns = 10 * NS_PER_S };
    static struct agent a;

    (void)state;
    collecting (&a, &opt);
    stands_still (60);
    // it hears of the end first, and looks then
    assert_true (life_take (&a.life, LIFE_COMMANDS_ENDED, NULL));
    assert_false (agent_is_past_deadline (&a, 1));
    runs (&a, 10);
    assert_false (agent_is_past_deadline (&a, 1));
    runs (&a, 1);
    assert_true (agent_is_past_deadline (&a, 1));
}

/* What it missed after that is, whoever asks first. */
static void test_after (void **state)
{
    const struct agent_options opt = { .deadline_ns = 10 * NS_PER_S };
    static struct agent a;

    (void)state;
    collecting (&a, &opt);
    assert_true (life_take (&a.life, LIFE_COMMANDS_ENDED, NULL));
    runs (&a, 3);
    stands_still (60);
    assert_false (agent_is_past_deadline (&a, 1));
    assert_int_equal (agent_ended_for_ns (&a), 4 * NS_PER_S);
    assert_int_equal (agent_began_for_ns (&a), 7 * NS_PER_S);
    agent_look_whether_deaf (&a);
    assert_int_equal (agent_ended_for_ns (&a), 4 * NS_PER_S);
    runs (&a, 7);
    assert_true (agent_is_past_deadline (&a, 1));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_before),
        cmocka_unit_test (test_after),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
