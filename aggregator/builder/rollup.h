/* aggregator/builder/rollup.h - tables of sums over many rows
 *
 * Tables Link and GroupTime, and views by host, kind of group, step, pair of
 * ranks, switch and rack: doc/format-analysis-db.md, "Sums".
 */
#ifndef ROLLCALL_BUILDER_ROLLUP_H
#define ROLLCALL_BUILDER_ROLLUP_H

#include "base/err.h"
#include "builder/topology.h"

#include <sqlite3.h>
#include <stdatomic.h>

/* Create and fill them.  All other tables with Wait and the indexes must exist,
 * in a file that nobody else uses, and in a transaction, which is committed and
 * begun again.  'topology' may be NULL.
 */
int rollup_derive (sqlite3 *db, const struct topology *topology,
                   unsigned threads, const atomic_bool *cancel,
                   struct err *err);

#endif
