/* aggregator/row_sums/traffic.h - transit times and transports of ops in traces
 *
 * Traces record how long an op took and how much it moved.  Where waits are
 * known, this fills in the rest.
 */
#ifndef ROLLCALL_ROW_SUMS_TRAFFIC_H
#define ROLLCALL_ROW_SUMS_TRAFFIC_H

#include "row_sums/row_values.h"
#include "select/capture_select.h"

#include <sqlite3.h>

/* 'waits' has a number for each row of CommAnalyzerTime whose wait is known.
 * CommAnalyzerBandwidth is rewritten, because an op on one host gets a second
 * row; the order of rows is kept.
 */
int traffic_fill (sqlite3 *db, const struct row_values *waits,
                  const struct select_item *items, size_t n, struct err *err);

#endif
