/* tests/fuzz/fuzz_kineto.c - a trace of torch.profiler
 *
 * The first byte says how the rest is taken: as the trace itself, as what is in
 * a gzip file, or as the bytes of one.  Whatever comes, the capture gets a
 * state and a reason, and not more rows than so many bytes can tell.
 */
#include "extract/extract.h"
#include "fuzz_dir.h"
#include "fuzz_rows.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define NAME "rank0.pt.trace.json"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void write_gzip (const uint8_t *data, size_t size)
{
    size_t room = size + size / 1000 + 128;
    uint8_t *out = malloc (room);
    z_stream z;

    memset (&z, 0, sizeof (z));
    if (!out || deflateInit2 (&z, 1, Z_DEFLATED, MAX_WBITS + 16, 8,
                              Z_DEFAULT_STRATEGY) != Z_OK)
        abort ();
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    if (deflate (&z, Z_FINISH) != Z_STREAM_END)
        abort ();
    fuzz_write (NAME, out, room - z.avail_out);
    (void)deflateEnd (&z);
    free (out);
}

static void read_it (const char *path, bool look, struct fuzz_rows_seen *seen)
{
    const struct row_sink sink = fuzz_rows (seen);
    struct extract_look what;
    struct capture c;
    int rc;

    capture_init (&c);
    rc = look ? extract_look (path, &c, &what, NULL)
              : extract_capture (path, NULL, &sink, &c, NULL);
    if (rc < 0 || (c.state != CAPTURE_COMPLETE && !c.reason[0]))
        abort ();               // a person would not know why
    capture_fini (&c);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct fuzz_rows_seen seen = { 0, 0 };
    char path[PATH_MAX];

    if (size == 0)
        return 0;
    if (data[0] % 4 == 1)
        write_gzip (data + 1, size - 1);
    else
        fuzz_write (NAME, data + 1, size - 1);
    read_it (fuzz_path (path, NAME), true, &seen);
    read_it (fuzz_path (path, NAME), false, &seen);
    // a link of an all-to-all needs no byte of its own
    if (data[0] % 4 == 0 && seen.rows > 40 * size + 16)
        abort ();
    fuzz_remove (NAME);
    return 0;
}
