/* aggregator/builder/rollup.h - sums by groups and links, and views of sums
 *
 * Tables Link and GroupTime, made from the sums of captures
 * (row_sums/capture_sums.h) once groups are known, and views by host, kind of
 * group, step, pair of ranks, switch and rack: doc/format-analysis-db.md,
 * "Sums".
 */
#ifndef ROLLCALL_BUILDER_ROLLUP_H
#define ROLLCALL_BUILDER_ROLLUP_H

#include "base/err.h"
#include "builder/topology.h"

#include <sqlite3.h>

/* Create and fill them.  All other tables with Wait and the indexes must exist.
 * 'topology' may be NULL.  Drops the tables of SUMS_GROUP and SUMS_LINK.
 */
int rollup_derive (sqlite3 *db, const struct topology *topology,
                   struct err *err);

#endif
