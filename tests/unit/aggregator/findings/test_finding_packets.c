/* tests/unit/aggregator/findings/test_finding_packets.c - what packets show */
#include "aggregator/findings/findings_check.h"

/* It is told once for each op, whose rows all have its transit time.  That of
 * other transports does not matter.
 */
static void test_retransmission (void **state)
{
    struct job *j = *state;

    ranks (j, 4, 1);
    run (j, "INSERT INTO CommAnalyzerBandwidth SELECT 'hcom_x', 'g', t, 10, ms,"
            " 0.002, 1, size, 1, 2000, 'step10', 'collective', 2, 3 FROM"
            " (SELECT 'RDMA' AS t, 4200 AS ms, 5 AS size UNION ALL"
            "  SELECT 'RDMA', 4200, 6 UNION ALL SELECT 'RDMA', 4000, 7"
            "  UNION ALL SELECT 'HCCS', 9000, 20);"
            "INSERT INTO TransportTime SELECT step, transport_type, 1, 10, ms,"
            " NULL, NULL, ms, 2, 3 FROM (SELECT step, transport_type,"
            " max(transit_time) AS ms FROM CommAnalyzerBandwidth GROUP BY 2)");
    found (j, NULL, "retransmission|2|4200.0");
    says (j, "rank 2 in step 10 took 4200 ms (op hcom_x)");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST (test_retransmission),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
