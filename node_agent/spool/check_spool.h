/* node_agent/spool/check_spool.h - is a spool what it says it is?
 *
 * For a spool that no agent has open.
 */
#ifndef ROLLCALL_SPOOL_CHECK_SPOOL_H
#define ROLLCALL_SPOOL_CHECK_SPOOL_H

#include "base/err.h"

#include <stdbool.h>

/* A fault that was found: of which file of the spool, what is wrong with it
 * and, when repairing, what was done; one sentence each.
 */
typedef void spool_fault_fn (void *arg, const char *file, const char *what,
                             const char *done);

/* Read all of a spool: the ledger with its checksums, indexes and tallies,
 * every file against the hash that it was sealed with, files that nobody knows
 * and rows whose file is missing.  With 'repair' what is damaged goes into
 * quarantine and its capture is sealed again by the next agent; without it
 * nothing is changed, apart from the journal's being replayed and a ledger of
 * an older version being brought to this one.
 *
 * The number of faults; -EBUSY when an agent has the spool, -ENOENT when there
 * is none, or -errno of reading it.
 */
int spool_check (const char *dir, bool repair, spool_fault_fn *fn, void *arg,
                 struct err *err);

#endif
