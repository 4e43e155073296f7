/* tests/fuzz/fuzz_forms.c - foreign files of MindSpore's captures, and of
 * those of the msprof program
 *
 * As fuzz_capture.c, where torch_npu's are.
 */
#include "fuzz_dir.h"
#include "fuzz_extract.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define MS "a_ascend_ms"
#define PROF "PROF_1_20250109161601_A"

static const struct {
    const char *capture, *dir, *file;
} files[] = {
    { PROF, PROF "/analyze", PROF "/analyze/communication.json" },
    { PROF, PROF "/analyze", PROF "/analyze/communication_matrix.json" },
    { PROF, PROF "/analyze", PROF "/analyze/communication_analyzer.db" },
    { PROF, PROF "/device_0", PROF "/device_0/info.json.0" },
    { MS, MS "/ASCEND_PROFILER_OUTPUT",
      MS "/ASCEND_PROFILER_OUTPUT/communication.json" },
    { MS, MS "/ASCEND_PROFILER_OUTPUT",
      MS "/ASCEND_PROFILER_OUTPUT/communication_matrix.json" },
    { MS, MS "/ASCEND_PROFILER_OUTPUT",
      MS "/ASCEND_PROFILER_OUTPUT/communication_analyzer.db" },
    { MS, MS, MS "/profiler_info_0.json" },
};

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct fuzz_rows_seen seen = { 0, 0 };
    char path[PATH_MAX];
    size_t which;

    if (size == 0)
        return 0;
    which = data[0] % (sizeof (files) / sizeof (files[0]));
    fuzz_mkdir (files[which].capture);
    fuzz_mkdir (files[which].dir);
    fuzz_write (files[which].file, data + 1, size - 1);
    fuzz_extract (fuzz_path (path, files[which].capture), &seen);
    fuzz_remove (files[which].capture);
    return 0;
}
