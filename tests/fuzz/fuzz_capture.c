/* tests/fuzz/fuzz_capture.c - foreign files of a capture
 *
 * The first byte says which file the rest is; the capture around it has
 * nothing else, or, with the upper half of the byte's values, a step.  Whatever
 * comes, the capture gets a state and a reason, and rows that are given lie
 * within their batches.
 */
#include "fuzz_dir.h"
#include "fuzz_extract.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define STEPS "ASCEND_PROFILER_OUTPUT/step_trace_time.csv"

static const char step[] =
    "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,"
    "Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive)\n"
    "13,1,0,0,0,0,0,0,0\n";

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "ASCEND_PROFILER_OUTPUT/communication.json",
        "ASCEND_PROFILER_OUTPUT/communication_matrix.json",
        STEPS,
        "ASCEND_PROFILER_OUTPUT/analysis.db",
        "profiler_info_0.json",
        "profiler_metadata.json",
        "ASCEND_PROFILER_OUTPUT/op_statistic.csv",
        "ASCEND_PROFILER_OUTPUT/api_statistic.csv",
        "ASCEND_PROFILER_OUTPUT/memory_record.csv",
        "ASCEND_PROFILER_OUTPUT/npu_module_mem.csv",
        "ASCEND_PROFILER_OUTPUT/timeline.json",
        "ASCEND_PROFILER_OUTPUT/timeline.raw.json.gz",
        "ASCEND_PROFILER_OUTPUT/hccs.csv",
        "ASCEND_PROFILER_OUTPUT/nic.csv",
    };
    struct fuzz_rows_seen seen = { 0, 0 };
    const char *name;

    if (size == 0)
        return 0;
    name = names[(data[0] & 127) % (sizeof (names) / sizeof (names[0]))];
    fuzz_mkdir ("ASCEND_PROFILER_OUTPUT");
    if (data[0] > 127)
        fuzz_write (STEPS, step, sizeof (step) - 1);
    fuzz_write (name, data + 1, size - 1);
    fuzz_extract (fuzz_dir (), &seen);
    fuzz_remove (name);
    if (data[0] > 127 && strcmp (name, STEPS) != 0)
        fuzz_remove (STEPS);
    return 0;
}
