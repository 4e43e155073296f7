/* aggregator/findings/median.h - medians for SQL, of this connection only
 *
 * median (x) and median_low (x), which of an even number of values is the lower
 * one of the middle two, not what lies between them; NULLs do not count.  What
 * is stored must not use them: no other SQLite has them.
 */
#ifndef ROLLCALL_FINDINGS_MEDIAN_H
#define ROLLCALL_FINDINGS_MEDIAN_H

#include "base/err.h"

#include <sqlite3.h>

int median_register (sqlite3 *db, struct err *err);

#endif
