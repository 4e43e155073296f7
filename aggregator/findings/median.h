/* aggregator/findings/median.h - SQL functions for medians
 *
 * Registers median (x) and median_low (x) on one connection; median_low is the
 * lower of the two middle values if their number is even.  NULLs do not count.
 * Stored views must not use them, because no other SQLite has them.
 */
#ifndef ROLLCALL_FINDINGS_MEDIAN_H
#define ROLLCALL_FINDINGS_MEDIAN_H

#include "base/err.h"

#include <sqlite3.h>

int median_register (sqlite3 *db, struct err *err);

#endif
