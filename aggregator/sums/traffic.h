/* aggregator/sums/traffic.h - transit times and transports of a trace's ops
 *
 * Traces record how long an op took and how much it moved.  Here the NULLs are
 * filled in for ops whose waits are known.
 */
#ifndef ROLLCALL_SUMS_TRAFFIC_H
#define ROLLCALL_SUMS_TRAFFIC_H

#include "sums/row_values.h"
#include "select/capture_select.h"

#include <sqlite3.h>

/* 'waits' has a number for each row of CommAnalyzerTime whose wait is known.
 * CommAnalyzerBandwidth is written anew, because an op on one host gets a
 * second row; rows stay in their order.
 */
int traffic_fill (sqlite3 *db, const struct row_values *waits,
                  const struct select_item *items, size_t n, struct err *err);

#endif
