/* tests/fuzz/fuzz_kernels.c - kernel_details.csv
 *
 * The input is the only file of a capture's results.  Whatever comes, the
 * capture gets a state and a reason.
 */
#include "fuzz_dir.h"
#include "fuzz_extract.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define OUT "ASCEND_PROFILER_OUTPUT"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct fuzz_rows_seen seen = { 0, 0 };

    fuzz_mkdir (OUT);
    fuzz_write (OUT "/kernel_details.csv", data, size);
    fuzz_extract (fuzz_dir (), &seen);
    return 0;
}
