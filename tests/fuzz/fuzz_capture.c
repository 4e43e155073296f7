/* tests/fuzz/fuzz_capture.c - foreign files of a capture
 *
 * The first byte says which file the rest is; the capture around it has
 * nothing else.  Whatever comes, the capture gets a state and a reason, and
 * rows that are given lie within their batches.
 */
#include "extract/extract.h"
#include "fuzz_dir.h"
#include "fuzz_rows.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "ASCEND_PROFILER_OUTPUT/communication.json",
        "ASCEND_PROFILER_OUTPUT/communication_matrix.json",
        "ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
        "ASCEND_PROFILER_OUTPUT/analysis.db",
        "profiler_info_0.json",
        "profiler_metadata.json",
    };
    struct fuzz_rows_seen seen = { 0, 0 };
    const struct row_sink sink = fuzz_rows (&seen);
    const char *name;
    struct capture c;

    if (size == 0)
        return 0;
    name = names[data[0] % (sizeof (names) / sizeof (names[0]))];
    fuzz_mkdir ("ASCEND_PROFILER_OUTPUT");
    fuzz_write (name, data + 1, size - 1);
    capture_init (&c);
    if (extract_capture (fuzz_dir (), NULL, &sink, &c, NULL) < 0)
        abort ();
    if (c.state != CAPTURE_COMPLETE && !c.reason[0])
        abort ();               // a person would not know why
    capture_fini (&c);
    fuzz_remove (name);
    return 0;
}
