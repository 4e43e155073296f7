/* tests/unit/aggregator/findings/test_median.c - medians in SQL */
#include "aggregator/findings/findings_check.h"

#include "findings/median.h"
#include "store/db.h"

static void test_median (void **state)
{
    struct job *j = *state;

    assert_int_equal (median_register (j->db, NULL), 0);
    assert_int_equal (db_int (j->db, "SELECT median(x)*10 FROM (SELECT 1 AS x"
                                     " UNION ALL SELECT 9 UNION ALL SELECT 4"
                                     " UNION ALL SELECT NULL UNION ALL SELECT"
                                     " 3)", 0), 35);
    assert_int_equal (db_int (j->db, "SELECT median_low(x) FROM (SELECT 1 AS x"
                                     " UNION ALL SELECT 9)", 0), 1);
    assert_int_equal (db_int (j->db, "SELECT median(NULL) IS NULL", 0), 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_median),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
