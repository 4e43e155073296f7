/* tests/unit/node_agent/extract/kineto/test_kineto.c - traces of
 * torch.profiler: times, steps and the header */
#include "node_agent/extract/kineto/trace_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "x.pt.trace.json"
#define RANK1 "\"backend\": \"nccl\", \"rank\": 1, \"world_size\": 2"

static struct seen seen;

static void read_text (const char *text)
{
    trace_read (NAME, text, NULL, &seen);
}

#define DEVICE_STEP \
    STEP ("3", "100.000", "50.000") ",\n" LAUNCH ("101", "1") ",\n" \
    LAUNCH ("102", "2") ",\n" LAUNCH ("103", "3") ",\n" \
    KERNEL ("gemm", "110.125", "10.25", "1") ",\n" \
    KERNEL ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "115.001", "12.002", \
            "2") ",\n" \
    ON_GPU ("gpu_memcpy", "Memcpy HtoD", "125.000", "5.003", "3", "")

/* All in ns: sums of thousands of events that are rounded to us are wrong by
 * milliseconds.
 */
static void test_step (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) DEVICE_STEP TRACE_TAIL);
    assert_int_equal (seen.capture.evidence.ranks.trace, 1);
    assert_int_equal (seen.capture.evidence.pid, 1);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    assert_int_equal (seen.capture.rank, 1);
    assert_int_equal (seen.capture.world_size, 2);
    assert_int_equal (seen.capture.device_id, 3);
    assert_int_equal (seen.capture.started_ns, 1711964646000100000);
    assert_int_equal (seen.capture.ended_ns, 1711964646000150000);
    assert_string_equal (seen.capture.framework, "kineto");
    assert_string_equal (seen.capture.source, "kineto");
    // computing, alone, overlapped, communication, free, stage, ...
    trace_has (&seen, "StepTraceTime|3|3|10.25|6.628|5.374|12.002"
               "|3|19.878|0|6.628|10.125\n");
    trace_has (&seen, "StepExtra|3|3|1711964646000100|1711964646000150|3\n");
    trace_has (&seen, "CaptureInfo|breakdown|total|19.878\n");
    trace_has (&seen, "CaptureInfo|breakdown|idle|0.000\n");
    trace_has (&seen, "CaptureInfo|breakdown|computing|10.250\n");
    trace_has (&seen, "CaptureInfo|breakdown|other|9.628\n");
    trace_has (&seen, "CaptureInfo|metadata|backend|nccl\n");
    trace_has (&seen, "OperatorStatistic|3|gemm|kernel|1|10.25|10.25|10.25\n");
    trace_seen_fini (&seen);
}

/* Times of ranges are in us, as those of all tables from a profiler. */
static void test_ranges (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) DEVICE_STEP ",\n"
               EVENT ("user_annotation", "load", "1", "101.000", "3.250", "")
               ",\n"
               EVENT ("user_annotation", "load", "1", "110.000", "1.500", "")
               TRACE_TAIL);
    // kind, domain, name, how many, total, min, max, first
    trace_has (&seen, "UserRange|user_annotation|NULL|load|2|4.75|1.5|3.25"
               "|1711964646000101\n");
    trace_seen_fini (&seen);
}

/* A kernel that runs in the next step belongs to the one that launched it; its
 * call between two steps counts for the first, one that begins with a step for
 * that.
 */
static void test_launched (void **state)
{
    static const char text[] = TRACE_HEAD (RANK1)
        STEP ("3", "100", "50") "," STEP ("4", "151", "49") ","
        LAUNCH ("149", "1") "," KERNEL ("a", "160", "2", "1") ","
        LAUNCH ("150.5", "2") "," KERNEL ("b", "170", "4", "2") ","
        LAUNCH ("151", "3") "," KERNEL ("c", "180", "8", "3") ","
        LAUNCH ("250", "4") "," KERNEL ("d", "260", "16", "4") TRACE_TAIL;

    (void)state;
    read_text (text);
    trace_has (&seen, "StepTraceTime|3|3|6|0|0|0|8|14|0|0|60\n");
    trace_has (&seen, "StepTraceTime|3|4|8|0|0|0|0|8|0|0|29\n");
    trace_has (&seen, "CaptureInfo|breakdown|computing|14.000\n");
    trace_has (&seen, "CaptureInfo|breakdown|outside_computing|16.000\n");
    trace_reason (&seen, "left out of the steps: 1 of 4 events");
    trace_seen_fini (&seen);
    trace_read (NAME, text, "4", &seen);
    trace_has_not (&seen, "StepTraceTime|3|3");
    trace_has (&seen, "StepTraceTime|3|4|8|");
    trace_has (&seen, "CaptureInfo|breakdown|computing|8.000\n");
    trace_seen_fini (&seen);
}

