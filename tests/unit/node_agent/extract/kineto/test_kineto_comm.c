/* tests/unit/node_agent/extract/kineto/test_kineto_comm.c - traces of
 * torch.profiler: what they say of communication */
#include "node_agent/extract/kineto/trace_check.h"

#include "extract/kineto/kineto.h"

#include <math.h>
#include <string.h>

#define NAME "x.pt.trace.json"
#define RANK1 "\"backend\": \"nccl\", \"rank\": 1, \"world_size\": 2"
#define GPU_COMM(name, ts, dur, n, more) \
    ON_GPU ("kernel", name, ts, dur, n, more)

static struct seen seen;

static void read_text (const char *text)
{
    trace_read (NAME, text, NULL, &seen);
}

static struct span span (const char *text)
{
    return (struct span){ text, strlen (text) };
}

static void test_names (void **state)
{
    static const struct {
        const char *name;
        enum coll coll;
    } names[] = {
        { "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
          COLL_ALL_REDUCE },
        { "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", COLL_ALL_REDUCE },
        { "ncclDevKernel_AllGather_RING_LL", COLL_ALL_GATHER },
        { "ncclDevKernel_SendRecv", COLL_SEND_RECEIVE },
        { "ncclDevKernel_Generic", COLL_OTHER },
        { "allreduce_coalesced", COLL_ALL_REDUCE },
        { "_allgather_base", COLL_ALL_GATHER },
        { "all_gather_into_tensor_coalesced", COLL_ALL_GATHER },
        { "_reduce_scatter_base", COLL_REDUCE_SCATTER },
        { "all_to_allv", COLL_ALL_TO_ALL },
        { "nccl:_all_gather_base", COLL_ALL_GATHER },
        { "gloo:all_to_all", COLL_ALL_TO_ALL },
        { "c10d::alltoall_base_", COLL_ALL_TO_ALL },
        { "reduce", COLL_REDUCE }, { "recv", COLL_RECEIVE },
        { "c10d::recv_", COLL_RECEIVE }, { "send", COLL_SEND },
        { "gather", COLL_GATHER }, { "scatter", COLL_SCATTER },
        { "broadcast", COLL_BROADCAST }, { "barrier", COLL_BARRIER },
        { "wait", COLL_OTHER }, { "", COLL_OTHER },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        assert_int_equal (kineto_coll (span (names[i].name)), names[i].coll);
}

static void check_mb (enum coll coll, int64_t in, int64_t out, int64_t n,
                      double mb)
{
    struct comm_record r = { .coll = (uint8_t)coll, .in = in, .out = out,
                             .size = 2 };
    double whole, got = kineto_comm_mb (&r, n, &whole);

    if (isnan (mb))
        assert_true (isnan (got));
    else
        assert_true (fabs (got - mb) < 1e-12);
}

/* What a rank must move: nccl-tests' factors for the bandwidth of the bus. */
static void test_sizes (void **state)
{
    (void)state;
    check_mb (COLL_ALL_REDUCE, 1000000, 1000000, 4, 3);
    check_mb (COLL_ALL_GATHER, 1000000, 4000000, 4, 6);
    check_mb (COLL_ALL_GATHER, 1000000, -1, 4, 6);
    check_mb (COLL_REDUCE_SCATTER, 4000000, 1000000, 4, 6);
    check_mb (COLL_ALL_TO_ALL, 4000000, 4000000, 4, 6);
    check_mb (COLL_GATHER, 1000000, 0, 4, 6);
    check_mb (COLL_SCATTER, 0, 1000000, 4, 6);
    check_mb (COLL_BROADCAST, 1000000, 1000000, 4, 2);
    check_mb (COLL_REDUCE, 1000000, 1000000, 4, 2);
    check_mb (COLL_SEND, 1000000, 1000000, -1, 2);
    check_mb (COLL_RECEIVE, 1000000, 1000000, -1, 2);
    check_mb (COLL_ALL_REDUCE, 1000000, 1000000, -1, NAN);
    check_mb (COLL_BARRIER, 1, 1, 4, NAN);
    check_mb (COLL_SEND_RECEIVE, 1, 1, 4, NAN);
    check_mb (COLL_ALL_REDUCE, -1, -1, 4, NAN);
}

static void check_call (enum coll coll, int64_t first, int64_t second,
                        int64_t in, int64_t out, uint32_t ranks)
{
    struct comm_record r = { .coll = (uint8_t)coll, .in = first, .out = -1,
                             .second = second };

    kineto_comm_call (&r);
    assert_int_equal (r.in, in);
    assert_int_equal (r.out, out);
    assert_int_equal (r.ranks, ranks);
}

/* A call has its output first; how many ranks there are shows where each has
 * an equal share of the one or of the other.
 */
static void test_calls (void **state)
{
    (void)state;
    check_call (COLL_ALL_GATHER, 4000, 500, 500, 4000, 8);
    check_call (COLL_REDUCE_SCATTER, 500, 4000, 4000, 500, 8);
    check_call (COLL_ALL_GATHER, 4001, 500, 500, 4001, 0);
    check_call (COLL_ALL_GATHER, 4000, 0, 0, 4000, 0);
    check_call (COLL_ALL_TO_ALL, 48, 64, 64, 48, 0);
    check_call (COLL_ALL_REDUCE, 500, -1, 500, -1, 0);
}

#define OLD_OP(call, dims, range, in, ts, n) \
    EVENT ("cpu_op", "c10d::" call, "1", ts, "9", \
           "\"Input Dims\": " dims ", \"Input type\": [\"float\", \"float\"]") \
    "," EVENT ("user_annotation", "nccl:" range, "1", ts ".1", "8", \
               "\"Input Dims\": [" in "], \"Input type\": [\"float\"]") \
    "," LAUNCH (ts ".5", n) ","
#define OLD_KERNEL "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t"

/* Before torch 2.2: sizes from the range around the launch, and the size of the
 * group from the call around that.
 */
static void test_old_sizes (void **state)
{
    (void)state;
    read_text ("{\"traceEvents\": [" STEP ("4", "100", "50") ","
               OLD_OP ("_allgather_base_", "[[800, 250], [100, 250], []]",
                       "_all_gather_base", "[100, 250]", "101", "1")
               OLD_OP ("_reduce_scatter_base_", "[[500], [1000], [], []]",
                       "_reduce_scatter_base", "[1000]", "111", "2")
               OLD_OP ("allreduce_", "[[], [], []]", "all_reduce", "[250000]",
                       "121", "3")
               GPU_COMM (OLD_KERNEL, "210", "1", "1", "") ","
               GPU_COMM (OLD_KERNEL, "220", "1", "2", "") ","
               GPU_COMM (OLD_KERNEL, "230", "1", "3", "") "]}");
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_has (&seen, "CommAnalyzerBandwidth|nccl_allGather__unknown_0_1|NULL|"
                      "NULL|0.7|NULL|NULL|NULL|0.7|1|");
    trace_has (&seen, "CommAnalyzerBandwidth|nccl_reduceScatter__unknown_0_1|"
                      "NULL|NULL|0.002|NULL|NULL|NULL|0.002|1|");
    trace_has (&seen, "CommAnalyzerBandwidth|nccl_allReduce__unknown_0_1|NULL|"
                      "NULL|NULL|NULL|NULL|NULL|1|1|");
    trace_has (&seen, "CaptureInfo|metadata|ops of undeclared groups of 8|1\n");
    trace_has (&seen, "CaptureInfo|metadata|ops of undeclared groups of 2|1\n");
    trace_reason (&seen, "how many ranks take part in 1 of 3");
    trace_seen_fini (&seen);
}

#define AR COMM ("allreduce", "6637568", "6637568", "Float", "0", "[0, 1]")
#define AR_KERNEL "ncclKernel_AllReduce_RING_LL_Sum_float"

/* The key is of name and ranks: the same on all ranks, whatever the order in
 * which ranks are listed.
 */
static void test_allreduce (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) STEP ("4", "100", "50") ","
               LAUNCH ("101", "1") "," LAUNCH ("102", "2") ","
               GPU_COMM (AR_KERNEL, "120.502", "2636.669", "2", AR) ","
               GPU_COMM (AR_KERNEL, "110.001", "10", "1", AR) TRACE_TAIL);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    assert_string_equal (seen.capture.reason, "");
    assert_int_equal (seen.capture.ngroups, 1);
    assert_string_equal (seen.capture.groups[0].name, "7880328029581903227");
    trace_has (&seen, "CommAnalyzerTime|nccl_allReduce__227_0_1|"
               "7880328029581903227|1711964646000110|0.01|NULL|NULL|NULL|"
               "NULL|step4|collective\n");
    trace_has (&seen, "CommAnalyzerTime|nccl_allReduce__227_1_1|"
               "7880328029581903227|1711964646000120.5|2.636669|"
               "NULL|NULL|NULL|NULL|step4|collective\n");
    trace_has (&seen, "CommAnalyzerBandwidth|nccl_allReduce__227_0_1|"
               "7880328029581903227|NULL|26.550272|NULL|NULL|NULL|26.550272|"
               "1|NULL|step4|collective\n");
    trace_has_not (&seen, "CommAnalyzerMatrix");
    trace_seen_fini (&seen);
}

