/* tests/unit/aggregator/findings/test_finding_bubbles.c - waiting for data in pipelines */
#include "aggregator/findings/findings_check.h"

#include "store/db.h"

/* Of ops without a group nobody knows who sends to whom. */
static void test_bubble (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 1);
    run (j, "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name,"
            " elapse_time, step, type, rank) SELECT CASE rank%2 WHEN 0 THEN"
            " 'hcom_send__' ELSE 'hcom_receive__' END||'1', 'g'||(rank/2),"
            " 5+20*(rank%2), 'step10', 'p2p', rank FROM Roster");
    found (j, NULL, "pipeline_bubble|1|20.0");
    says (j, "2 of 4 ranks wait for data");
    run (j, "DELETE FROM Finding; UPDATE CommAnalyzerTime SET group_name="
            "NULL");
    found (j, NULL, "");
}

/* Ops that send and receive at once: what the profiler saw of waiting.  Of a
 * rank that is slow it is a consequence.
 */
static void test_bubble_of_batches (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 1);
    run (j, "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name,"
            " elapse_time, synchronization_time, step, type, rank) SELECT"
            " 'hcom_batchSendRecv__1', 'g', 30, 5*rank, 'step10', 'p2p', rank"
            " FROM Roster WHERE rank>0");
    found (j, NULL, "pipeline_bubble|3|10.0");
    says (j, "3 of 4 ranks wait for data");
    run (j, "DELETE FROM Finding; UPDATE StepTraceTime SET computing=80000"
            " WHERE rank=0");
    found (j, NULL, "slow_rank|0|20.0 pipeline_bubble|3|10.0");
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM Finding WHERE"
                              " kind='pipeline_bubble' AND severity='note' AND"
                              " text LIKE '%may follow from finding 1.'", 0),
                      1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_bubble),
        FINDINGS_TEST (test_bubble_of_batches),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
