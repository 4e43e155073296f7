/* aggregator/waits/wait.h - who waited for whom
 *
 * Once all rows of all ranks are in one place: for each collective op the rank
 * that came last, and how long the others waited for it (table Wait); and of
 * traces, which cannot know it of themselves, what of an op was waiting and
 * what was transit.  doc/format-analysis-db.md, "Waiting", has the formulas.
 */
#ifndef ROLLCALL_WAITS_WAIT_H
#define ROLLCALL_WAITS_WAIT_H

#include "select/capture_select.h"

#include <sqlite3.h>

/* Fill Wait; of traces (framework "kineto") wait, synchronization, transit and
 * idle times of CommAnalyzerTime, CommAnalyzerBandwidth, and CaptureInfo of
 * kind "clock"; and what Job says of it.  All other tables are there, in a
 * transaction, without indexes.  items[i] is capture i + 1.  'temp' is the
 * beginning of paths for temporary files, which do not outlast the call.
 */
int wait_derive (sqlite3 *db, const struct select_item *items, size_t n,
                 const char *temp, struct err *err);

#endif
