/* tests/fuzz/fuzz_kernels.c - kernel_details.csv
 *
 * The input is the only file of a capture's results.  Whatever comes, the
 * capture gets a state and a reason.
 */
#include "extract/extract.h"
#include "fuzz_dir.h"
#include "fuzz_rows.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define OUT "ASCEND_PROFILER_OUTPUT"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct fuzz_rows_seen seen = { 0, 0 };
    const struct row_sink sink = fuzz_rows (&seen);
    struct capture c;

    fuzz_mkdir (OUT);
    fuzz_write (OUT "/kernel_details.csv", data, size);
    capture_init (&c);
    if (extract_capture (fuzz_dir (), NULL, &sink, &c, NULL) < 0)
        abort ();
    if (c.state != CAPTURE_COMPLETE && !c.reason[0])
        abort ();
    capture_fini (&c);
    return 0;
}
