/* tests/unit/node_agent/extract/timeline/test_timeline.c - rows of timelines,
 * from made traces */
#include "extract/timeline/timeline.h"
#include "node_agent/extract/capture_check.h"

#define LABEL(pid, name, label) \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid \
    ",\"args\":{\"name\":\"" name "\"}},\n" \
    "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":" pid \
    ",\"args\":{\"labels\":\"" label "\"}},\n"
#define THREAD(pid, tid, name) \
    "{\"name\":\"thread_name\",\"pid\":" pid ",\"tid\":" tid \
    ",\"args\":{\"name\":\"" name "\"},\"ph\":\"M\"},\n"
#define X(pid, tid, name, ts, dur, more) \
    "{\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":\"" ts \
    "\",\"dur\":" dur more ",\"ph\":\"X\"},\n"
#define STEP(id, ts, dur) \
    X ("1", "1", "ProfilerStep#" id, ts, dur, ",\"cat\":\"cpu_op\"")
#define FLOW(ph, id, pid, tid, ts) \
    "{\"ph\":\"" ph "\",\"name\":\"HostToDevice" id "\",\"id\":\"" id \
    "\",\"cat\":\"HostToDevice\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":\"" \
    ts "\"},\n"
#define ROW(pid, name, ts, dur) X (pid, "0", name, ts, dur, "")
#define TASK(tid, name, ts, dur, size, link) \
    X ("20", tid, name, ts, dur, ",\"args\":{\"task type\":\"" name \
       "\",\"src rank\":0,\"dst rank\":1,\"transport type\":\"SDMA\"," \
       "\"size(Byte)\":" size ",\"link type\":\"" link "\"}")

/* The usual processes of one device. */
#define PROCESSES(comm, label) \
    LABEL ("1", "Python", "CPU") LABEL ("10", "Overlap Analysis", label) \
    LABEL ("20", comm, label) LABEL ("30", "Ascend Hardware", label) \
    THREAD ("20", "0", "Group group_name_0 Communication") \
    THREAD ("20", "1", "Plane 0") THREAD ("20", "2", "Plane 1")
#define GROUP "5862276093215481612"     // of group_name_0
#define END "{\"ph\":\"M\",\"name\":\"end\",\"pid\":1}"

#define TRACE "ASCEND_PROFILER_OUTPUT/trace_view.json"

/* A new capture, of torch_npu or of msprof. */
static void new_capture (const char *name)
{
    assert_int_equal (fileio_remove_tree (capture_chosen (), NULL), 0);
    capture_choose (name);
    assert_int_equal (fileio_mkdirs (capture_chosen (), 0700, NULL), 0);
}

static void put_trace (const char *text)
{
    capture_put (TRACE, text);
}

/* communication_matrix.json with these links of step 7. */
static void put_matrix (const char *links)
{
    char text[256];

    (void)snprintf (text, sizeof (text), "{\"step7\": {\"p2p\": {%s}, "
                    "\"collective\": {}}}", links);
    capture_put ("ASCEND_PROFILER_OUTPUT/communication_matrix.json", text);
}

/* Rows as text: each with the first letter of its table. */
struct kept {
    char text[8192];
    enum table_id only;
};

static void keep_row (struct kept *k, const struct batch *b, uint32_t i)
{
    const struct table *t = schema_table (b->table);
    size_t used = strlen (k->text), n;

    for (unsigned c = 0; c < t->ncolumns && used < sizeof (k->text); c++) {
        const char *s = b->text[c] ? batch_text_at (b, b->text[c][i], &n)
                                   : NULL;

        if (b->text[c])
            used += (size_t)snprintf (k->text + used, sizeof (k->text) - used,
                                      "%s%s", c ? " " : "", s ? s : "NULL");
        else
            used += (size_t)snprintf (k->text + used, sizeof (k->text) - used,
                                      "%s%.10g", c ? " " : "", b->real[c][i]);
    }
    if (used < sizeof (k->text))
        (void)snprintf (k->text + used, sizeof (k->text) - used, "\n");
}

static int keep_rows (void *arg, const struct batch *b, struct err *err)
{
    struct kept *k = arg;

    (void)err;
    for (uint32_t i = 0; b->table == k->only && i < b->nrows; i++)
        keep_row (k, b, i);
    return 0;
}

