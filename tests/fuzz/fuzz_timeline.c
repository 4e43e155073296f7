/* tests/fuzz/fuzz_timeline.c - timelines
 *
 * The input is a capture's trace_view.json.  Whatever comes, the capture gets a
 * state and a reason.  And what the strict scanner passes over, the quick one
 * passes over too, to the same byte.
 */
#include "fuzz_dir.h"
#include "fuzz_extract.h"
#include "json/scan.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define OUT "ASCEND_PROFILER_OUTPUT"
#define TRACE OUT "/trace_view.json"

struct input {
    const uint8_t *data;
    size_t size;
};

static ssize_t read_input (void *arg, void *buf, size_t size)
{
    struct input *in = arg;

    if (size > in->size)
        size = in->size;
    memcpy (buf, in->data, size);
    in->data += size;
    in->size -= size;
    return (ssize_t)size;
}

/* Where the first value ends; 0 if it is not well-formed. */
static uint64_t end_of_value (const uint8_t *data, size_t size,
                              bool (*skip) (struct scan *s))
{
    struct input in = { data, size };
    uint64_t end = 0;
    struct scan s;

    if (scan_init (&s, read_input, &in) < 0)
        abort ();
    if (skip (&s))
        end = scan_offset (&s);
    else if (!s.err.text[0])
        abort ();
    scan_fini (&s);
    return end;
}

static void compare_skips (const uint8_t *data, size_t size)
{
    uint64_t strict = end_of_value (data, size, scan_skip);

    if (strict > 0 && end_of_value (data, size, scan_skip_quick) != strict)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct fuzz_rows_seen seen = { 0, 0 };

    compare_skips (data, size);
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '{') {
            compare_skips (data + i, size - i);
            break;
        }
    }
    fuzz_mkdir (OUT);
    fuzz_write (TRACE, data, size);
    fuzz_extract (fuzz_dir (), &seen);
    return 0;
}
