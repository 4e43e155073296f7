/* node_agent/spool/check_spool.h - check a spool, and repair it
 *
 * For a spool that no agent has open.
 */
#ifndef ROLLCALL_SPOOL_CHECK_SPOOL_H
#define ROLLCALL_SPOOL_CHECK_SPOOL_H

#include "base/err.h"

#include <stdbool.h>

/* Called for each fault: the file of the spool, what is wrong with it and, in a
 * repair, what was done; one sentence each.
 */
typedef void spool_fault_fn (void *arg, const char *file, const char *what,
                             const char *done);

/* Read a whole spool: the ledger with its checksums, indexes and tallies, every
 * file and the hash that it was sealed with; find files without a row and rows
 * without a file.  With 'repair', damaged data goes into quarantine and the
 * next agent seals its capture again.  Without it nothing is changed, except
 * that the journal is replayed, and an older ledger is converted to this
 * version.
 *
 * Returns the number of faults; -EBUSY if an agent has the spool, -ENOENT if
 * there is none, or -errno of reading it.
 */
int spool_check (const char *dir, bool repair, spool_fault_fn *fn, void *arg,
                 struct err *err);

#endif