/* Without the calls the device's own span of a step decides. */
static void test_device_span (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1)
               STEP ("3", "100", "50") "," STEP ("4", "150", "50") ","
               EVENT ("gpu_user_annotation", "ProfilerStep#3", "7", "120",
                      "50", "") ","
               EVENT ("gpu_user_annotation", "ProfilerStep#4", "7", "170",
                      "50", "") ","
               KERNEL ("a", "160", "2", "1") "," KERNEL ("b", "175", "4", "2")
               TRACE_TAIL);
    trace_has (&seen, "StepTraceTime|3|3|2|");
    trace_has (&seen, "StepTraceTime|3|4|4|");
    trace_seen_fini (&seen);
}

static void test_no_steps (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) LAUNCH ("149", "1") ","
               KERNEL ("a", "160", "2", "1") "," KERNEL ("b", "170", "4", "2")
               TRACE_TAIL);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_has (&seen, "StepTraceTime|3|NULL|6|0|0|0|8|14|0|0|NULL\n");
    trace_seen_fini (&seen);
}

/* Categories as they were called in 2021. */
static void test_2021 (void **state)
{
    (void)state;
    read_text ("{\"traceEvents\": ["
               EVENT ("Operator", "ProfilerStep#3", "1", "100", "50", "") ","
               EVENT ("Runtime", "cudaLaunchKernel", "1", "101", "1",
                      "\"correlation\": 9") ","
               ON_GPU ("Kernel", "a", "110", "4", "9", "") ","
               ON_GPU ("Memcpy", "b", "112", "9", "9", "") "]}");
    trace_has (&seen, "StepTraceTime|3|3|4|0|0|0|7|11|0|0|10\n");
    trace_has (&seen, "StepExtra|3|3|100|150|7\n");
    trace_seen_fini (&seen);
}

/* Older traces have whole us, and some none of what newer ones have. */
static void test_epoch (void **state)
{
    (void)state;
    read_text ("{\"traceEvents\": [" STEP ("551", "1682725898079292", "607.0")
               "," LAUNCH ("1682725898079300", "9") ","
               KERNEL ("a", "1682725898079400", "10.0", "9") "]}");
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    assert_int_equal (seen.capture.rank, CAPTURE_NO_RANK);
    trace_has (&seen, "StepExtra|3|551|1682725898079292|1682725898079899|0\n");
    trace_has (&seen, "StepTraceTime|3|551|10|0|0|0|0|10|0|0|108\n");
    trace_seen_fini (&seen);
}

/* ---- the header ---- */

#define GROUPS "\"pg_count\": 13, \"pg_config\": [{\"pg_name\": \"0\", " \
    "\"pg_desc\": \"default_pg\", \"pg_size\": 2, \"ranks\": [0, 1]}, " \
    "{\"pg_name\": \"3\", \"pg_desc\": \"undefined\", \"pg_size\": 2, " \
    "\"ranks\": \"[1, 0]\"}], \"nccl_version\": \"2.27.5\""

static void check_header (const char *text)
{
    read_text (text);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    assert_int_equal (seen.capture.rank, 1);
    assert_string_equal (seen.capture.host, "node7");
    assert_int_equal (seen.capture.ngroups, 2);
    assert_string_equal (seen.capture.groups[0].pg_name, "default_pg");
    assert_string_equal (seen.capture.groups[1].pg_name, "3");
    assert_int_equal (seen.capture.groups[1].nmembers, 2);
    assert_int_equal (seen.capture.groups[1].members[0], 0);
    trace_has (&seen, "CaptureInfo|metadata|nccl_version|2.27.5\n");
    trace_has (&seen, "CaptureInfo|metadata|device_name|A100\n");
    trace_has (&seen, "StepExtra|3|3|1711964646000100|");
    trace_seen_fini (&seen);
}

