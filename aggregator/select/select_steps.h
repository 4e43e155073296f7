/* aggregator/select/select_steps.h - check that each rank has all its steps
 *
 * The rules are in doc/jobs.md, "Steps".
 */
#ifndef ROLLCALL_SELECT_SELECT_STEPS_H
#define ROLLCALL_SELECT_SELECT_STEPS_H

#include "base/err.h"
#include "select/capture_select.h"

#include <sqlite3.h>

/* Call it with all captures of a job, after deciding which count.  A capture
 * becomes partial if it lacks a step that other ranks did while it was
 * recorded; one with steps that no other rank has gets a reason.  0 or -ENOMEM.
 */
int select_check_steps (struct select_item *items, size_t n);

/* Mark the steps that profiling itself lengthened (StepExtra.profiler_edge),
 * and with 'leave_out' exclude them from means and findings (LeftOut).
 */
int select_mark_edges (sqlite3 *db, const struct select_item *items, size_t n,
                       bool leave_out, struct err *err);

#endif