/* What torch counted tells ops apart; one that runs twice under one number, or
 * that has none, is counted here.
 */
static void test_seq (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) STEP ("4", "100", "50") ","
               LAUNCH ("101", "1") "," LAUNCH ("102", "2") ","
               LAUNCH ("103", "3") ","
               GPU_COMM (AR_KERNEL, "110", "1", "1", AR ", \"Seq\": 77") ","
               GPU_COMM (AR_KERNEL, "120", "1", "2", AR ", \"Seq\": 78") ","
               GPU_COMM (AR_KERNEL, "130", "1", "3", AR ", \"Seq\": 78")
               TRACE_TAIL);
    trace_has (&seen, "CommAnalyzerTime|nccl_allReduce__227_77_1|");
    trace_has (&seen, "CommAnalyzerTime|nccl_allReduce__227_78_1|");
    trace_has (&seen, "CommAnalyzerTime|nccl_allReduce__227_78_2|");
    trace_seen_fini (&seen);
}

#define HOST(name, tid, ts, dur, args) \
    EVENT ("cpu_op", name, tid, ts, dur, args)

/* Arguments that are not at the kernel: by its External id, else by the host
 * range around its launch on the same thread.
 */
static void test_host_args (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) STEP ("4", "100", "50") ","
               HOST ("record_param_comms", "1", "100", "5",
                     "\"External id\": 1" AR) ","
               HOST ("record_param_comms", "1", "110", "5",
                     "\"External id\": 900" AR) ","
               HOST ("record_param_comms", "2", "110", "5",
                     "\"External id\": 901"
                     COMM ("broadcast", "8", "8", "Int", "0", "[0, 1]")) ","
               LAUNCH ("101", "1") "," LAUNCH ("111", "2") ","
               GPU_COMM ("ncclDevKernel_Generic", "110", "1", "1", "") ","
               GPU_COMM ("ncclDevKernel_Generic", "120", "1", "2", "")
               TRACE_TAIL);
    trace_has (&seen, "CommAnalyzerTime|nccl_allReduce__227_0_1|");
    trace_has (&seen, "CommAnalyzerTime|nccl_allReduce__227_1_1|");
    trace_seen_fini (&seen);
}