#define MORE "\"deviceProperties\": [{\"id\": 0, \"name\": \"A100\"}], " \
    "\"host_name\": \"node7\", \"distributedInfo\": {" RANK1 ", " GROUPS "}"

/* Before the events, behind them, and without any blanks. */
static void test_header (void **state)
{
    static const char plain[] = "{" MORE ", \"traceEvents\": [" DEVICE_STEP
        "], \"baseTimeNanoseconds\": 1711964646000000000}";
    char minified[sizeof (plain)];
    size_t used = 0;

    (void)state;
    check_header (plain);
    check_header ("{\"baseTimeNanoseconds\": 1711964646000000000, "
                  "\"traceEvents\": [" DEVICE_STEP "], " MORE "}");
    for (const char *p = plain; *p; p++) {
        if (*p != '\n' && !(*p == ' ' && (p[-1] == ':' || p[-1] == ',')))
            minified[used++] = *p;
    }
    minified[used] = '\0';
    check_header (minified);
}

static void check_rank (const char *text, int64_t rank)
{
    struct capture c;

    trace_glance (NAME, text, &c);
    assert_int_equal (c.rank, rank);
    capture_fini (&c);
}

/* Ranks are needed before the rows are read, wherever they are: two minified
 * files must not both become rank 0.
 */
static void test_rank (void **state)
{
    (void)state;
    check_rank (TRACE_HEAD ("\"rank\": 5") "]}", 5);
    check_rank ("{\"distributedInfo\":{\"rank\":3},\"traceEvents\":[]}", 3);
    check_rank ("{\"traceEvents\":[],\"distributedInfo\":{\"rank\":\"4\"}}",
                4);
    check_rank ("{\"traceEvents\":[],\"distributedInfo\":{\"rank\":-4}}",
                CAPTURE_NO_RANK);
    check_rank ("{\"traceEvents\":[]}", CAPTURE_NO_RANK);
    check_rank ("", CAPTURE_NO_RANK);
}

static void test_bad_header (void **state)
{
    (void)state;
    read_text ("{\"distributedInfo\": {\"rank\": 1, \"a\": b}, "
               "\"traceEvents\": [" DEVICE_STEP "]}");
    assert_int_equal (seen.capture.state, CAPTURE_PARTIAL);
    trace_reason (&seen, "distributedInfo: ");
    trace_has (&seen, "StepTraceTime|3|3|10.25|");
    trace_seen_fini (&seen);
    // the header cannot be passed over, its events can be found
    read_text ("{\"x\": \"a\nb\", \"traceEvents\": [" DEVICE_STEP "]}");
    assert_int_equal (seen.capture.state, CAPTURE_PARTIAL);
    trace_reason (&seen, "byte ");
    trace_has (&seen, "StepTraceTime|3|3|10.25|");
    trace_seen_fini (&seen);
}

/* ---- damage ---- */

/* Names that torch did not escape cost one event at most. */
static void test_quotes (void **state)
{
    (void)state;
    read_text (TRACE_HEAD (RANK1) DEVICE_STEP ","
               EVENT ("user_annotation", "a \"b\" c", "1", "100", "1", "") ","
               EVENT ("user_annotation", "C:\\dir\\x", "1", "100", "2", "")
               "," EVENT ("user_annotation", "fwd", "1", "100", "4", "")
               TRACE_TAIL);
    trace_has (&seen, "UserRange|user_annotation|NULL|C:\\dir\\x|1|2|");
    trace_has (&seen, "UserRange|user_annotation|NULL|fwd|1|4|");
    trace_seen_fini (&seen);
    read_text (TRACE_HEAD (RANK1)
               EVENT ("user_annotation", "a\", \"b", "1", "100", "1", "") ","
               EVENT ("user_annotation", "ends in \\", "1", "100", "2", "")
               "," DEVICE_STEP TRACE_TAIL);
    assert_int_equal (seen.capture.state, CAPTURE_PARTIAL);
    trace_reason (&seen, "malformed");
    trace_has (&seen, "StepTraceTime|3|3|10.25|6.628|5.374|");
    trace_seen_fini (&seen);
}

