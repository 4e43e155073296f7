/* aggregator/export/trace.h - write a result as a trace for viewers
 *
 * The format is Chrome's trace event format, as Perfetto and chrome://tracing
 * read it.  Each rank is a process, with a track for its steps and one per
 * group for its communication ops.  Memory does not grow with the ops.
 */
#ifndef ROLLCALL_EXPORT_TRACE_H
#define ROLLCALL_EXPORT_TRACE_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct trace_options {
    bool raw_clocks;            // keep times as recorded
    int64_t rank;               // only this one; -1: all
    const char *step;           // only this one (its id), or NULL
};

struct trace_counts {
    int64_t ranks, missing;     // ranks in the roster
    int64_t ops, steps;         // events written
    int64_t untimed;            // ops and steps without a time
    int64_t crowded;            // spans that overlap others of their track
    int64_t aligned;            // ranks with a known clock offset
    double offset_ms;           // the largest of these offsets
};

/* Write to 'f'; check ferror for write errors.  -EIO and other errors of the
 * database; -ENODATA if nothing in it has a time.
 */
int trace_write (sqlite3 *db, const struct trace_options *opt, FILE *f,
                 struct trace_counts *ret, struct err *err);

#endif