#define INCOMPLETE CAPTURE_STATES       // partial or failed

/* What the capture gives for a table, and how it is judged. */
static void check (enum table_id table, const char *rows,
                   enum capture_state state, const char *reason)
{
    struct kept k = { .only = table };
    const struct row_sink sink = { keep_rows, sink_forget_nothing, &k };
    struct capture c;

    assert_int_equal (capture_read (&sink, &c), 0);
    if (rows)
        assert_string_equal (k.text, rows);
    if ((state == INCOMPLETE ? c.state == CAPTURE_COMPLETE : c.state != state) ||
        !strstr (c.reason, reason))
        fail_msg ("state %s, \"%s\"", capture_state_name (c.state), c.reason);
    capture_fini (&c);
}

static const char two_steps[] =
    "[" STEP ("7", "1000", "100") STEP ("8", "1100", "100.5")
    PROCESSES ("HCCL", "NPU")
    // the first launch of step 7 has no kernel, the second has two
    FLOW ("s", "90", "40", "1", "1001")
    FLOW ("s", "91", "40", "1", "1010") FLOW ("s", "92", "40", "1", "1090")
    FLOW ("s", "93", "40", "1", "1150")
    X ("30", "2", "k", "1030", "5", "") FLOW ("f", "91", "30", "2", "1030")
    X ("30", "2", "k", "1025", "5", "") FLOW ("f", "91", "30", "2", "1025")
    X ("30", "2", "k", "1110", "40", "") FLOW ("f", "92", "30", "2", "1110")
    X ("30", "2", "k", "1160", "1", "") FLOW ("f", "93", "30", "2", "1160")
    // before, in, and behind the range of step 7: [1025, 1150)
    ROW ("10", "Computing", "1024.999", "1") ROW ("10", "Computing", "1025", "10")
    ROW ("10", "Communication", "1030", "20")
    ROW ("10", "Communication(Not Overlapped)", "1035", "15")
    ROW ("10", "Free", "1050", "60") ROW ("10", "Computing", "1110", "40")
    // of step 8 only: [1160, 1200.5)
    ROW ("10", "Computing", "1160", "1") END "]";

/* Device ranges come from the first and last launch that have kernels. */
static void test_steps (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace (two_steps);
    check (TABLE_STEP, "nan 7 50 15 5 20 60 125 0 15 25\n"
                       "nan 8 1 0 0 0 0 1 0 0 60\n", CAPTURE_COMPLETE, "");
    check (TABLE_STEP_EXTRA, "nan 7 1000 1100 nan\nnan 8 1100 1200.5 nan\n",
           CAPTURE_COMPLETE, "");
}

/* A step in which nothing was launched has no rows, and takes none from those
 * beside it; only where there are no flows at all its host's range counts.
 */
static void test_step_without_launch (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace (
        "[" STEP ("7", "1000", "100") STEP ("8", "1100", "100")
        STEP ("9", "1200", "100") PROCESSES ("HCCL", "NPU")
        FLOW ("s", "91", "40", "1", "1010") FLOW ("s", "93", "40", "1", "1250")
        X ("30", "2", "k", "1030", "5", "") FLOW ("f", "91", "30", "2", "1030")
        X ("30", "2", "k", "1260", "5", "") FLOW ("f", "93", "30", "2", "1260")
        ROW ("10", "Computing", "1030", "10")
        ROW ("10", "Computing", "1150", "9")
        ROW ("10", "Computing", "1260", "4")
        X ("20", "0", "hcom_allReduce__612_0_1", "1160", "5", "") END "]");
    check (TABLE_STEP, "nan 7 10 0 0 0 0 10 0 0 30\n"
                       "nan 9 4 0 0 0 0 4 0 0 60\n", INCOMPLETE, "");
    check (TABLE_TIME, "", INCOMPLETE, "");
    check (TABLE_STEP_EXTRA, "nan 7 1000 1100 nan\nnan 8 1100 1200 nan\n"
                             "nan 9 1200 1300 nan\n", INCOMPLETE, "");
}