/* What is there counts, wherever the file was cut; never a crash. */
static void test_truncated (void **state)
{
    static const char text[] = TRACE_HEAD (RANK1) DEVICE_STEP TRACE_TAIL;
    size_t partial = 0;

    (void)state;
    for (size_t n = 0; n + 3 < sizeof (text); n++) {
        trace_read_bytes (NAME, text, n, &seen);
        assert_true (seen.capture.state == CAPTURE_PARTIAL ||
                     seen.capture.state == CAPTURE_FAILED);
        assert_true (seen.capture.reason[0] != '\0');
        partial += seen.capture.state == CAPTURE_PARTIAL;
        trace_seen_fini (&seen);
    }
    assert_true (partial > sizeof (text) / 4);
    trace_read_bytes (NAME, text, sizeof (text) - 30, &seen);
    trace_has (&seen, "StepTraceTime|3|3|10.25|");
    trace_seen_fini (&seen);
}

#define MANY 200000             // kernels: more than a sorter keeps in memory

/* Launches far from their kernels, and these against the order of time. */
static void test_many (void **state)
{
    static const char head[] = TRACE_HEAD (RANK1) STEP ("3", "0", "1000000")
        "," STEP ("4", "1000000", "1000000");
    const size_t max = (size_t)MANY * 400;
    char *text = malloc (max);
    size_t used;

    (void)state;
    assert_non_null (text);
    used = (size_t)snprintf (text, max, "%s", head);
    for (int i = 1; i <= MANY; i++)
        used += (size_t)snprintf (text + used, max - used, "," LAUNCH ("%d",
                                  "%d"), i > MANY / 2 ? 1000000 + i : i, i);
    for (int i = MANY; i > 0; i--)
        used += (size_t)snprintf (text + used, max - used, ","
                                  KERNEL ("a", "%d", "1.5", "%d"),
                                  1000000 + 2 * i, i, i);
    (void)snprintf (text + used, max - used, "%s", TRACE_TAIL);
    read_text (text);
    free (text);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_has (&seen, "StepTraceTime|3|3|150000|0|0|0|49999.5|199999.5|0|0|"
               "1000002\n");
    trace_has (&seen, "StepTraceTime|3|4|150000|0|0|0|49999.5|199999.5|0|0|"
               "200002\n");
    trace_has (&seen, "OperatorStatistic|3|a|kernel|200000|300000|");
    trace_seen_fini (&seen);
}

static void check_no_device (const char *text, enum capture_state state,
                             const char *reason)
{
    read_text (text);
    assert_int_equal (seen.capture.state, state);
    trace_has (&seen, "StepExtra|NULL|3|1711964646000100|");
    trace_has_not (&seen, "StepTraceTime");
    trace_reason (&seen, reason);
    assert_null (strstr (seen.capture.reason, "no device"));
    trace_seen_fini (&seen);
}

#define BASE "\"baseTimeNanoseconds\": 1711964646000000000"
#define HOST_STEP "\"traceEvents\": [" STEP ("3", "100", "50") "," \
    EVENT ("cpu_op", "aten::mm", "1", "110", "10", "")

/* A job with a device is none of gloo's, though none of the device's events is
 * there: computing is not the time of host ops.
 */
static void test_no_device (void **state)
{
    (void)state;
    check_no_device ("{" BASE "," HOST_STEP, CAPTURE_FAILED, "was not reached");
    check_no_device ("{" BASE "," HOST_STEP "," LAUNCH ("101", "1") "]}",
                     CAPTURE_FAILED, "1 launch, and no event");
    check_no_device ("{" BASE "," HOST_STEP "], \"deviceProperties\": "
                     "[{\"id\": 0}]}", CAPTURE_COMPLETE, "was not recorded");
    read_text ("{" BASE "," HOST_STEP "], \"deviceProperties\": []}");
    trace_has (&seen, "StepTraceTime|NULL|3|10|");
    trace_reason (&seen, "no device was recorded");
    trace_seen_fini (&seen);
    read_text ("\xef\xbb\xbf{" BASE "," HOST_STEP "]}");
    assert_null (strstr (seen.capture.reason, "device"));
    trace_seen_fini (&seen);
}

static void check_odd (const char *event, const char *reason)
{
    char text[4096];

    (void)snprintf (text, sizeof (text), TRACE_HEAD (RANK1) DEVICE_STEP
                    ",\n%s" TRACE_TAIL, event);
    read_text (text);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_has (&seen, "StepTraceTime|3|3|10.25|6.628|5.374|");
    trace_reason (&seen, reason);
    trace_seen_fini (&seen);
}

