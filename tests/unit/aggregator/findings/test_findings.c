/* tests/unit/aggregator/findings/test_findings.c - findings of made tables:
 * those that made captures cannot show, thresholds, texts */
#include "aggregator/findings/job_check.h"

#include "builder/rollup.h"
#include "findings/finding_list.h"
#include "findings/findings.h"
#include "findings/median.h"
#include "store/db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int setup (void **state)
{
    struct job *j = job_make ();

    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    *state = j;
    return 0;
}

static int teardown (void **state)
{
    job_destroy (*state);
    return 0;
}

/* Ranks on hosts of four, and steps that take 60 + 20 + 1 ms on all. */
static void ranks (struct job *j, int n, int steps)
{
    struct err err = { "" };

    if (db_execf (j->db, &err,
                  "WITH r(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM r WHERE"
                  " i+1<%d) INSERT INTO Roster SELECT i, 'h'||(i/4), i, i, 1,"
                  " 'present', NULL, 0, NULL, NULL, NULL FROM r;"
                  "WITH s(i) AS (SELECT 10 UNION ALL SELECT i+1 FROM s WHERE"
                  " i+1<10+%d) INSERT INTO StepTraceTime (step, computing,"
                  " communication_not_overlapped, overlapped, free, rank)"
                  " SELECT i, 60000, 20000, 40000, 1000, rank FROM Roster"
                  " JOIN s", n, steps) < 0)
        fail_msg ("%s", err.text);
}

/* Find, and compare what is found: "kind|rank|effect" by ' '. */
static void found (struct job *j, const struct findings_options *opt,
                   const char *want)
{
    struct err err = { "" };
    sqlite3_stmt *st = NULL;
    char got[2048] = "";
    size_t used = 0;

    if (findings_derive (j->db, opt, 1 + (unsigned)(*want % 3), NULL,
                         &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (db_prepare (
        j->db, "SELECT kind||'|'||ifnull(rank, ifnull(step, ''))||'|'||"
               "ifnull(round(effect_ms, 2), '') FROM Finding ORDER BY id", &st,
        NULL), 0);
    while (sqlite3_step (st) == SQLITE_ROW)
        used += (size_t)snprintf (got + used, sizeof (got) - used, "%s%s",
                                  used ? " " : "",
                                  sqlite3_column_text (st, 0));
    (void)sqlite3_finalize (st);
    assert_string_equal (got, want);
    // nothing temporary is left, so that it can be done again
    assert_int_equal (db_int (j->db, "SELECT count(*) FROM temp.sqlite_master",
                              -1), 0);
}

static void says (struct job *j, const char *part)
{
    sqlite3_stmt *st = NULL;

    assert_int_equal (db_prepare (j->db, "SELECT text FROM Finding", &st,
                                  NULL), 0);
    assert_int_equal (sqlite3_step (st), SQLITE_ROW);
    if (!strstr ((const char *)sqlite3_column_text (st, 0), part))
        fail_msg ("no \"%s\" in: %s", part, sqlite3_column_text (st, 0));
    (void)sqlite3_finalize (st);
}

static void test_nothing (void **state)
{
    found (*state, NULL, "");
    ranks (*state, 8, 5);
    found (*state, NULL, "");
}

/* It is told once for each op, whose rows all have its transit time. */
static void test_retransmission (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 1);
    run (j, "INSERT INTO CommAnalyzerBandwidth SELECT 'hcom_x', 'g', t, 10, ms,"
            " 0.002, 1, size, 1, 2000, 'step10', 'collective', 2, 3 FROM"
            " (SELECT 'RDMA' AS t, 4200 AS ms, 5 AS size UNION ALL"
            "  SELECT 'RDMA', 4200, 6 UNION ALL SELECT 'RDMA', 4000, 7"
            "  UNION ALL SELECT 'HCCS', 9000, 20)");
    found (j, NULL, "retransmission|2|4200.0");
    says (j, "rank 2 in step 10 took 4200 ms (op hcom_x)");
}

/* Links of eight ranks on two hosts, each to each, 100 MB at 20 GB/s; of those
 * that 'where' says at 5 GB/s.
 */
static void links (struct job *j, const char *where)
{
    struct err err = { "" };

    if (db_execf (j->db, &err,
                  "INSERT INTO Link SELECT 'step10', NULL, s.rank, d.rank,"
                  " CASE WHEN s.host=d.host THEN 'HCCS' ELSE 'RDMA' END,"
                  " 'collective', 100, CASE WHEN %s THEN 20 ELSE 5 END, NULL,"
                  " NULL, NULL"
                  " FROM Roster s JOIN Roster d ON s.rank<>d.rank",
                  where) < 0)
        fail_msg ("%s", err.text);
}

static void test_slow_link (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 1);
    links (j, "s.rank=3 AND d.rank=1");
    found (j, NULL, "slow_link|3|15.0");
    says (j, "3 -> 1 over HCCS moves 5 GB/s, the median of its kind is 20");
}