/* Before torch 2.2: the kind from nccl:..., nothing of the group. */
static void test_old (void **state)
{
    (void)state;
    read_text ("{\"traceEvents\": [" STEP ("4", "100", "50") ","
               HOST ("record_param_comms", "1", "100", "9",
                     "\"Input Dims\": [[339738624], []], \"Input type\": "
                     "[\"unsigned char\", \"Scalar\"]") ","
               EVENT ("user_annotation", "nccl:all_to_all", "1", "100.5", "8",
                      "\"Input Dims\": [[339738624]]") ","
               LAUNCH ("101", "1") ","
               GPU_COMM ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "110",
                         "1", "1", "") "]}");
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_has (&seen, "CommAnalyzerTime|nccl_allToAll__unknown_0_1|NULL|");
    trace_has_not (&seen, "CommAnalyzerBandwidth");
    trace_reason (&seen, "group of 1 of 1");
    trace_reason (&seen, "size of 1 of 1");
    trace_seen_fini (&seen);
}

#define P2P(coll, rank, group) \
    COMM (coll, "500000", "500000", "Half", group, "[0, 1]") \
    ", \"" rank "\": 0"

/* Each end tells its own; src and dst are places within the group. */
static void test_links (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) STEP ("4", "100", "50") ","
               LAUNCH ("101", "1") "," LAUNCH ("102", "2") ","
               LAUNCH ("103", "3") "," LAUNCH ("104", "4") ","
               GPU_COMM ("ncclDevKernel_SendRecv", "110", "1", "1",
                         P2P ("send", "Dst Rank", "0")) ","
               GPU_COMM ("ncclDevKernel_SendRecv", "120", "2", "2",
                         P2P ("recv", "Src Rank", "0")) ","
               GPU_COMM ("ncclDevKernel_SendRecv", "130", "4", "3",
                         COMM ("all_to_allv", "8000000", "9", "Float", "0",
                               "[0, 1]")
                         ", \"In split size\": \"[3000000, 5000000]\"") ","
               GPU_COMM ("ncclDevKernel_SendRecv", "140", "4", "4",
                         COMM ("all_to_all", "8000000", "9", "Float", "0",
                               "[0, 1]")
                         ", \"In split size\": \"[]\"") TRACE_TAIL);
    trace_has (&seen, "CommAnalyzerTime|nccl_send__227_0_1|"
               "7880328029581903227|1711964646000110|0.001|NULL|NULL|NULL|"
               "NULL|step4|p2p\n");
    trace_has (&seen, "CommAnalyzerMatrix|send-total|7880328029581903227|1|0|"
               "NULL|1|NULL|NULL|step4|p2p|\n");
    trace_has (&seen, "CommAnalyzerMatrix|receive-total|7880328029581903227|"
               "0|1|NULL|1|NULL|NULL|step4|p2p|\n");
    trace_has (&seen, "CommAnalyzerMatrix|alltoall-total|7880328029581903227|"
               "1|0|NULL|28|NULL|NULL|step4|collective|\n");
    // of receiving: bubble, and what is left of communication without it
    trace_has (&seen, "StepTraceTime|3|4|0|11|0|11|23|32|2|9|10\n");
    trace_seen_fini (&seen);
}

