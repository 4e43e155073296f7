/* tests/unit/aggregator/findings/test_finding_links.c - links and ports, from what they moved */
#include "aggregator/findings/findings_check.h"

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
            "INSERT INTO PacketTime SELECT 'step10', 'HCCS', 20, 1, 5, 10,"
            " rank, 1 FROM Roster");
    found (j, NULL, "bandwidth_contention||3.06");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_slow_link),
        FINDINGS_TEST (test_slow_link_of_missing),
        FINDINGS_TEST (test_slow_link_of_few),
        FINDINGS_TEST (test_links_of_kinds),
        FINDINGS_TEST (test_slow_port),
        FINDINGS_TEST (test_contention),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