/* The host of a rank that did not come is not known, but what its links are. */
static void test_slow_link_of_missing (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 1);
    links (j, "s.rank=3 AND d.rank=1");
    run (j, "UPDATE Roster SET host=NULL, state='missing' WHERE rank=1;"
            "DELETE FROM Link WHERE dst_rank=1 AND src_rank<>3 OR src_rank=1");
    found (j, NULL, "missing_ranks|1| slow_link|3|15.0");
}

/* A kind of group with few links is compared with all of the transport; and
 * what a slow link costs is not poor overlap.
 */
static void test_slow_link_of_few (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 1);
    links (j, "0=1");
    run (j, "DELETE FROM Link WHERE transport_type='RDMA';"
            "UPDATE Link SET transit_time=5;"
            "INSERT INTO CommGroup (id, group_name, pg_name, type) VALUES"
            " (1, 'a', 'cp', 'collective');"
            "INSERT INTO CommGroupMember (comm_group, group_rank, rank) VALUES"
            " (1, 0, 0), (1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 4),"
            " (1, 5, 5), (1, 6, 6), (1, 7, 7);"
            "UPDATE Link SET comm_group=1, transit_time=35 WHERE src_rank=0"
            " AND dst_rank=1;"
            "UPDATE StepTraceTime SET communication_not_overlapped=40000,"
            " overlapped=1000");
    found (j, NULL, "slow_link|0|30.0");
    run (j, "DELETE FROM Finding; DELETE FROM Link");
    found (j, NULL, "poor_overlap||40.0");
}

/* Packets of other kinds of groups have other sizes: four links of a kind are
 * compared with one another.
 */
static void test_links_of_kinds (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 1);
    links (j, "0=1");
    run (j, "DELETE FROM Link WHERE transport_type='RDMA';"
            "INSERT INTO CommGroup (id, group_name, pg_name, type) VALUES"
            " (1, 'a', 'tp', 'collective'), (2, 'b', 'cp', 'collective');"
            "UPDATE Link SET comm_group=1, transit_time=5;"
            "UPDATE Link SET comm_group=2, transit_time=20 WHERE src_rank=7"
            " OR (src_rank=6 AND dst_rank=7)");
    found (j, NULL, "");
    run (j, "UPDATE Link SET comm_group=1 WHERE src_rank=6");
    found (j, NULL, "slow_link|6|15.0 slow_link|7|15.0 slow_link|7|15.0 "
                    "slow_link|7|15.0");
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

/* Half of what a host sends to others is slow: it is not its links. */
static void test_slow_port (void **state)
{
    struct job *j = *state;

    ranks (j, 16, 1);
    links (j, "s.host='h2' AND d.host<>'h2'");
    found (j, NULL, "slow_port|8|15.0");
    says (j, "Host h2 sends slowly: 48 of 48 links with other hosts move 5 GB/s");
}

static void test_contention (void **state)
{
    struct job *j = *state;

    ranks (j, 8, 1);
    links (j, "0");
    run (j, "UPDATE Link SET transit_time=10 WHERE transport_type='HCCS';"
            "INSERT INTO CommAnalyzerBandwidth SELECT 'x', 'g', 'HCCS', 100,"
            " 10, 10, 1, 20, 5, 10, 'step10', 'collective', rank, 1 FROM"
            " Roster");
    found (j, NULL, "bandwidth_contention||3.06");
}

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

/* Without groups there is nothing to say of them. */
static void test_missing_of_no_group (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 1);
    run (j, "UPDATE Roster SET state='missing' WHERE rank=2");
    found (j, NULL, "missing_ranks|2|");
    says (j, "1 of 4 ranks (2) is missing or incomplete. Medians");
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

