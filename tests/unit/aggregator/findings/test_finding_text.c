/* tests/unit/aggregator/findings/test_finding_text.c - texts name ranks, hosts and findings */
#include "aggregator/findings/findings_check.h"

#include "store/db.h"

/* A host may be called what it likes: its query still runs. */
static void test_names (void **state)
{
    struct job *j = *state;
    sqlite3_stmt *st = NULL;

    ranks (j, 12, 1);
    run (j, "UPDATE Roster SET host='it''s {rank}' WHERE host='h1';"
            "UPDATE StepTraceTime SET computing=80000 WHERE rank IN (4,5,6,7)");
    found (j, NULL, "slow_host|4|20.0");
    says (j, "of host it's {rank} compute longer");
    assert_int_equal (db_prepare (j->db, "SELECT query FROM Finding", &st,
                                  NULL), 0);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    run (j, (const char *)sqlite3_column_text (st, 0));
    (void)sqlite3_finalize (st);
}

/* Numbers follow the size, and texts name the numbers. */
static void test_numbers (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 1);
    links (j, "s.rank=3 AND d.rank=1");
    run (j, "UPDATE StepTraceTime SET computing=70000 WHERE rank=5;"
            "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name,"
            " elapse_time, synchronization_time, step, type, rank) SELECT"
            " 'hcom_batchSendRecv__1', 'g', 30, 5*rank, 'step10', 'p2p', rank"
            " FROM Roster WHERE rank>0");
    found (j, NULL, "slow_link|3|15.0 slow_rank|5|10.0 pipeline_bubble|7|20.0");
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM Finding WHERE"
                              " id=3 AND text LIKE '%finding 1.'", 0), 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_names),
        FINDINGS_TEST (test_numbers),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
