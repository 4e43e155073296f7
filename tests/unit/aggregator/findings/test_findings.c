/* tests/unit/aggregator/findings/test_findings.c - findings of whole jobs,
 * thresholds */
#include "aggregator/findings/findings_check.h"

#include "store/db.h"

#include <errno.h>

static void test_nothing (void **state)
{
    found (*state, NULL, "");
    ranks (*state, 8, 5);
    found (*state, NULL, "");
}

static void test_missing (void **state)
{
    struct job *j = *state;

    ranks (j, 6, 1);
    run (j, "UPDATE Roster SET state='missing' WHERE rank IN (1, 4)");
    found (j, NULL, "missing_ranks||");
    says (j, "2 of 6 ranks (1, 4) are missing or incomplete.");
}

/* Without groups there is nothing to say of them. */
static void test_missing_of_no_group (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 1);
    run (j, "UPDATE Roster SET state='missing' WHERE rank=2");
    found (j, NULL, "missing_ranks|2|");
    says (j, "1 of 4 ranks (2) is missing or incomplete. Medians");
}

static void test_free_time (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 2);
    run (j, "UPDATE StepTraceTime SET free=20000, preparing=15000");
    found (j, NULL, "free_time||20.0");
    says (j, "prepare before the first op");
}

/* All clocks of a host are off, and one of its ranks alone. */
static void test_clocks (void **state)
{
    struct job *j = *state;

    ranks (j, 12, 1);
    run (j, "INSERT INTO CaptureInfo (kind, name, value, rank) SELECT 'clock',"
            " 'offset_ms', CASE WHEN rank=2 THEN 30 WHEN host='h1' THEN -12.5"
            " ELSE 0.01*rank END, rank FROM Roster");
    found (j, NULL, "clock|2|30.0 clock|4|12.5");
}

/* Hosts of two ranks: one clock that is off is that rank's, however far. */
static void test_clock_of_two (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 1);
    run (j, "UPDATE Roster SET host='h'||(rank/2);"
            "INSERT INTO CaptureInfo (kind, name, value, rank) SELECT 'clock',"
            " 'offset_ms', 100000*(rank=1), rank FROM Roster");
    found (j, NULL, "clock|1|100000.0");
}

static void test_thresholds (void **state)
{
    static const char *const bad[] = { "sigmas", "sigma=1", "sigmas=",
                                       "sigmas=x", "sigmas=-1", "sigmas=inf",
                                       "=1", "" };
    struct findings_options opt;
    struct err err = { "" };
    struct job *j = *state;

    findings_defaults (&opt);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        assert_int_equal (findings_set (&opt, bad[i], &err), -EINVAL);
    assert_int_equal (findings_set (&opt, "slow_rank_percent=50", &err), 0);
    ranks (j, 4, 1);
    run (j, "UPDATE StepTraceTime SET computing=80000 WHERE rank=1");
    found (j, &opt, "");
    found (j, NULL, "slow_rank|1|20.0");
}

/* More than so many of a kind are counted only. */
static void test_many (void **state)
{
    struct job *j = *state;

    ranks (j, 400, 1);
    run (j, "UPDATE Roster SET host=NULL; UPDATE StepTraceTime SET computing="
            "80000+rank WHERE rank%3=0");
    assert_int_equal (findings_derive (j->db, NULL, 3, NULL, NULL), 0);
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM Finding", 0),
                      FINDINGS_OF_KIND_MAX);
    assert_int_equal (db_int (j->db, "SELECT value FROM Job WHERE"
                                     " key='findings_dropped'", 0), 34);
    assert_int_equal (db_int (j->db, "SELECT rank FROM Finding", 0), 399);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_nothing),
        FINDINGS_TEST (test_missing),
        FINDINGS_TEST (test_missing_of_no_group),
        FINDINGS_TEST (test_free_time),
        FINDINGS_TEST (test_clocks),
        FINDINGS_TEST (test_clock_of_two),
        FINDINGS_TEST (test_thresholds),
        FINDINGS_TEST (test_many),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