/* The same events in the reverse order: what was not known when its events
 * came needs a second pass, and the kernel's flow comes before its launch.
 */
static void test_any_order (void **state)
{
    char text[sizeof (two_steps)], *out = text;
    const char *end = two_steps + sizeof (two_steps) - 2;

    (void)state;
    *out++ = '[';
    out += sprintf (out, "%s", END);
    for (const char *p = strstr (two_steps, END) - 2; p > two_steps; p--) {
        if (p[-1] != '\n' && p != two_steps + 1)
            continue;
        end = strchr (p, '\n');
        out += sprintf (out, ",%.*s", (int)(end - p - 1), p);
    }
    (void)strcpy (out, "]");
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace (text);
    check (TABLE_STEP, "nan 7 50 15 5 20 60 125 0 15 25\n"
                       "nan 8 1 0 0 0 0 1 0 0 60\n", CAPTURE_COMPLETE, "");
}

/* Pruned of its flows: the host's range stands for the device's. */
#define FAR 6000                // kernels: more than are kept at a time

/* Kernels far from their flows, 'first' of these: the end of the step is where
 * that of its last launch ends, and of no other one.
 */
static void check_far (const char *first, const char *last)
{
    size_t used, max = 400 * FAR;
    char *text = malloc (max);

    assert_non_null (text);
    used = (size_t)snprintf (text, max, "[" STEP ("7", "10000", "9000")
                             STEP ("8", "19000", "1000")
                             PROCESSES ("HCCL", "NPU")
                             FLOW ("s", "9", "40", "1", "18999")
                             FLOW ("s", "8", "40", "1", "19500") "%s", first);
    for (int i = 0; i < FAR; i++)
        used += (size_t)snprintf (
            text + used, max - used, FLOW ("s", "%d", "40", "1", "%d")
            FLOW ("f", "%d", "30", "2", "%d") X ("30", "2", "k", "%d", "1", ""),
            100 + i, 100 + i, 11000 + i, 100 + i, 100 + i, 11001 + i,
            11001 + i);
    (void)snprintf (text + used, max - used, "%s"
                    ROW ("10", "Computing", "19400", "10")
                    ROW ("10", "Computing", "20500", "7") END "]", last);
    put_trace (text);
    free (text);
    check (TABLE_STEP, "nan 7 10 0 0 0 0 10 0 0 9400\n"
                       "nan 8 7 0 0 0 0 7 0 0 1500\n", CAPTURE_COMPLETE, "");
}

static void test_far (void **state)
{
    static const char flows[] =
        FLOW ("f", "9", "30", "2", "19100") FLOW ("f", "8", "30", "2", "20100");
    static const char kernels[] = X ("30", "2", "k", "19100", "350", "")
        X ("30", "2", "k", "20100", "500", "");

    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    check_far (flows, kernels);
    check_far (kernels, flows);
}

static void test_no_flows (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace ("[" STEP ("7", "1000", "100") PROCESSES ("HCCL", "NPU")
               ROW ("10", "Computing", "999", "5")
               ROW ("10", "Computing", "1040", "5")
               ROW ("10", "Computing", "1100", "5") END "]");
    check (TABLE_STEP, "nan 7 5 0 0 0 0 5 0 0 40\n", CAPTURE_COMPLETE, "");
}

/* New names, and two devices; receiving is bubble of its own device. */
static void test_devices (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace ("[" STEP ("7", "1000", "100")
               LABEL ("1", "Python", "CPU")
               LABEL ("11", "Overlap Analysis", "NPU 5")
               LABEL ("10", "Overlap Analysis", "NPU 3")
               LABEL ("20", "Communication", "NPU 3")
               THREAD ("20", "0", "Group group_name_0 Communication")
               ROW ("10", "Computing", "1010", "5")
               ROW ("10", "Communication", "1020", "30")
               ROW ("10", "Communication(Not Overlapped)", "1020", "30")
               X ("20", "0", "hcom_receive__612_0_1", "1020", "40", "")
               ROW ("11", "Computing", "1011", "6") END "]");
    check (TABLE_STEP, "3 7 5 30 0 30 0 10 40 0 10\n5 7 6 0 0 0 0 6 0 0 11\n",
           CAPTURE_PARTIAL, "CommAnalyzerBandwidth is missing");
    // without planes the op is all that is known
    check (TABLE_TIME, "hcom_receive__612_0_1 " GROUP " 1020 0.04 nan nan nan "
                       "nan step7 p2p\n", CAPTURE_PARTIAL, "");
}

