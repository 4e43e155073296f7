/* tests/fuzz/fuzz_extract.c - reading a capture, whatever is in it */
#include "fuzz_extract.h"

#include "extract/extract.h"

#include <stdlib.h>

void fuzz_extract (const char *path, struct fuzz_rows_seen *seen)
{
    const struct row_sink sink = fuzz_rows (seen);
    struct capture c;

    capture_init (&c);
    if (extract_capture (path, NULL, &sink, &c, NULL) < 0)
        abort ();
    if (c.state != CAPTURE_COMPLETE && !c.reason[0])
        abort ();
    capture_fini (&c);
}
