/* tests/fuzz/fuzz_extract.h - reading a capture, whatever is in it */
#ifndef ROLLCALL_FUZZ_EXTRACT_H
#define ROLLCALL_FUZZ_EXTRACT_H

#include "fuzz_rows.h"

/* Read the capture at 'path' into fuzz_rows.  It has a state and, unless that
 * is complete, a reason: abort()s otherwise, a person would not know why.
 */
void fuzz_extract (const char *path, struct fuzz_rows_seen *seen);

#endif