/* At Level0 that is how it should be. */
static void test_level0 (void **state)
{
    static const char info[] =
        "{\"config\":{\"experimental_config\":{\"_profiler_level\":"
        "\"Level0\"}},\"rank_id\":0}";

    (void)state;
    capture_put ("profiler_info_0.json", info);
    check (TABLE_TIME, "hcom_receive__612_0_1 " GROUP " 1020 0.04 nan nan nan "
                       "nan step7 p2p\n", CAPTURE_COMPLETE, "Level0");
}

#define OPS \
    X ("20", "0", "hcom_allReduce__612_0_1", "1010", "10.5", "") \
    TASK ("2", "Notify_Wait", "1010", "2", "0", "ON_CHIP") \
    TASK ("2", "Memcpy", "1012", "4", "4000000", "HCCS") \
    TASK ("1", "Memcpy", "1013", "4.5", "1000000", "HCCS") \
    TASK ("2", "Notify_Wait", "1019", "1", "0", "ON_CHIP") \
    X ("20", "0", "hcom_send__612_1_1", "1021", "5", "") \
    TASK ("2", "Memcpy", "1021", "1", "8", "ON_CHIP") \
    TASK ("2", "Notify_Wait", "1026", "1", "8", "ON_CHIP") \
    TASK ("2", "Notify_Wait", "1090", "1", "8", "ON_CHIP")

/* What all of OPS come to. */
static void check_ops (void)
{
    check (TABLE_TIME, "hcom_allReduce__612_0_1 " GROUP " 1010 0.0105 0.004 "
                       "0.003 0.002 0.0035 step7 collective\n"
                       "hcom_send__612_1_1 " GROUP " 1021 0.005 0 0.001 0.001 "
                       "0.004 step7 p2p\n", CAPTURE_COMPLETE, "");
    check (TABLE_BANDWIDTH, "hcom_allReduce__612_0_1 " GROUP " HCCS 5 0.0085 "
                            "588.2353 0 4 1 0.004 step7 collective\n"
                            "hcom_allReduce__612_0_1 " GROUP " HCCS 5 0.0085 "
                            "588.2353 0 1 1 0.0045 step7 collective\n"
                            "hcom_allReduce__612_0_1 " GROUP " SDMA 5 0.0085 "
                            "588.2353 0 0 0 0 step7 collective\n",
           CAPTURE_COMPLETE, "");
    check (TABLE_MATRIX, "send-top1 " GROUP " 0 1 LOCAL 8e-06 0.001 0.008 "
                         "step7 p2p hcom_send__612_1_1\n"
                         "send-middle " GROUP " 0 1 LOCAL 8e-06 0.001 0.008 "
                         "step7 p2p hcom_send__612_1_1\n"
                         "send-bottom1 " GROUP " 0 1 LOCAL 8e-06 0.001 0.008 "
                         "step7 p2p hcom_send__612_1_1\n"
                         "send-total " GROUP " 0 1 LOCAL 8e-06 0.001 0.008 "
                         "step7 p2p \n"
                         "allreduce-top1 " GROUP " 0 1 HCCS 5 0.0085 588.2353 "
                         "step7 collective hcom_allReduce__612_0_1\n"
                         "allreduce-middle " GROUP " 0 1 HCCS 5 0.0085 "
                         "588.2353 step7 collective hcom_allReduce__612_0_1\n"
                         "allreduce-bottom1 " GROUP " 0 1 HCCS 5 0.0085 "
                         "588.2353 step7 collective hcom_allReduce__612_0_1\n"
                         "allreduce-total " GROUP " 0 1 HCCS 5 0.0085 "
                         "588.2353 step7 collective \n",
           CAPTURE_COMPLETE, "");
}

/* Tasks belong to the op in which they begin, its end included; what is in
 * none is nobody's.
 */
static void test_ops (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace ("[" STEP ("7", "1000", "100") PROCESSES ("HCCL", "NPU") OPS
               ROW ("10", "Computing", "1010", "5") END "]");
    check_ops ();
}