/* Events that are whole but make no sense are left out. */
static void test_odd (void **state)
{
    (void)state;
    check_odd ("{}", "");
    check_odd ("{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 1}", "");
    check_odd ("{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 1, \"dur\": 2}", "");
    check_odd ("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": 3, \"ts\": 1, "
               "\"dur\": 2, \"args\": []}", "");
    check_odd (EVENT ("Trace", "PyTorch Profiler (0)", "\"x\"", "1", "9",
                      "\"Op count\": 0"), "");
    check_odd (KERNEL ("a", "1", "-5", "1"), "seven days");
    check_odd (KERNEL ("a", "1", "604800000001", "1"), "seven days");
    // a difference of -1 ns in 64 bits without a sign, and what is no number
    check_odd (KERNEL ("a", "1", "18446744073709551.615", "1"), "seven days");
    check_odd (KERNEL ("a", "18446744073709551.615", "1", "1"),
               "left out: 1 event of");
    check_odd (KERNEL ("a", "1", "NaN", "1"), "left out: 1 event of");
    check_odd (KERNEL ("a", "1", "1e400", "1"), "left out: 1 event of");
    check_odd (KERNEL ("a", "99999999999999999999", "1", "1"), "");
    check_odd (KERNEL ("a", "null", "1", "1"), "");
    check_odd (EVENT ("kernel", "a", "7", "1", "1", "\"stream\": 7"), "");
    check_odd (EVENT ("kernel", "a", "7", "1", "1",
                      "\"stream\": \"x\", \"correlation\": {}"), "");
}

static void test_no_trace (void **state)
{
    (void)state;
    read_text ("[1, 2]");
    assert_int_equal (seen.capture.state, CAPTURE_FAILED);
    trace_reason (&seen, "a list of events was expected");
    trace_seen_fini (&seen);
    read_text ("12");
    assert_int_equal (seen.capture.state, CAPTURE_FAILED);
    trace_reason (&seen, "an object was expected");
    trace_seen_fini (&seen);
    read_text ("");
    assert_int_equal (seen.capture.state, CAPTURE_FAILED);
    trace_reason (&seen, "is empty");
    trace_seen_fini (&seen);
}

/* ---- compressed ---- */

