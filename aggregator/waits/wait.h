/* aggregator/waits/wait.h - who waited for whom
 *
 * From all rows of all ranks: the last rank to arrive at each collective op,
 * and how long the others waited for it (table Wait); and for traces, which do
 * not record it, how an op divides into waiting and transit.
 * doc/format-analysis-db.md, "Waiting", has the formulas.
 */
#ifndef ROLLCALL_WAITS_WAIT_H
#define ROLLCALL_WAITS_WAIT_H

#include "select/capture_select.h"

#include <sqlite3.h>
#include <stdatomic.h>

/* Fill Wait; of traces (framework "kineto") wait, synchronization, transit and
 * idle times of CommAnalyzerTime, CommAnalyzerBandwidth, and CaptureInfo of
 * kind "clock"; and what Job says of it.  All other tables are there, in a
 * transaction, without indexes.  items[i] is capture i + 1.  'temp' is the
 * beginning of paths for temporary files, which do not outlast the call.
 */
int wait_derive (sqlite3 *db, const struct select_item *items, size_t n,
                 const char *temp, const atomic_bool *cancel,
                 struct err *err);

#endif