/* A plane whose tasks are in several threads, as if they were in one. */
static void test_planes (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace ("[" STEP ("7", "1000", "100") PROCESSES ("HCCL", "NPU")
               THREAD ("20", "3", "Plane 1") THREAD ("20", "4", "Plane 0")
               THREAD ("20", "5", "Plane 1") THREAD ("20", "6", "other")
               X ("20", "0", "hcom_allReduce__612_0_1", "1010", "10.5", "")
               TASK ("6", "Memcpy", "1010", "2", "77", "HCCS")
               TASK ("5", "Notify_Wait", "1010", "2", "0", "ON_CHIP")
               TASK ("2", "Memcpy", "1012", "4", "4000000", "HCCS")
               TASK ("4", "Memcpy", "1013", "4.5", "1000000", "HCCS")
               TASK ("3", "Notify_Wait", "1019", "1", "0", "ON_CHIP")
               X ("20", "0", "hcom_send__612_1_1", "1021", "5", "")
               TASK ("3", "Memcpy", "1021", "1", "8", "ON_CHIP")
               TASK ("2", "Notify_Wait", "1026", "1", "8", "ON_CHIP")
               TASK ("5", "Notify_Wait", "1090", "1", "8", "ON_CHIP")
               ROW ("10", "Computing", "1010", "5") END "]");
    check_ops ();
}

/* More tasks than memory is for: the ops of the last ones get theirs. */
static void test_many_tasks (void **state)
{
    static const char task[] = TASK ("2", "Memcpy", "1", "2", "3", "HCCS");
    static const char head[] = "[" STEP ("7", "1000", "100")
        PROCESSES ("HCCL", "NPU");
    static const char tail[] = OPS ROW ("10", "Computing", "1010", "5") END "]";
    const size_t n = TIMELINE_TASKS_KEPT - 2, size = sizeof (task) - 1;
    char *text = malloc (sizeof (head) + n * size + sizeof (tail)), *p = text;

    (void)state;
    assert_non_null (text);
    p = mempcpy (p, head, sizeof (head) - 1);
    for (size_t i = 0; i < n; i++)
        p = mempcpy (p, task, size);
    memcpy (p, tail, sizeof (tail));
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace (text);
    check_ops ();
    free (text);
}

/* Ops outside of all steps count with one step, and not with several. */
static void test_ops_of_steps (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace ("[" STEP ("7", "1000", "10") STEP ("8", "1015", "100")
               PROCESSES ("HCCL", "NPU")
               X ("20", "0", "hcom_send__612_0_1", "1012", "1", "")
               X ("20", "0", "hcom_send__612_1_1", "1115", "1", "")
               X ("20", "0", "hcom_send__612_2_1", "1010", "1", "") END "]");
    check (TABLE_TIME, "hcom_send__612_2_1 " GROUP " 1010 0.001 nan nan nan "
                       "nan step7 p2p\n"
                       "hcom_send__612_1_1 " GROUP " 1115 0.001 nan nan nan "
                       "nan step8 p2p\n", CAPTURE_PARTIAL, "");
    // "Group 0": a number instead of the communicator, which is not known
    put_trace ("[" STEP ("7", "1000", "10") LABEL ("20", "HCCL", "NPU")
               THREAD ("20", "0", "Group 0 Communication")
               X ("20", "0", "hcom_send__612_0_1", "1112", "1", "") END "]");
    check (TABLE_TIME, "hcom_send__612_0_1 NULL 1112 0.001 nan nan nan nan "
                       "step7 p2p\n", CAPTURE_PARTIAL, "");
    // unless the matrix beside it names the only one that it can be
    put_matrix ("\"send-top1@" GROUP "\": {}, \"send-top1@5\": {}");
    check (TABLE_TIME, "hcom_send__612_0_1 " GROUP " 1112 0.001 nan nan nan "
                       "nan step7 p2p\n", CAPTURE_PARTIAL, "");
    put_matrix ("\"send-top1@" GROUP "\": {}, \"send-top1@1612\": {}");
    check (TABLE_TIME, "hcom_send__612_0_1 NULL 1112 0.001 nan nan nan nan "
                       "step7 p2p\n", CAPTURE_PARTIAL, "");
}