static void test_missing (void **state)
{
    struct job *j = *state;

    ranks (j, 6, 1);
    run (j, "UPDATE Roster SET state='missing' WHERE rank IN (1, 4)");
    found (j, NULL, "missing_ranks||");
    says (j, "2 of 6 ranks (1, 4) are missing or incomplete.");
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

/* Of a finished file: nothing is changed, and what is stored is not seen. */
static void test_again (void **state)
{
    struct job *j = *state;
    struct findings_options opt;
    struct finding_list list;
    struct err err = { "" };

    ranks (j, 4, 1);
    run (j, "UPDATE StepTraceTime SET computing=80000 WHERE rank=1;"
            "INSERT INTO Finding (kind, severity) VALUES ('other', 'note');"
            "COMMIT; PRAGMA locking_mode=NORMAL; SELECT * FROM Roster");
    findings_defaults (&opt);
    assert_int_equal (finding_list_read (j->path, &opt, &list, &err), 0);
    assert_int_equal (list.n, 1);
    assert_string_equal (list.items[0].kind, "slow_rank");
    assert_int_equal (list.items[0].peer, FINDING_NONE);
    assert_true (finding_list_any (&list));
    finding_list_fini (&list);
    assert_int_equal (finding_list_read (j->path, NULL, &list, &err), 0);
    assert_int_equal (list.n, 1);
    assert_string_equal (list.items[0].kind, "other");
    assert_false (finding_list_any (&list));
    finding_list_fini (&list);
    run (j, "PRAGMA user_version=99");
    assert_int_equal (finding_list_read (j->path, NULL, &list, &err), -EBADMSG);
}

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

static void topology_is (struct job *j, const char *text, int want)
{
    struct topology t;
    struct err err = { "" };
    char path[PATH_MAX];
    FILE *f;

    (void)snprintf (path, sizeof (path), "%s/topology", j->dir);
    f = fopen (path, "w");
    assert_non_null (f);
    assert_true (fputs (text, f) >= 0);
    assert_int_equal (fclose (f), 0);
    if (want < 0)
        assert_int_equal (topology_read (path, &t, &err), want);
    else
        assert_int_equal (topology_read (path, &t, &err), 0);
    assert_int_equal (t.n, want < 0 ? 0 : want);
    if (want == 2) {
        assert_string_equal (t.hosts[0].host, "a");
        assert_string_equal (t.hosts[0].sw, "s 1");
        assert_null (t.hosts[0].rack);
        assert_string_equal (t.hosts[1].rack, "r");
    }
    topology_fini (&t);
    assert_int_equal (unlink (path), 0);
}

static void test_topology (void **state)
{
    struct job *j = *state;
    struct topology t;

    topology_is (j, "# x\n\nb,s,r\r\n  a , s 1 ,\n", 2);
    topology_is (j, "", 0);
    topology_is (j, "a\n", -EINVAL);
    topology_is (j, "a,\n", -EINVAL);
    topology_is (j, ",s\n", -EINVAL);
    topology_is (j, "a,s,r,x\n", -EINVAL);
    topology_is (j, "a,s\nb,s\na,t\n", -EINVAL);
    assert_int_equal (topology_read ("/nowhere", &t, NULL), -ENOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown (f, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_nothing),       TEST (test_retransmission),
        TEST (test_slow_link),     TEST (test_slow_port),
        TEST (test_contention),    TEST (test_one_late_step),
        TEST (test_jitter),        TEST (test_slow_since),
        TEST (test_short_stages),  TEST (test_two_ranks),
        TEST (test_two_ranks_since), TEST (test_hosts_of_stages),
        TEST (test_slow_link_of_missing), TEST (test_slow_link_of_few),
        TEST (test_links_of_kinds), TEST (test_overlap_of_waiting),
        TEST (test_late_from_a_mild_one), TEST (test_clock_of_two),
        TEST (test_bubble_of_batches), TEST (test_numbers),
        TEST (test_late_arriver),  TEST (test_late_of_missing),
        TEST (test_missing),       TEST (test_missing_of_no_group),
        TEST (test_overlap),       TEST (test_bubble),
        TEST (test_free_time),     TEST (test_clocks),
        TEST (test_thresholds),    TEST (test_names),
        TEST (test_many),          TEST (test_again),
        TEST (test_median),        TEST (test_topology),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
