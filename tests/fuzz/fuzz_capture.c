/* tests/fuzz/fuzz_capture.c - foreign files of a capture
 *
 * The first byte says which file the rest is; the capture around it has
 * nothing else.  Whatever comes, the capture gets a state and a reason, and
 * rows that are given lie within their batches.
 */
#include "base/fileio.h"
#include "extract/extract.h"
#include "fuzz_rows.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static char dir[PATH_MAX / 2];

static void remove_dir (void)
{
    (void)fileio_remove_tree (dir, NULL);
}

static void make_dir (void)
{
    const char *tmp = getenv ("TMPDIR");
    char path[PATH_MAX];

    (void)snprintf (dir, sizeof (dir), "%s/rollcall-fuzz-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp (dir))
        abort ();
    (void)atexit (remove_dir);
    (void)snprintf (path, sizeof (path), "%s/ASCEND_PROFILER_OUTPUT", dir);
    if (fileio_mkdirs (path, 0700, NULL) < 0)
        abort ();
}

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
    uint64_t sum = 0;
    const struct row_sink sink = fuzz_rows (&sum);
    char path[PATH_MAX];
    struct capture c;
    FILE *f;

    if (size == 0)
        return 0;
    if (!dir[0])
        make_dir ();
    (void)snprintf (path, sizeof (path), "%s/%s", dir,
                    names[data[0] % (sizeof (names) / sizeof (names[0]))]);
    if (!(f = fopen (path, "wb")) ||
        fwrite (data + 1, 1, size - 1, f) != size - 1 || fclose (f) != 0)
        abort ();
    capture_init (&c);
    if (extract_capture (dir, NULL, &sink, &c, NULL) < 0)
        abort ();
    if (c.state != CAPTURE_COMPLETE && !c.reason[0])
        abort ();               // a person would not know why
    capture_fini (&c);
    (void)unlink (path);
    return 0;
}