#define SLICE(n) "msprof_slice_" n "_20251127123437.json"

/* msprof's own export: no steps, in slices, an older one beside it.  Its step
 * is what the rows add up to, and what is negative stays so.
 */
static void test_msprof (void **state)
{
    static const char first[] = "[" LABEL ("10", "Overlap Analysis", "NPU")
        LABEL ("20", "HCCL", "NPU")
        THREAD ("20", "0", "Group group_name_0 Communication")
        ROW ("10", "Computing", "10", "5") END "]";
    static const char second[] = "[" ROW ("10", "Free", "15", "10")
        ROW ("10", "Communication", "25", "4")
        ROW ("10", "Communication(Not Overlapped)", "25", "4")
        X ("20", "0", "hcom_receive__612_0_1", "25", "6", "") END "]";

    (void)state;
    new_capture ("PROF_000001_20251127123437386_ABC");
    capture_put ("mindstudio_profiler_output/msprof_20241127123437.json", "[");
    capture_put ("mindstudio_profiler_output/" SLICE ("1"), second);
    capture_put ("mindstudio_profiler_output/" SLICE ("0"), first);
    check (TABLE_STEP, "nan NULL 5 4 0 4 10 13 6 -2 nan\n", CAPTURE_PARTIAL,
           "");
    check (TABLE_TIME, "hcom_receive__612_0_1 " GROUP " 25 0.006 nan nan nan "
                       "nan step p2p\n", CAPTURE_PARTIAL, "");
    // sums without a slice would be wrong
    capture_put ("mindstudio_profiler_output/" SLICE ("3"), "[]");
    check (TABLE_STEP, "nan NULL 5 4 0 4 10 13 6 -2 nan\n", CAPTURE_PARTIAL,
           "slice 2 of the timeline is missing (");
}

/* Of 2023: rows are made of the tasks that compute, whatever their order, and of
 * the ops; waiting and records are neither.
 */
#define KERNEL(name, type, ts, dur) \
    X ("30", "2", name, ts, dur, ",\"args\":{\"Task Type\":\"" type "\"}")
#define NO_OVERLAP \
    LABEL ("1", "Python", "CPU") LABEL ("20", "HCCL", "NPU") \
    LABEL ("30", "Ascend Hardware", "NPU") \
    THREAD ("20", "0", "Group group_name_0 Communication")
#define MADE "the timeline has no overlap analysis"

static void test_no_overlap (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace (
        "[" STEP ("7", "1000", "100") STEP ("8", "1100", "100") NO_OVERLAP
        KERNEL ("wait", "EVENT_WAIT_SQE", "1000", "900")
        KERNEL ("allreduceAivKernel", "AI_VECTOR_CORE", "1000", "900")
        KERNEL ("b", "AI_CPU", "1015", "10")
        KERNEL ("a", "AI_CORE", "1010", "10")
        X ("30", "2", "mark", "1000", "50", "")
        KERNEL ("c", "MIX_AIV", "1040", "5")
        KERNEL ("d", "DSA_SQE", "1150", "4")
        X ("20", "0", "hcom_allReduce__612_0_1", "1020", "15", "") END "]");
    // [1010,1025) and [1040,1045) compute, [1020,1035) communicates; idle time
    // is of the step in which it begins, as the profiler's rows of it are; a
    // mark of that process (here without a type) is no task
    check (TABLE_STEP, "nan 7 20 10 5 15 110 140 0 10 10\n"
                       "nan 8 4 0 0 0 0 4 0 0 50\n", CAPTURE_PARTIAL, MADE);
    // one task beside three ops, and one beside none: of each op's time only what
    // is not its task's is not overlapped
    put_trace ("[" STEP ("7", "1000", "100") NO_OVERLAP
               KERNEL ("a", "AI_CORE", "1010", "30")
               KERNEL ("b", "AI_CORE", "1060", "5")
               X ("20", "0", "hcom_allReduce__612_0_1", "1000", "15", "")
               X ("20", "0", "hcom_allReduce__612_1_1", "1020", "5", "")
               X ("20", "0", "hcom_allReduce__612_2_1", "1035", "15", "") END
               "]");
    check (TABLE_STEP, "nan 7 35 20 15 35 10 65 0 20 0\n", CAPTURE_PARTIAL,
           MADE);
    // a device that names no types: nothing is made up
    put_trace ("[" STEP ("7", "1000", "100") NO_OVERLAP
               KERNEL ("a", "AI_CPU", "1010", "10")
               KERNEL ("b", "Other", "1020", "10") END "]");
    check (TABLE_STEP, "", CAPTURE_FAILED,
           MADE ", and the kind of 1 task");
}

