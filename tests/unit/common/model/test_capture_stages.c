/* tests/unit/common/model/test_capture_stages.c - from seen to sealed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/states_check.h"
#include "model/capture_stages.h"

static void test_table (void **state)
{
    (void)state;
    states_check_table (&capture_stages, STAGE_SEEN);
}

static void test_document (void **state)
{
    (void)state;
    states_check_document (&capture_stages,
                           "## A capture, from seen to sealed");
}

/* A version that waits for another look is not handed on twice, and one that is
 * only wanted again is no new version: its marker would count once more.
 */
static void test_versions (void **state)
{
    struct states_probe p;

    (void)state;
    states_be_in (&p, &capture_stages, STAGE_SEEN);
    states_go (&p, STAGE_CHANGED, 0, 0, STAGE_GROWING);
    states_stay (&p, STAGE_CHANGED);
    states_stay (&p, STAGE_WANTED_AGAIN);
    states_stay (&p, STAGE_MAY_BE_BACK);
    states_go (&p, STAGE_HAS_SETTLED, 0, 0, STAGE_SETTLED);
    states_stay (&p, STAGE_IS_BACK);
    states_go (&p, STAGE_MAY_BE_BACK, 0, 0, STAGE_AWAY);
    states_stay (&p, STAGE_HAS_SETTLED);
    states_go (&p, STAGE_IS_BACK, 0, 0, STAGE_AGAIN);
    states_go (&p, STAGE_HAS_SETTLED, 0, 0, STAGE_SETTLED);
    states_go (&p, STAGE_CHANGED, 0, 0, STAGE_GROWING);
}

/* Nothing is told of what is foreign, whatever happens to it. */
static void test_foreign (void **state)
{
    (void)state;
    for (unsigned e = 0; e < STAGE_EVENTS; e++)
        assert_false (states_have (&capture_stages, STAGE_FOREIGN, e));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_table),
        cmocka_unit_test (test_document),
        cmocka_unit_test (test_versions),
        cmocka_unit_test (test_foreign),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
