/* aggregator/select/select_verify.h - is each rank the one that it says it is
 *
 * A capture names its rank in up to seven places, and its ops have positions in
 * groups whose members are listed.  Where these disagree, files or directories
 * of two ranks were exchanged, or a profiler was told a wrong rank.  The rules
 * are in doc/jobs.md, "Rank".
 */
#ifndef ROLLCALL_SELECT_SELECT_VERIFY_H
#define ROLLCALL_SELECT_SELECT_VERIFY_H

#include "select/capture_select.h"

#include <stdbool.h>
#include <stddef.h>

/* After the captures of one job were read, before their rows count: which of
 * them are confirmed (items[i].verified), filed under another rank
 * (items[i].misfiled, or only renumbered), or of a rank that is in doubt
 * (items[i].doubt).  What is said of it is in their reasons, and is said again
 * when they are read again (select_take).  *again: ranks have changed, so that
 * rows are to be read again; the items are not sorted then.  What was judged
 * once is not judged again.  0 or -ENOMEM.
 */
int select_verify (struct select_item *items, size_t n, bool *again);

#endif
