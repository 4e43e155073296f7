/* aggregator/select/select_names.h - ranks of traces that do not record them
 *
 * Private to this folder.
 */
#ifndef ROLLCALL_SELECT_SELECT_NAMES_H
#define ROLLCALL_SELECT_SELECT_NAMES_H

#include "select/capture_select.h"

/* Give a rank to the traces that have none (capture_select.h, select_plan). */
void select_name_ranks (struct select_item *items, size_t n);

/* Call it after reading: if no capture of the job has a rank, and all are of
 * one process and do not overlap in time, they get rank 0 of a world of 1, and
 * *again is set: read the rows again.  0 or -ENOMEM.
 */
int select_name_processes (struct select_item *items, size_t n, bool *again);

#endif
