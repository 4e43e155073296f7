/* aggregator/builder/rollup.h - sums by groups and links, and views of sums
 *
 * Tables Link and GroupTime, made from the sums of captures
 * (row_sums/capture_sums.h) once groups are known, and views by host, kind of
 * group, step, pair of ranks, switch and rack: doc/format-analysis-db.md,
 * "Sums".  If there is a schema 'former' (builder/former.h), it has the same
 * groups, and both tables get its rows, too, which are of other ranks.
 */
#ifndef ROLLCALL_BUILDER_ROLLUP_H
#define ROLLCALL_BUILDER_ROLLUP_H

#include "base/err.h"
#include "builder/topology.h"

#include <sqlite3.h>

/* Create the tables, and fill Link.  Groups must be known, but those of traces
 * that have none: traces have no links.  Drops the table of SUMS_LINK, whose
 * pages the tables that come next use.
 */
int rollup_links (sqlite3 *db, struct err *err);

/* Fill GroupTime and Topology, and create the views.  All other tables must
 * exist.  'topology' may be NULL.  Drops the table of SUMS_GROUP.
 */
int rollup_derive (sqlite3 *db, const struct topology *topology,
                   struct err *err);

#endif
