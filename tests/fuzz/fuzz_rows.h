/* tests/fuzz/fuzz_rows.h - a sink that looks at all that comes */
#ifndef ROLLCALL_FUZZ_ROWS_H
#define ROLLCALL_FUZZ_ROWS_H

#include "model/batch.h"

struct fuzz_rows_seen {
    uint64_t rows;
    uint64_t sum;               // of texts
};

/* The sink reads each text of each row, so that a sanitizer sees one that is
 * not where the batch says, and abort()s when a batch has too many rows or a
 * text has no end.  '*seen' must outlive the sink.
 */
struct row_sink fuzz_rows (struct fuzz_rows_seen *seen);

#endif