/* A receive is one wherever its arguments are. */
static void test_host_receive (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) STEP ("4", "100", "500") ","
               HOST ("record_param_comms", "1", "100", "5",
                     "\"External id\": 1" P2P ("recv", "Src Rank", "0")) ","
               LAUNCH ("101", "1") "," LAUNCH ("102", "2") ","
               KERNEL ("gemm", "150", "10", "2") ","
               GPU_COMM ("ncclDevKernel_SendRecv", "200", "300", "1", "")
               TRACE_TAIL);
    trace_has (&seen, "CommAnalyzerTime|nccl_receive__227_0_1|");
    trace_has (&seen, "StepTraceTime|3|4|10|300|0|300|40|50|300|0|50\n");
    trace_seen_fini (&seen);
}

/* One end that is not known: the sums of that kind and step would be too low,
 * but nobody is to wonder where they are.
 */
static void test_unlinked (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) STEP ("4", "100", "50") ","
               LAUNCH ("101", "1") "," LAUNCH ("102", "2") ","
               GPU_COMM ("ncclDevKernel_SendRecv", "110", "1", "1",
                         P2P ("send", "Dst Rank", "0")) ","
               GPU_COMM ("ncclDevKernel_SendRecv", "120", "1", "2",
                         P2P ("send", "Dst Rink", "0")) TRACE_TAIL);
    trace_has (&seen, "CommAnalyzerTime|nccl_send__227_0_1|");
    trace_has_not (&seen, "CommAnalyzerMatrix");
    trace_reason (&seen, "2 sends, receives and all-to-alls");
    trace_seen_fini (&seen);
}

#define LIST30 "[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, " \
    "32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, ...]"

/* torch cuts lists behind 30: the ranks come from start and stride, or from the
 * header; the splits are taken to be even.
 */
static void test_cut (void **state)
{
    static const char args[] =
        TRACE_HEAD ("\"rank\": 2, \"world_size\": 64")
        STEP ("4", "100", "50") "," LAUNCH ("101", "1") ","
        GPU_COMM ("ncclDevKernel_SendRecv", "110", "1", "1",
                  COMM ("all_to_all", "32000000", "9", "Byte", "9", LIST30)
                  ", \"Group size\": 32, \"Global rank start\": 0, "
                  "\"Global rank stride\": 2, \"In split size\": \"" LIST30
                  "\"") TRACE_TAIL;
    char without[sizeof (args)], *p;

    (void)state;
    read_text (args);
    assert_int_equal (seen.capture.ngroups, 1);
    assert_int_equal (seen.capture.groups[0].nmembers, 32);
    assert_int_equal (seen.capture.groups[0].members[31], 62);
    trace_has (&seen, "CommAnalyzerBandwidth|nccl_allToAll__");
    // an even share of 32 MB
    trace_has (&seen, "CommAnalyzerMatrix|alltoall-total|"
               "5452468326800667152|1|31|NULL|1|NULL|NULL|step4|collective|");
    trace_reason (&seen, "splits of 1 all-to-alls are cut");
    trace_seen_fini (&seen);
    memcpy (without, args, sizeof (args));
    assert_non_null (p = strstr (without, "rank stride"));
    memcpy (p, "rank striX", 10);
    read_text (without);
    assert_int_equal (seen.capture.ngroups, 0);
    trace_has (&seen, "CommAnalyzerTime|nccl_allToAll__");
    trace_seen_fini (&seen);
}

