/* node_agent/extract/rows/step_rows.h - rows of StepTraceTime and StepExtra,
 * of sums in ns
 */
#ifndef ROLLCALL_EXTRACT_ROWS_STEP_ROWS_H
#define ROLLCALL_EXTRACT_ROWS_STEP_ROWS_H

#include "model/batch.h"

#include <stdbool.h>

/* What the columns of a step come of, in ns: doubles, since no sum of what a
 * damaged file says is too large for them.
 */
struct step_sums {
    const char *id;             // "" or NULL: the capture has no steps
    double device;              // NaN: not known
    double computing, communication, overlapped;
    double idle, span, bubble;  // of 'span': all without 'bubble' is the stage
    double preparing;           // us; NaN: not known
    bool hidden;                // what computes is not known, nor what is
                                // beside it
};

/* Append a row; the caller flushes a batch that is full. */
void step_row_put (struct batch *b, const struct step_sums *s);

/* The same of StepExtra: when the host was in the step, in us, and how long it
 * did nothing but move memory; NaN: not known.
 */
void step_extra_put (struct batch *b, const char *id, double device,
                     double host_start, double host_end, double memory_only);

#endif