/* What torch_npu exported alone is a capture of one file, in an object too. */
static void test_alone (void **state)
{
    static const char steps[] = "nan 7 50 15 5 20 60 125 0 15 25\n"
                                "nan 8 1 0 0 0 0 1 0 0 60\n";
    char wrapped[sizeof (two_steps) + 128];

    (void)state;
    new_capture ("alone");
    capture_put ("npu.json", two_steps);
    (void)snprintf (wrapped, sizeof (wrapped),
                    "{\"schemaVersion\":1,\"traceEvents\":%s,\"x\":[{}]}",
                    two_steps);
    capture_put ("object.json", wrapped);
    capture_choose ("alone/npu.json");
    check (TABLE_STEP, steps, CAPTURE_COMPLETE, "");
    capture_choose ("alone/object.json");
    check (TABLE_STEP, steps, CAPTURE_COMPLETE, "");
    capture_choose ("alone");
}

/* Cut anywhere it is damaged, at that byte; what came before it counts. */
static void test_truncated (void **state)
{
    size_t n = sizeof (two_steps) - 1;
    char why[64];

    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    for (size_t size = 1; size < n; size += size < n - 40 ? 17 : 1) {
        capture_put_bytes (TRACE, two_steps, size);
        check (TABLE_STEP, NULL, INCOMPLETE, "trace_view.json: byte");
    }
    capture_put_bytes (TRACE, two_steps, n - 1);
    (void)snprintf (why, sizeof (why), "byte %zu: the file ends", n - 1);
    check (TABLE_STEP, "nan 7 50 15 5 20 60 125 0 15 25\n"
                       "nan 8 1 0 0 0 0 1 0 0 60\n", CAPTURE_PARTIAL, why);
}

/* A row or op whose times cannot be would be missed in the sums. */
static void test_times (void **state)
{
#define WITH(row) "[" PROCESSES ("HCCL", "NPU") ROW ("10", "Computing", "10", \
                                                     "5") row END "]"
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    put_trace (WITH (ROW ("10", "Computing", "20", "-5")));
    check (TABLE_STEP, "nan NULL 5 0 0 0 0 5 0 0 0\n", CAPTURE_PARTIAL,
           "1 event with impossible times");
    put_trace (WITH (ROW ("10", "Free", "18446744073709551.615", "5")));
    check (TABLE_STEP, "nan NULL 5 0 0 0 0 5 0 0 0\n", CAPTURE_PARTIAL,
           "1 event with impossible times");
    put_trace (WITH (ROW ("10", "Other", "20", "-5")));
    check (TABLE_STEP, "nan NULL 5 0 0 0 0 5 0 0 0\n", CAPTURE_COMPLETE, "");
}

static void check_bad (const char *text, const char *reason)
{
    put_trace (text);
    check (TABLE_STEP, "", CAPTURE_FAILED, reason);
}

