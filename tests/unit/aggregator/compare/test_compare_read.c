/* tests/unit/aggregator/compare/test_compare_read.c - what two results are
 * asked for */
#include "aggregator/findings/job_check.h"

#include "builder/rollup.h"
#include "compare/compare.h"
#include "store/db.h"

#include <string.h>

/* Two ranks with two kinds of ops that differ in byte 'at' of their names. */
static struct job *job_of_long_names (int at)
{
    struct job *j = job_make ();

    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    assert_int_equal (
        db_execf (j->db, NULL,
                  "WITH r(i) AS (VALUES (0), (1)), k(c) AS (VALUES ('a'),"
                  " ('b')) INSERT INTO OpTime (kind, elapse_time,"
                  " step, rank) SELECT printf('%%0%dd', 0)||c, 5, 'step1', i FROM k JOIN r; COMMIT;"
                  "PRAGMA locking_mode=NORMAL; SELECT * FROM Roster", at),
        0);
    return j;
}

static void compare_names (int at, size_t want)
{
    struct job *j = job_of_long_names (at);
    struct err err = { "" };
    struct compare c;

    if (compare_read (j->path, j->path, 1, &c, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (c.nmetrics, want);
    for (size_t i = 0; i < want; i++) {
        assert_memory_equal (c.metrics[i].name, "ops: 0", 6);
        assert_int_equal (c.metrics[i].runs[0].n, 2);
        assert_int_equal (c.metrics[i].runs[1].n, 2);
    }
    compare_fini (&c);
    job_destroy (j);
}

/* Names that are alike as far as a metric's name goes are one metric, of as
 * many ranks as there are: they were written behind the list of ranks.
 */
static void test_long_names (void **state)
{
    (void)state;
    compare_names (100, 2);
    for (int at = 122; at < 135; at++)
        compare_names (at, 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_long_names),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
