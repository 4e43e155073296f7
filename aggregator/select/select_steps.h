/* aggregator/select/select_steps.h - has each rank all its steps
 *
 * The rules are in doc/jobs.md, "Steps".
 */
#ifndef ROLLCALL_SELECT_SELECT_STEPS_H
#define ROLLCALL_SELECT_SELECT_STEPS_H

#include "base/err.h"
#include "select/capture_select.h"

#include <sqlite3.h>

/* After it is known which captures count: one without a step that other ranks
 * have, and that it was there for, is partial; one whose steps are no other
 * rank's says so.  All captures of a job.  0 or -ENOMEM.
 */
int select_check_steps (struct select_item *items, size_t n);

/* Mark the steps that profiling itself made longer (StepExtra.profiler_edge),
 * and with 'leave_out' keep them out of means and findings (LeftOut).
 */
int select_mark_edges (sqlite3 *db, const struct select_item *items, size_t n,
                       bool leave_out, struct err *err);

#endif
