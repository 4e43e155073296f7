/* tests/unit/aggregator/findings/test_finding_rules.c - slow steps and ranks, from their times */
#include "aggregator/findings/findings_check.h"

/* The step is told; the first one is often longer, and is not. */
static void test_one_late_step (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 8);
    run (j, "UPDATE StepTraceTime SET computing=90000 WHERE step IN (10, 14)");
    found (j, NULL, "late_step|14|30.0");
}

static void test_jitter (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 8);
    run (j, "UPDATE StepTraceTime SET computing=computing+20000*(step%2)");
    found (j, NULL, "jitter||14.83");
}

/* The first late step may be the mildest. */
static void test_late_from_a_mild_one (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 10);
    run (j, "UPDATE StepTraceTime SET computing=68000 WHERE step=15;"
            "UPDATE StepTraceTime SET computing=90000 WHERE step>15");
    found (j, NULL, "late_steps|15|25.6");
}

/* Late from a step on, which counts for all that come after. */
static void test_slow_since (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 8);
    run (j, "UPDATE StepTraceTime SET computing=80000 WHERE rank=6 AND"
            " step>=13");
    found (j, NULL, "slow_rank|6|20.0");
    says (j, "since step 13");
    // two of seven are none, nor is a single one
    run (j, "DELETE FROM Finding; UPDATE StepTraceTime SET computing=60000 +"
            " 20000*(step IN (11, 17)) WHERE rank=6");
    found (j, NULL, "");
    run (j, "UPDATE StepTraceTime SET computing=60000+20000*(step=17)"
            " WHERE rank=6");
    found (j, NULL, "");
}

/* Stages of two, of which one has more to do: nobody is slow but the one that
 * is so within its stage.
 */
static void test_short_stages (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 4);
    run (j, "UPDATE Roster SET host=NULL;"
            "INSERT INTO CommGroup (id, group_name, pg_name, type) VALUES"
            " (1, 'a', 'pp', 'p2p'), (2, 'b', 'pp', 'p2p');"
            "INSERT INTO CommGroupMember (comm_group, group_rank, rank) SELECT"
            " 1+rank%2, rank/2, rank FROM Roster;"
            "UPDATE StepTraceTime SET computing=90000 WHERE rank>=6");
    found (j, NULL, "");
    run (j, "UPDATE StepTraceTime SET computing=100000+10*step WHERE rank=7");
    found (j, NULL, "slow_rank|7|10.12");
    // alone in a stage it may have more to do
    run (j, "DELETE FROM Finding; DELETE FROM StepTraceTime WHERE rank=6;"
            "UPDATE StepTraceTime SET computing=60000 WHERE rank<6;"
            "UPDATE CommGroupMember SET group_rank=rank;");
    found (j, NULL, "slow_rank|7|40.12");
    says (j, "has more to do");
}

/* Stages on hosts of their own: a host is compared with those of its stage. */
static void test_hosts_of_stages (void **state)
{
    struct job *j = *state;

    ranks (j, 16, 3);
    run (j, "INSERT INTO CommGroup (id, group_name, pg_name, type) VALUES"
            " (1, 'a', 'pp_0', 'p2p');"
            "INSERT INTO CommGroupMember (comm_group, group_rank, rank) SELECT"
            " 1, rank/8, rank FROM Roster;"
            "UPDATE StepTraceTime SET computing=90000 WHERE rank>=8");
    found (j, NULL, "");
    run (j, "UPDATE StepTraceTime SET computing=70000 WHERE rank BETWEEN 4"
            " AND 7");
    found (j, NULL, "slow_host|4|10.0");
    // of stages that have no other host it may be the stage
    run (j, "DELETE FROM Finding; UPDATE CommGroupMember SET group_rank="
            "rank/4; UPDATE StepTraceTime SET computing=60000 WHERE rank<8");
    found (j, NULL, "slow_host|8|30.0 slow_host|12|30.0");
    says (j, "have more to do.");
}

/* Of two ranks one is slow if it is so in all steps alike. */
static void test_two_ranks (void **state)
{
    struct job *j = *state;

    ranks (j, 2, 4);
    run (j, "UPDATE StepTraceTime SET computing=70000+100*(step%2) WHERE"
            " rank=1");
    found (j, NULL, "slow_rank|1|10.05");
    // now one, now the other
    run (j, "DELETE FROM Finding; UPDATE StepTraceTime SET computing=70000"
            " WHERE (step+rank)%2; UPDATE StepTraceTime SET computing=60000"
            " WHERE (step+rank)%2=0");
    found (j, NULL, "");
    // two steps tell little, of one nothing is known of noise
    run (j, "UPDATE StepTraceTime SET computing=60000+8000*rank;"
            "DELETE FROM StepTraceTime WHERE step>11");
    found (j, NULL, "");
    run (j, "UPDATE StepTraceTime SET computing=60000+12000*rank");
    found (j, NULL, "slow_rank|1|12.0");
    run (j, "DELETE FROM Finding; DELETE FROM StepTraceTime WHERE step>10");
    found (j, NULL, "");
}

/* From a step on: that changes the difference once, and is no noise. */
static void test_two_ranks_since (void **state)
{
    struct job *j = *state;

    ranks (j, 2, 6);
    run (j, "UPDATE StepTraceTime SET computing=80000 WHERE rank=1 AND"
            " step>=13");
    // half of the ranks: the median step is longer, too
    found (j, NULL, "slow_rank|1|20.0 late_steps|13|10.0");
    says (j, "since step 13");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_one_late_step),
        FINDINGS_TEST (test_jitter),
        FINDINGS_TEST (test_late_from_a_mild_one),
        FINDINGS_TEST (test_slow_since),
        FINDINGS_TEST (test_short_stages),
        FINDINGS_TEST (test_hosts_of_stages),
        FINDINGS_TEST (test_two_ranks),
        FINDINGS_TEST (test_two_ranks_since),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
