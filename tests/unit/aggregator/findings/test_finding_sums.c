/* tests/unit/aggregator/findings/test_finding_sums.c - who waited for whom */
#include "aggregator/findings/findings_check.h"

#include "store/db.h"

/* Groups of {0, 1} and of all eight, in which rank 1 makes the others wait. */
static void lateness (struct job *j)
{
    ranks (j, 8, 2);
    run (j, "INSERT INTO CommGroup (id, group_name, pg_name, type) VALUES"
            " (1, 'a', 'tp', 'collective'), (2, 'b', 'default_group',"
            "  'collective');"
            "INSERT INTO CommGroupMember (comm_group, group_rank, rank)"
            " SELECT 1, rank, rank FROM Roster WHERE rank<2 UNION ALL"
            " SELECT 2, rank, rank FROM Roster;"
            "INSERT INTO GroupTime (step, comm_group, rank, ops)"
            " SELECT 'step10', comm_group, rank, 1 FROM CommGroupMember;"
            "INSERT INTO Wait (step, comm_group, late_rank, waiting_rank, ops,"
            " wait_ms) VALUES ('step10', 1, 1, 0, 1, 60);"
            "INSERT INTO Wait (step, comm_group, late_rank, waiting_rank, ops,"
            " wait_ms) SELECT 'step10', 2, 1, rank, 1, 20 FROM Roster WHERE"
            " rank<>1");
}

/* The average of the group where most is waited; averages are not added up. */
static void test_late_arriver (void **state)
{
    struct job *j = *state;

    lateness (j);
    found (j, NULL, "late_arriver|1|30.0");
    says (j, "7 ranks wait for rank 1, mostly in group tp (1): an average"
             " member waits 30 ms a step");
    says (j, "Rank 0 waits longest: 40 ms");
    assert_int_equal (db_int (j->db, "SELECT comm_group*10+peer FROM Finding",
                              -1), 10);
}

/* A rank may be late because it waited for one whose data did not come. */
static void test_late_of_missing (void **state)
{
    struct job *j = *state;

    lateness (j);
    run (j, "DELETE FROM Wait WHERE comm_group=1;"
            "INSERT INTO CommGroup (id, group_name, pg_name, type) VALUES"
            " (3, 'c', 'dp', 'collective');"
            "INSERT INTO CommGroupMember (comm_group, group_rank, rank) VALUES"
            " (3, 0, 1), (3, 1, 8);"
            "INSERT INTO GroupTime (step, comm_group, rank, ops) VALUES"
            " ('step10', 3, 1, 1);"
            "INSERT INTO Roster (rank, expected, state) VALUES (8, 1,"
            " 'missing')");
    found (j, NULL, "missing_ranks|8| late_arriver|1|10.0");
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM Finding WHERE"
                              " severity='note' AND text LIKE '%It may itself"
                              " have waited for rank 8, which is missing.'",
                              0), 1);
    // all waited for it alike in a group of all of them: that excuses nobody
    run (j, "DELETE FROM Finding; DELETE FROM CommGroupMember WHERE"
            " comm_group=3; INSERT INTO CommGroupMember (comm_group,"
            " group_rank, rank) VALUES (2, 8, 8)");
    found (j, NULL, "missing_ranks|8| late_arriver|1|8.75");
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM Finding WHERE"
                              " severity='note'", -1), 0);
}

/* What the profiler saw of waiting cannot be hidden by computing. */
static void test_overlap (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 2);
    run (j, "UPDATE StepTraceTime SET overlapped=2000,"
            " communication_not_overlapped=40000");
    found (j, NULL, "poor_overlap||40.0");
    says (j, "slow links. Waiting for other ranks is not known");
    run (j, "DELETE FROM Finding; INSERT INTO CommGroup (id, group_name,"
            " type) VALUES (1, 'a', 'collective');"
            "INSERT INTO GroupTime (step, comm_group, rank, ops,"
            " synchronization_time) SELECT 'step'||step, 1, rank, 1, 10 FROM"
            " StepTraceTime");
    found (j, NULL, "poor_overlap||30.0");
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM Finding WHERE"
                              " text LIKE '%slow links.' AND hint LIKE"
                              " 'Overlap the%'", 0), 1);
    run (j, "DELETE FROM Finding; UPDATE GroupTime SET"
            " synchronization_time=30");
    found (j, NULL, "");
}

/* Neither a bubble nor waiting in collectives is poor overlap; a step that is
 * left out says nothing of waiting.
 */
static void test_overlap_of_waiting (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 1);
    run (j, "UPDATE StepTraceTime SET communication_not_overlapped=60000,"
            " overlapped=1000, bubble=10000;"
            "INSERT INTO CommGroup (id, group_name, pg_name, type) VALUES"
            " (1, 'a', 'dp', 'collective'), (2, 'b', 'x', 'p2p');"
            "INSERT INTO GroupTime SELECT 'step10', 1, rank, 1, 20, NULL, 10,"
            " 10 FROM Roster;"
            "INSERT INTO GroupTime SELECT 'step10', 2, rank, 1, 20, NULL, 4,"
            " 16 FROM Roster");
    found (j, NULL, "poor_overlap||40.0");
    run (j, "DELETE FROM Finding; INSERT INTO LeftOut SELECT rank, rank, '10',"
            " 'edge' FROM Roster");
    found (j, NULL, "poor_overlap||50.0");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_late_arriver),
        FINDINGS_TEST (test_late_of_missing),
        FINDINGS_TEST (test_overlap),
        FINDINGS_TEST (test_overlap_of_waiting),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
