/* tests/unit/node_agent/extract/sink/test_capture_facts_csv.c - what else a
 * capture holds, in files of values */
#include "node_agent/extract/sink/capture_facts_check.h"

#include "extract/sink/capture_facts.h"

#define OPS_HEAD "OP Type,Core Type,Count,Total Time(us),Min Time(us)," \
    "Avg Time(us),Max Time(us),Ratio(%)\n"
#define API_HEAD "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us)," \
    "Max(us),Variance\n"
#define MEMORY_HEAD "Component,Timestamp(us),Total Allocated(MB)," \
    "Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
#define MODULE_HEAD "Device_id,Component,Timestamp(us),Total Reserved(MB)," \
    "Device\n"

/* Columns of both years, quoted names, and what has no value. */
static void test_statistics (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "op_statistic.csv",
                 OPS_HEAD "MatMul,AI_CORE,8,921.498,16.54,115.187,346.567,"
                 "10.385\n\"a,\"\"b\"\"\nc\",,3,1.5,,N/A,1,2\r\n");
    check (TABLE_OPERATOR, "|MatMul|AI_CORE|8|921.49800000000005|"
           "16.539999999999999|346.56700000000001\n"
           "|a,\"b\"\nc|NULL|3|1.5||1\n", CAPTURE_COMPLETE, "");
    capture_put (OUT "api_statistic.csv",
                 API_HEAD "host,acl,x,2,4,1,0,1,9\n3,hccl,y,2,4,1,0,1,9\n");
    check (TABLE_API, "|acl|x|4|2|0|1\n3|hccl|y|4|2|0|1\n", CAPTURE_COMPLETE,
           "");
}

/* Rows before the damage stay, and nothing else of the capture is lost. */
static void test_bad_statistics (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "op_statistic.csv",
                 OPS_HEAD "a,b,1,2,3,4,5,6\na,b,x,2,3,4,5,6\n");
    check (TABLE_OPERATOR, "|a|b|1|2|3|5\n", CAPTURE_PARTIAL,
           "op_statistic.csv: line 3: not a number: \"x\" "
           "(OperatorStatistic)");
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL, "");
    capture_put (OUT "op_statistic.csv", OPS_HEAD "a,b,-1,2,3,4,5,6\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL,
           "line 2: negative: \"-1\"");
    capture_put (OUT "op_statistic.csv", OPS_HEAD "a,b,1\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "line 2: fewer fields");
    capture_put (OUT "op_statistic.csv", OPS_HEAD "\"a\n\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL,
           "line 2: a quote that does not end");
    capture_put (OUT "op_statistic.csv",
                 OPS_HEAD "\"a\nb\xff\",c,1,2,3,4,5,6\n");
    check (TABLE_OPERATOR, "|a\nb\xef\xbf\xbd|c|1|2|3|5\n", CAPTURE_PARTIAL,
           "line 2: not valid UTF-8");
    capture_put (OUT "op_statistic.csv", "OP Type\n");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "no column \"Count\"");
    capture_put (OUT "op_statistic.csv", "");
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "op_statistic.csv is empty");
}

/* A record that no buffer holds, and more rows than are carried. */
static void test_bounds (void **state)
{
    static char big[1u << 20];
    size_t used = (size_t)snprintf (big, sizeof (big), "%s", OPS_HEAD);

    (void)state;
    make_capture ();
    memset (big + used, 'x', sizeof (big) - used - 1);
    capture_put (OUT "op_statistic.csv", big);
    check (TABLE_OPERATOR, "", CAPTURE_PARTIAL, "line 2: it is too long");
    for (int i = 0; i < 4100; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "op%d,c,2,%d,%d,0,9,1\n", i, i, i);
    capture_put (OUT "op_statistic.csv", big);
    check_many (TABLE_OPERATOR, 4097, "|op0|c|2|0|0|9\n");
}

/* The largest value of each component and kind, and when it came first. */
static void test_memory (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "memory_record.csv",
                 MEMORY_HEAD "PTA,100.5\t,1,7,2,897,NPU:0\r\n"
                 "APP,200\t,,5,,,NPU:0\r\n"
                 "PTA,300\t,3,7,,897,NPU:0\r\nPTA,400\t,3,0,0,897,NPU:1\r\n");
    capture_put (OUT "npu_module_mem.csv",
                 MODULE_HEAD "2,APP,100\t,9,NPU:2\n2,SLOG,100\t,0.0,NPU:2\n");
    check (TABLE_MEMORY, "0|PTA|allocated|3|300\n0|PTA|reserved|7|100.5\n"
           "0|PTA|active|2|100.5\n0|APP|reserved|5|200\n"
           "1|PTA|allocated|3|400\n2|APP|module|9|100\n", CAPTURE_COMPLETE,
           "");
}