/* What is passed over fast is not read as JSON, but its shape is checked. */
static void test_bad (void **state)
{
    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
#define ARGS(args) "[" LABEL ("1", "Python", "CPU") \
    "{\"ph\":\"X\",\"pid\":1,\"args\":" args "}]"
    check_bad (ARGS ("{\"a\":[1}"), "'}' where ']' was expected");
    check_bad (ARGS ("{\"a\":{1]}"), "']' where '}' was expected");
    check_bad (ARGS ("{\"a\":\"\n\"}"), "control character in a string");
    check_bad (ARGS ("{\"a\":\xc3\xa4}"), "a byte that belongs to no value");
    check_bad (ARGS ("{\"a\":\\\"}"), "a byte that belongs to no value");
    check_bad (ARGS ("{\"a\":\"\\\"}"), "the file ends within an object");
    check_bad (ARGS ("{\"a\":1}}"), "where ',' or ']' was expected");
    check_bad (ARGS ("{\"a\":1}") "]", "the end of the file");
    check_bad (ARGS ("{\"a\":1}") "x", "the end of the file");
    check_bad ("{\"ph\":1}", "there are no \"traceEvents\"");
    check_bad ("{\"traceEvents\":[],}", "where a key in quotes was expected");
    check_bad ("1", "where an array was expected");
    check_bad ("[{\"ph\":1}]", "where a string was expected");
    check_bad ("[{\"ts\":\"" "12345678901234567890123456789012" "\"}]",
               "a time has 32 characters");
    check_bad ("[1]", "where an object was expected");
}

/* Strings with escapes of any length, across all borders of 64 bytes: a quote
 * too many or too few would end the event elsewhere.
 */
static void test_escapes (void **state)
{
    static const char *const pieces[] = { "\\\\", "\\\"", "\\n", "{", "]",
                                          "\\\\\\\"", "x" };
    char text[4096], *p;

    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    for (size_t fill = 0; fill < 130; fill++) {
        p = text + sprintf (text, "[" PROCESSES ("HCCL", "NPU")
                            "{\"ph\":\"X\",\"pid\":1,\"args\":{\"a\":\"");
        for (size_t i = 0; i < fill; i++)
            *p++ = 'x';
        for (size_t i = 0; i < 60; i++)
            p += sprintf (p, "%s", pieces[(i * i + fill) % 7]);
        (void)sprintf (p, "\",\"b\":[{\"c\":{}},[]]}},%s",
                       ROW ("10", "Computing", "10", "5") END "]");
        put_trace (text);
        check (TABLE_STEP, "nan NULL 5 0 0 0 0 5 0 0 0\n", CAPTURE_COMPLETE,
               "");
    }
}

/* A program's garbage collections, where the profiler was told to note them:
 * then the timeline is read also if nothing else is to be had of it.
 */
static void test_collections (void **state)
{
    static const char trace[] =
        "[" PROCESSES ("Communication", "NPU 3") STEP ("7", "1000.0", "100.0")
        X ("5", "1", "GC", "1010.5", "2.5", ",\"cat\":\"GC\"")
        X ("5", "1", "GC", "1005.0", "1.0", ",\"cat\":\"GC\"") END "]";

    (void)state;
    new_capture ("a_1_20251127123437386_ascend_pt");
    capture_put ("ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
                 "Step,Computing,Communication(Not Overlapped),Overlapped,"
                 "Communication,Free,Stage,Bubble,Communication(Not "
                 "Overlapped and Exclude Receive)\n7,1,0,0,0,0,0,0,0\n");
    put_trace (trace);
    check (TABLE_RANGE, "", CAPTURE_COMPLETE, "");
    capture_put ("profiler_info_0.json", "{\"config\":{"
                 "\"experimental_config\":{\"_profiler_level\":\"Level1\","
                 "\"_gc_detect_threshold\":0.5}}}");
    check (TABLE_RANGE, "gc NULL garbage collection 2 3.5 1 2.5 1005\n",
           CAPTURE_COMPLETE, "");
}

int main (void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_steps),
        cmocka_unit_test (test_step_without_launch),
        cmocka_unit_test (test_collections),
        cmocka_unit_test (test_any_order),  cmocka_unit_test (test_far),
        cmocka_unit_test (test_no_flows),   cmocka_unit_test (test_devices),
        cmocka_unit_test (test_level0),     cmocka_unit_test (test_ops),
        cmocka_unit_test (test_planes),     cmocka_unit_test (test_many_tasks),
        cmocka_unit_test (test_ops_of_steps),
        cmocka_unit_test (test_no_overlap),
        cmocka_unit_test (test_msprof),     cmocka_unit_test (test_alone),
        cmocka_unit_test (test_truncated),  cmocka_unit_test (test_times),
        cmocka_unit_test (test_bad),        cmocka_unit_test (test_escapes),
    };

    return cmocka_run_group_tests (tests, capture_setup, capture_teardown);
}