#define GLOO(op, tid, ts, dur) \
    EVENT ("user_annotation", "gloo:" op, tid, ts, dur, "\"Ev Idx\": 1")

/* No device: collectives are ranges of the host. */
static void test_gloo (void **state)
{
    (void)state;
    read_text (TRACE_HEAD ("\"backend\": \"gloo\", \"rank\": 5")
               STEP ("1", "1000", "500") "," STEP ("2", "1500", "500") ","
               HOST ("aten::mm", "1", "1010", "100", "") ","
               HOST ("aten::view", "1", "1020", "10", "") ","
               HOST ("c10d::allreduce_", "1", "1100", "90", "") ","
               GLOO ("all_reduce", "50", "1100", "50.5") ","
               GLOO ("recv", "1", "1300", "100") ","
               GLOO ("all_reduce", "51", "1600", "20") ","
               GLOO ("all_reduce", "51", "2600", "20") TRACE_TAIL);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_has (&seen, "StepTraceTime|NULL|1|100|140.5|10|150.5|259.5|400|100|"
               "40.5|10\n");
    trace_has (&seen, "StepTraceTime|NULL|2|0|20|0|20|480|500|0|20|100\n");
    trace_has (&seen, "CommAnalyzerTime|gloo_allReduce__unknown_0_1|NULL|"
               "1711964646001100|0.0505|NULL|NULL|NULL|NULL|step1|"
               "collective\n");
    trace_has (&seen, "CommAnalyzerTime|gloo_receive__unknown_0_1|NULL|"
               "1711964646001300|0.1|NULL|NULL|NULL|NULL|step1|p2p\n");
    trace_has (&seen, "CommAnalyzerTime|gloo_allReduce__unknown_0_1|NULL|"
               "1711964646001600|0.02|NULL|NULL|NULL|NULL|step2|"
               "collective\n");
    trace_reason (&seen, "1 communication ops lie outside every step");
    trace_reason (&seen, "group_name");
    trace_reason (&seen, "transit_size");
    trace_reason (&seen, "no device was recorded");
    trace_seen_fini (&seen);
}

/* With one group there is no doubt of which an op is. */
static void test_gloo_one_group (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (
                   "\"rank\": 1, \"pg_config\": [{\"pg_name\": \"0\", "
                   "\"pg_size\": 2, \"ranks\": [0, 1]}]")
               STEP ("1", "1000", "500") ","
               GLOO ("all_reduce", "50", "1100", "50.5") TRACE_TAIL);
    trace_has (&seen, "CommAnalyzerTime|gloo_allReduce__227_0_1|"
               "7880328029581903227|");
    trace_seen_fini (&seen);
}

/* MTIA, with HCCL's names. */
static void test_other_backends (void **state)
{
    (void)state;
    read_text (TRACE_HEAD ("\"backend\": \"mtia:hccl,cpu:gloo\", \"rank\": 0")
               STEP ("1", "1000", "500") ","
               GPU_COMM ("hcclAllGather", "1100", "5", "1", "") TRACE_TAIL);
    trace_has (&seen, "CommAnalyzerTime|nccl_allGather__unknown_0_1|NULL|");
    trace_has (&seen, "StepTraceTime|3|1|0|5|0|5|0|5|0|5|100\n");
    trace_seen_fini (&seen);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_names),
        cmocka_unit_test (test_sizes),
        cmocka_unit_test (test_calls),
        cmocka_unit_test (test_old_sizes),
        cmocka_unit_test (test_allreduce),
        cmocka_unit_test (test_seq),
        cmocka_unit_test (test_host_args),
        cmocka_unit_test (test_unlinked),
        cmocka_unit_test (test_host_receive),
        cmocka_unit_test (test_old),
        cmocka_unit_test (test_links),
        cmocka_unit_test (test_cut),
        cmocka_unit_test (test_gloo),
        cmocka_unit_test (test_gloo_one_group),
        cmocka_unit_test (test_other_backends),
    };

    return cmocka_run_group_tests (tests, trace_setup, trace_teardown);
}
