/* tests/unit/cli/run/test_run_wrap_states.c - the life of a wrapper */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/states_check.h"
#include "run/run_wrap_states.h"

static void test_table (void **state)
{
    (void)state;
    states_check_table (&wrap_states, WRAP_STARTING);
}

static void test_document (void **state)
{
    (void)state;
    states_check_document (&wrap_states, "## A run, as a wrapper sees it");
}

/* While COMMAND runs nothing ends the wrapper, which would end COMMAND: not a
 * roll of an aggregator that waits no longer, nor a result that is there.
 */
static void test_stays_with_command (void **state)
{
    (void)state;
    for (unsigned s = WRAP_STARTING; s <= WRAP_IN_DOUBT; s++) {
        static const enum wrap_event events[] = {
            WRAP_ROLL, WRAP_RESULT, WRAP_SILENCE, WRAP_LOOK,
        };

        for (int i = 0; i < 4; i++)
            assert_false (states_have (&wrap_states, s, events[i]));
    }
}

/* The agent hears of the end of COMMAND once, in whatever way it ended. */
static void test_ends (void **state)
{
    struct states_probe p;

    (void)state;
    states_be_in (&p, &wrap_states, WRAP_RUNNING);
    states_go (&p, WRAP_COMMAND_ENDED, 1u << WRAP_IF_FOR_ALL, WRAP_NO_ACTION,
               WRAP_IN_DOUBT);
    states_stay (&p, WRAP_SIGNAL);      // it is named before the agent is told
    states_go (&p, WRAP_DOUBT_OVER, 0, WRAP_SAY_ENDED, WRAP_ENDED);
    states_stay (&p, WRAP_DOUBT_OVER);

    states_be_in (&p, &wrap_states, WRAP_RUNNING);
    states_go (&p, WRAP_STOP, 0, WRAP_TERMINATE, WRAP_ENDING);
    states_stay (&p, WRAP_STOP);
    states_stay (&p, WRAP_SIGNAL);
    states_stay (&p, WRAP_DOUBT_OVER);  // COMMAND has not ended yet
    states_go (&p, WRAP_COMMAND_ENDED, 1u << WRAP_IF_FOR_ALL, WRAP_SAY_ENDED,
               WRAP_ENDED);
}

/* A result first, then a roll; what is over is not built again. */
static void test_result (void **state)
{
    struct states_probe p;

    (void)state;
    states_be_in (&p, &wrap_states, WRAP_ENDED);
    states_go (&p, WRAP_WAS_NOTED, 0, WRAP_NO_ACTION, WRAP_NOTED);
    states_go (&p, WRAP_RESULT, 0, WRAP_NO_ACTION, WRAP_BUILT);
    states_stay (&p, WRAP_LOOK);
    states_go (&p, WRAP_ROLL, 0, WRAP_NO_ACTION, WRAP_OVER);
    states_stay (&p, WRAP_RESULT);
    states_stay (&p, WRAP_SILENCE);
    states_go (&p, WRAP_LOOK, 1u << WRAP_IF_SAID, WRAP_NO_ACTION, WRAP_LEFT);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_table),
        cmocka_unit_test (test_document),
        cmocka_unit_test (test_stays_with_command),
        cmocka_unit_test (test_ends),
        cmocka_unit_test (test_result),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