/* Both files are damaged: each is named, and what came before them stays. */
static void test_bad_memory (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "memory_record.csv",
                 MEMORY_HEAD "PTA,100\t,1,7,2,897,NPU:0\n"
                 "PTA,1e,1,7,2,897,NPU:0\n");
    capture_put (OUT "npu_module_mem.csv", MODULE_HEAD "2,APP,100\t,9\n");
    check (TABLE_MEMORY, "0|PTA|allocated|1|100\n0|PTA|reserved|7|100\n"
           "0|PTA|active|2|100\n", CAPTURE_PARTIAL,
           "memory_record.csv: line 3: not a number: \"1e");
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL,
           "npu_module_mem.csv: line 2: fewer fields");
}

/* More than one buffer, and records across its edges. */
static void test_large_file (void **state)
{
    static char big[4u << 20];
    size_t used = (size_t)snprintf (big, sizeof (big), "%s", MODULE_HEAD);
    char want[128];
    int i;

    (void)state;
    make_capture ();
    for (i = 0; used < sizeof (big) - 100; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "0,\"HC\nCL\",%d.5\t,%d.25,NPU:0\r\n",
                                  1000000 + i, 1 + i);
    capture_put (OUT "npu_module_mem.csv", big);
    (void)snprintf (want, sizeof (want), "0|HC\nCL|module|%d.25|%d.5\n", i,
                    1000000 + i - 1);
    check (TABLE_MEMORY, want, CAPTURE_COMPLETE, "");
    (void)snprintf (big + used, sizeof (big) - used, "0,a,b,c,d\n");
    capture_put (OUT "npu_module_mem.csv", big);
    (void)snprintf (want, sizeof (want), "npu_module_mem.csv: line %d: not a "
                    "number: \"c\"", 2 * i + 2);
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL, want);
}

/* Components beyond all measure share rows. */
static void test_many_components (void **state)
{
    static char big[1u << 18];
    size_t used = (size_t)snprintf (big, sizeof (big), "%s", MODULE_HEAD);

    (void)state;
    make_capture ();
    for (int i = 0; i < 3000; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "0,c%d,100\t,%d,NPU:0\n", i, i + 1);
    capture_put (OUT "npu_module_mem.csv", big);
    check_many (TABLE_MEMORY, CAPTURE_FACTS_PEAKS_MAX + 1,
                "|(others)|module|3000|100\n");
}

/* Summaries and samples; both names that files have. */
static void test_links (void **state)
{
    (void)state;
    make_capture ();
    capture_put (OUT "hccs_20250101.csv", "Device_id,Mode,Max,Min,Average\n"
                 "0,Tx (MB/s),9,1,4.5\n0,Rx (MB/s),7,N/A,N/A\n");
    capture_put (OUT "pcie.csv", "Mode,Min,Max,Avg\nTx_p(B/us),1,3,2\n");
    capture_put (OUT "nic.csv", "Device_id,Timestamp(us),Bandwidth(MB/s),"
                 "Rx Bandwidth efficiency(%),rxPacket/s,funcId\n"
                 "0,100.5\t,8,1,5,0\n"
                 "0,101.5\t,8,2,N/A,1\n1,101.5\t,8,7,1,0\n");
    check (TABLE_LINK, "0|HCCS|Tx|MB/s||4.5|9\n0|HCCS|Rx|MB/s|||7\n"
           "0|NIC|Bandwidth|MB/s|2|8|8\n"
           "0|NIC|Rx Bandwidth efficiency|%|2|1.5|2\n"
           "0|NIC|rxPacket/s|NULL|1|5|5\n1|NIC|Bandwidth|MB/s|1|8|8\n"
           "1|NIC|Rx Bandwidth efficiency|%|1|7|7\n"
           "1|NIC|rxPacket/s|NULL|1|1|1\n|PCIE|Tx_p|B/us||2|3\n",
           CAPTURE_COMPLETE, "");
    check (TABLE_FILE, "", CAPTURE_COMPLETE, "");
    capture_put (OUT "roce_1.csv", "Timestamp(us),a\n1,2\n1\n");
    capture_put (OUT "nic_other", "x");
    check (TABLE_FILE, OUT "nic_other|1\n", CAPTURE_PARTIAL,
           "roce_1.csv: line 3: fewer fields");
}

/* More devices than a file is expected to have share a row. */
static void test_many_devices (void **state)
{
    static char big[4096];
    size_t used = (size_t)snprintf (big, sizeof (big),
                                    "Device_id,Timestamp(us),a\n");

    (void)state;
    make_capture ();
    for (int i = 0; i < 40; i++)
        used += (size_t)snprintf (big + used, sizeof (big) - used,
                                  "%d,1,%d\n", i, i);
    capture_put (OUT "nic.csv", big);
    check_many (TABLE_LINK, 16, "|NIC|a|NULL|25|27|39\n");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_statistics),
        cmocka_unit_test (test_bad_statistics),
        cmocka_unit_test (test_bounds),
        cmocka_unit_test (test_memory),
        cmocka_unit_test (test_bad_memory),
        cmocka_unit_test (test_large_file),
        cmocka_unit_test (test_many_components),
        cmocka_unit_test (test_links),
        cmocka_unit_test (test_many_devices),
    };

    return cmocka_run_group_tests (tests, extras_setup, capture_teardown);
}