/* A gzip file with one stored block: no compressor is needed to make it. */
static size_t store (const char *text, uint8_t *out)
{
    static const uint8_t head[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
    size_t n = strlen (text), used = sizeof (head);
    uint32_t crc = 0xffffffffu;

    memcpy (out, head, sizeof (head));
    out[used++] = 1;            // the last block, stored
    out[used++] = (uint8_t)n;
    out[used++] = (uint8_t)(n >> 8);
    out[used++] = (uint8_t)~n;
    out[used++] = (uint8_t)(~n >> 8);
    memcpy (out + used, text, n);
    used += n;
    for (size_t i = 0; i < n; i++) {
        crc ^= (uint8_t)text[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    for (int i = 0; i < 4; i++)
        out[used++] = (uint8_t)(~crc >> 8 * i);
    for (int i = 0; i < 4; i++)
        out[used++] = (uint8_t)(n >> 8 * i);
    return used;
}

static void test_gzip (void **state)
{
    static const char text[] = TRACE_HEAD (RANK1) DEVICE_STEP TRACE_TAIL;
    uint8_t bytes[sizeof (text) + 64];
    size_t n = store (text, bytes);

    (void)state;
    trace_read_bytes ("x.pt.trace.json.gz", bytes, n, &seen);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_has (&seen, "StepTraceTime|3|3|10.25|");
    trace_seen_fini (&seen);
    // by its content, not by its name
    trace_read_bytes ("x.pt.trace.json", bytes, n, &seen);
    assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
    trace_seen_fini (&seen);
    trace_read_bytes ("x.pt.trace.json.gz", bytes, n - 100, &seen);
    assert_int_equal (seen.capture.state, CAPTURE_PARTIAL);
    trace_reason (&seen, "the compressed file ends");
    trace_has (&seen, "StepTraceTime|3|3|10.25|");
    trace_seen_fini (&seen);
    bytes[n - 5] ^= 1;
    trace_read_bytes ("x.pt.trace.json.gz", bytes, n, &seen);
    assert_int_equal (seen.capture.state, CAPTURE_PARTIAL);
    trace_reason (&seen, "the compressed data is damaged");
    trace_seen_fini (&seen);
}

#define LABEL(pid, name, label) \
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" pid \
    ",\"args\":{\"name\":\"" name "\"}},\n" \
    "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":" pid \
    ",\"args\":{\"labels\":\"" label "\"}},\n"
#define ROW(name, ts, dur) \
    "{\"name\":\"" name "\",\"ph\":\"X\",\"pid\":10,\"tid\":0," \
    "\"ts\":\"" ts "\",\"dur\":" dur "}"

/* What torch_npu exports alone is a timeline, whatever its name. */
static void test_torch_npu (void **state)
{
    static const char text[] = "["
        "{\"name\":\"ProfilerStep#5\",\"cat\":\"cpu_op\",\"ph\":\"X\","
        "\"pid\":1,\"tid\":1,\"ts\":\"1000.000\",\"dur\":90},\n"
        LABEL ("1", "Python", "CPU") LABEL ("10", "Overlap Analysis", "NPU")
        ROW ("Computing", "1010.000", "10.25") ","
        ROW ("Communication", "1020.250", "4") ","
        ROW ("Communication(Not Overlapped)", "1020.250", "4") "]";
    uint8_t bytes[sizeof (text) + 64];

    (void)state;
    for (int gz = 0; gz < 2; gz++) {
        if (gz)
            trace_read_bytes ("rank0.json.gz", bytes, store (text, bytes),
                              &seen);
        else
            trace_read ("rank0.json", text, NULL, &seen);
        assert_string_equal (seen.capture.source, "timeline");
        assert_string_equal (seen.capture.framework, "ascend_pt");
        assert_int_equal (seen.capture.state, CAPTURE_COMPLETE);
        trace_has (&seen, "StepTraceTime|NULL|5|10.25|4|0|4|0|");
        trace_seen_fini (&seen);
    }
}

/* A trace alone has no other files that could be missing. */
static void test_nothing_in_it (void **state)
{
    (void)state;
    trace_read ("rank0.json", "[{\"name\":\"ProfilerStep#5\",\"cat\":\"cpu_op\","
                "\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":\"1000.000\","
                "\"dur\":90}]", NULL, &seen);
    assert_int_equal (seen.capture.state, CAPTURE_FAILED);
    trace_reason (&seen, "StepTraceTime is missing: nothing in the trace");
    trace_seen_fini (&seen);
}

/* An event that is longer than what is read at a time. */
static void test_long (void **state)
{
    static const char head[] = TRACE_HEAD (RANK1) DEVICE_STEP
        ",\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"";
    static const char tail[] = "\", \"ts\": 1, \"dur\": 1}" TRACE_TAIL;
    const size_t sizes[] = { 3u << 20, 9u << 20 };
    char *text = malloc (sizes[1] + sizeof (head) + sizeof (tail));

    (void)state;
    assert_non_null (text);
    for (size_t i = 0; i < 2; i++) {
        memcpy (text, head, sizeof (head) - 1);
        memset (text + sizeof (head) - 1, 'x', sizes[i]);
        memcpy (text + sizeof (head) - 1 + sizes[i], tail, sizeof (tail));
        read_text (text);
        assert_int_equal (seen.capture.state, CAPTURE_PARTIAL);
        trace_has (&seen, "StepTraceTime|3|3|10.25|");
        trace_seen_fini (&seen);
    }
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_step),
        cmocka_unit_test (test_launched),
        cmocka_unit_test (test_device_span),
        cmocka_unit_test (test_ranges),
        cmocka_unit_test (test_no_steps),
        cmocka_unit_test (test_epoch),
        cmocka_unit_test (test_2021),
        cmocka_unit_test (test_header),
        cmocka_unit_test (test_rank),
        cmocka_unit_test (test_bad_header),
        cmocka_unit_test (test_quotes),
        cmocka_unit_test (test_truncated),
        cmocka_unit_test (test_many),
        cmocka_unit_test (test_no_device),
        cmocka_unit_test (test_odd),
        cmocka_unit_test (test_no_trace),
        cmocka_unit_test (test_gzip),
        cmocka_unit_test (test_torch_npu),
        cmocka_unit_test (test_nothing_in_it),
        cmocka_unit_test (test_long),
    };

    return cmocka_run_group_tests (tests, trace_setup, trace_teardown);
}
