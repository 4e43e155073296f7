/* aggregator/findings/median.h - SQL functions for medians, of one connection
 *
 * median (x) and median_low (x), which for an even number of values is the
 * lower one of the middle two, not their mean; NULLs do not count.  Stored
 * views must not use them: no other SQLite has them.
 */
#ifndef ROLLCALL_FINDINGS_MEDIAN_H
#define ROLLCALL_FINDINGS_MEDIAN_H

#include "base/err.h"

#include <sqlite3.h>

int median_register (sqlite3 *db, struct err *err);

#endif
