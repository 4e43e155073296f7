/* node_agent/extract/rows/step_rows.h - write rows of StepTraceTime and
 * StepExtra from sums in ns
 */
#ifndef ROLLCALL_EXTRACT_ROWS_STEP_ROWS_H
#define ROLLCALL_EXTRACT_ROWS_STEP_ROWS_H

#include "model/batch.h"

#include <stdbool.h>

/* The sums for the columns of a step, in ns.  They are doubles, so that no sum
 * of values in a damaged file overflows.
 */
struct step_sums {
    const char *id;             // "" or NULL: the capture has no steps
    double device;              // NaN: not known
    double computing, communication, overlapped;
    double idle, span, bubble;  // 'span' without 'bubble' is the stage
    double preparing;           // us; NaN: not known
    bool hidden;                // it is not known what computes, nor what is
                                // beside it
};

/* Append a row; the caller flushes a full batch. */
void step_row_put (struct batch *b, const struct step_sums *s);

/* Append a row of StepExtra: when the host was in the step, in us, and how long
 * it only moved memory; NaN: not known.
 */
void step_extra_put (struct batch *b, const char *id, double device,
                     double host_start, double host_end, double memory_only);

#endif
