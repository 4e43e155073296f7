/* tests/unit/node_agent/agent/test_agent_life.c - an agent's life */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/agent_life.h"

#include "common/base/states_check.h"

static void test_table (void **state)
{
    (void)state;
    states_check_table (&life_states, LIFE_STARTING);
}

static void test_document (void **state)
{
    (void)state;
    states_check_document (&life_states, "## The life of an agent");
}

/* Whatever it is, a signal ends it; what is over stays so. */
static void test_stop (void **state)
{
    struct states_probe o;

    (void)state;
    for (enum life_state s = 0; s < LIFE_OVER; s++) {
        states_be_in (&o, &life_states, s);
        states_go (&o, LIFE_STOP, 0, LIFE_STOP_LOOP, LIFE_OVER);
    }
    states_be_in (&o, &life_states, LIFE_OVER);
    o.true_guards = ~0u;
    for (enum life_event e = 0; e < LIFE_EVENTS; e++)
        states_stay (&o, e);
}

#define ONCE (1u << LIFE_IF_ONCE)
#define SEARCHED (1u << LIFE_IF_SEARCHED)
#define SAID (1u << LIFE_IF_SAID)
#define NEW_WORD (1u << LIFE_IF_NEW_WORD)
#define ALL_JOINED (1u << LIFE_IF_ALL_JOINED)

/* DONE is said once, taken back when there is more, and said again; a ROLL ends
 * it.
 */
static void test_run (void **state)
{
    struct states_probe o;

    (void)state;
    states_be_in (&o, &life_states, LIFE_STARTING);
    states_go (&o, LIFE_OPENED, 0, LIFE_NO_ACTION, LIFE_COLLECTING);
    states_stay (&o, LIFE_NOTHING_LEFT);    // COMMANDs run
    states_go (&o, LIFE_COMMANDS_ENDED, 0, LIFE_SEARCH_ALL, LIFE_DRAINING);
    states_stay (&o, LIFE_NOTHING_LEFT);    // not searched to the end
    states_go (&o, LIFE_NOTHING_LEFT, SEARCHED, LIFE_SAY_DONE, LIFE_DONE_SAID);
    o.true_guards = SEARCHED | SAID;
    states_stay (&o, LIFE_NOTHING_LEFT);    // it has been said
    states_go (&o, LIFE_NOTHING_LEFT, NEW_WORD, LIFE_SAY_DONE, LIFE_DONE_SAID);
    states_go (&o, LIFE_FOUND_MORE, SAID, LIFE_TAKE_BACK, LIFE_TAKEN_BACK);
    states_stay (&o, LIFE_FOUND_MORE);      // taken back once
    states_go (&o, LIFE_NOTHING_LEFT, SEARCHED, LIFE_SAY_DONE, LIFE_DONE_SAID);
    states_go (&o, LIFE_COMMAND_RUNS, 0, LIFE_REOPEN, LIFE_COLLECTING);
    states_go (&o, LIFE_COMMANDS_ENDED, 0, LIFE_SEARCH_ALL, LIFE_DRAINING);
    states_go (&o, LIFE_ROLL, 0, LIFE_TAKE_ROLL, LIFE_ROLLED);
    states_stay (&o, LIFE_ROLL);            // said again and again
    states_go (&o, LIFE_RELEASED, 0, LIFE_STOP_LOOP, LIFE_OVER);
}

/* With a service the agent ends by itself: not while wrappers may come, not if
 * the service has lost anything, and at the deadline in any case.
 */
static void test_served_run (void **state)
{
    struct states_probe o;

    (void)state;
    states_be_in (&o, &life_states, LIFE_DONE_SAID);
    states_stay (&o, LIFE_WORD_HEARD);
    states_go (&o, LIFE_WORD_HEARD, ALL_JOINED, LIFE_RELEASE, LIFE_ENDING);
    states_go (&o, LIFE_LOST, 0, LIFE_FORGET_DONE, LIFE_TAKEN_BACK);
    o.true_guards = ALL_JOINED;
    states_stay (&o, LIFE_WORD_HEARD);      // of what is not true any more
    states_go (&o, LIFE_NOTHING_LEFT, SEARCHED, LIFE_SAY_DONE, LIFE_DONE_SAID);
    states_go (&o, LIFE_WORD_HEARD, ALL_JOINED, LIFE_RELEASE, LIFE_ENDING);
    states_go (&o, LIFE_NOT_YET, SAID, LIFE_NO_ACTION, LIFE_DONE_SAID);
    states_go (&o, LIFE_DEADLINE, 0, LIFE_RELEASE, LIFE_LATE);
    states_go (&o, LIFE_FOUND_MORE, SAID, LIFE_TAKE_BACK, LIFE_LATE);
    states_stay (&o, LIFE_NOT_YET);         // there is no way back
    states_go (&o, LIFE_RELEASED, 0, LIFE_STOP_LOOP, LIFE_OVER);
}

/* --once says no DONE before it ends, and so takes none back. */
static void test_once (void **state)
{
    struct states_probe o;

    (void)state;
    states_be_in (&o, &life_states, LIFE_STARTING);
    states_go (&o, LIFE_OPENED, ONCE, LIFE_NO_ACTION, LIFE_DRAINING);
    states_go (&o, LIFE_NOTHING_LEFT, ONCE, LIFE_RELEASE, LIFE_ENDING);
    o.true_guards = ONCE;
    states_stay (&o, LIFE_NOTHING_LEFT);
    states_stay (&o, LIFE_FOUND_MORE);
    states_go (&o, LIFE_NOT_YET, ONCE, LIFE_NO_ACTION, LIFE_DRAINING);
    states_go (&o, LIFE_NOTHING_LEFT, ONCE, LIFE_RELEASE, LIFE_ENDING);
    states_go (&o, LIFE_LOST, ONCE, LIFE_FORGET_DONE, LIFE_TAKEN_BACK);
    states_go (&o, LIFE_NOTHING_LEFT, ONCE, LIFE_RELEASE, LIFE_ENDING);
    states_go (&o, LIFE_RELEASED, ONCE, LIFE_STOP_LOOP, LIFE_OVER);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_table),
        cmocka_unit_test (test_document),
        cmocka_unit_test (test_stop),
        cmocka_unit_test (test_run),
        cmocka_unit_test (test_served_run),
        cmocka_unit_test (test_once),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
