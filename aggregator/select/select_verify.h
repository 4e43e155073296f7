/* aggregator/select/select_verify.h - verify the ranks of captures
 *
 * A capture names its rank in up to seven places, and its ops have positions in
 * groups with known members.  If these disagree, files or directories of two
 * ranks were exchanged, or a profiler got a wrong rank.  The rules are in
 * doc/jobs.md, "Rank".
 */
#ifndef ROLLCALL_SELECT_SELECT_VERIFY_H
#define ROLLCALL_SELECT_SELECT_VERIFY_H

#include "select/capture_select.h"

#include <stdbool.h>
#include <stddef.h>

/* After the captures of a job were read, before their rows count: find which
 * are confirmed (items[i].verified), filed under another rank
 * (items[i].rank_contradicted, or only renumbered), or of a doubtful rank
 * (items[i].doubt).  Their reasons say so, also when they are read again
 * (select_take). *again: ranks have changed, so rows must be read again; the
 * items are not sorted then.  A decision is not repeated.  0 or -ENOMEM.
 */
int select_verify (struct select_item *items, size_t n, bool *again);

#endif
