/* tests/unit/aggregator/builder/test_results.c - which files are made */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/results.h"

#include <errno.h>
#include <string.h>

static void test_only (void **state)
{
    struct err err = { "" };
    unsigned wanted;

    (void)state;
    assert_int_equal (results_parse (NULL, &wanted, &err), 0);
    assert_int_equal (wanted, RESULTS_DEFAULT);
    assert_int_equal (results_parse ("analysis.db", &wanted, &err), 0);
    assert_int_equal (wanted, RESULTS_ANALYSIS_DB);
    assert_int_equal (results_parse ("cluster_analysis.db", &wanted, &err), 0);
    assert_int_equal (wanted, RESULTS_ANALYSIS_DB | RESULTS_CLUSTER_DB);
    assert_int_equal (results_parse ("text", &wanted, &err), 0);
    assert_int_equal (wanted, RESULTS_ANALYSIS_DB | RESULTS_CLUSTER_DB |
                                  RESULTS_TEXT);
    assert_int_equal (results_parse ("", &wanted, &err), -EINVAL);
    assert_int_equal (results_parse ("analysis.db,", &wanted, &err), -EINVAL);
    assert_int_equal (results_parse ("analysis", &wanted, &err), -EINVAL);
    assert_non_null (strstr (err.text, "\"analysis\" is not a result"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_only),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
