/* aggregator/waits/wait.h - who waited for whom
 *
 * From all rows of all ranks: the last rank to arrive at each collective op,
 * and how long the others waited for it (table Wait).  For traces, which do not
 * record it: how much of an op is waiting and how much is transit.
 * doc/format-analysis-db.md, "Waiting", has the formulas.
 */
#ifndef ROLLCALL_WAITS_WAIT_H
#define ROLLCALL_WAITS_WAIT_H

#include "select/capture_select.h"

#include <sqlite3.h>
#include <stdatomic.h>

/* Fill Wait, what Job says about it, and CaptureInfo of kind "clock"; for
 * traces (framework "kineto") also the wait, synchronization, transit and idle
 * times of CommAnalyzerTime and CommAnalyzerBandwidth.  All other tables must
 * exist, in a file that nobody else uses and in a transaction, which is committed
 * and begun again.  items[i] is capture i + 1.  'temp'
 * is a path prefix for temporary files, which are removed before the call
 * returns.  The result does not depend on the number of threads.
 */
int wait_derive (sqlite3 *db, const struct select_item *items, size_t n,
                 const char *temp, unsigned threads,
                 const atomic_bool *cancel, struct err *err);

#endif
