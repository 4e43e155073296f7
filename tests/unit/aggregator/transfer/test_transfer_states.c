/* tests/unit/aggregator/transfer/test_transfer_states.c - items and contents */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/states_check.h"
#include "transfer/transfer_states.h"

static void test_item (void **state)
{
    (void)state;
    states_check_table (&item_states, ITEM_OFFERED);
    states_check_document (&item_states,
                           "## An item, from offered to acknowledged");
}

static void test_content (void **state)
{
    (void)state;
    states_check_table (&content_states, CONTENT_IDLE);
    states_check_document (&content_states, "## Content on its way");
}

/* Nothing is acknowledged that was not entered, or found in the ledger, by a
 * commit: else the agent forgets what is not durable here.
 */
static void test_acknowledged (void **state)
{
    (void)state;
    for (unsigned s = 0; s < ITEM_STATES; s++)
        assert_int_equal (states_have (&item_states, s, ITEM_COMMITTED),
                          s == ITEM_ENTERED || s == ITEM_REPEATED);
    for (size_t i = 0; i < item_states.nedges; i++) {
        const struct states_edge *e = &item_states.edges[i];

        assert_int_equal (e->to == ITEM_ACKNOWLEDGED,
                          e->event == ITEM_COMMITTED);
    }
}

/* What is complete stays so when its agent leaves: it is entered. */
static void test_agent_left (void **state)
{
    struct states_probe p;

    (void)state;
    states_be_in (&p, &item_states, ITEM_OFFERED);
    states_go (&p, ITEM_IS_ABSENT, 0, 0, ITEM_EXPECTED);
    states_go (&p, ITEM_CAME, 0, 0, ITEM_STORED);
    states_stay (&p, ITEM_AGENT_LEFT);
    states_go (&p, ITEM_IS_OLD, 0, 0, ITEM_ENTERED);
    states_go (&p, ITEM_COMMITTED, 0, 0, ITEM_ACKNOWLEDGED);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_item),
        cmocka_unit_test (test_content),
        cmocka_unit_test (test_acknowledged),
        cmocka_unit_test (test_agent_left),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
