/* aggregator/query/absent.h - ranks and steps that a result does not have */
#ifndef ROLLCALL_QUERY_ABSENT_H
#define ROLLCALL_QUERY_ABSENT_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

/* -ENODATA, with a list of those that exist, if the roster lacks the rank (-1:
 * none) or no rank has the step (its id; NULL: none).
 */
int absent_check (sqlite3 *db, int64_t rank, const char *step,
                  struct err *err);

/* Explain why there is nothing to draw of them: always -ENODATA. */
int absent_explain (sqlite3 *db, int64_t rank, const char *step,
                    struct err *err);

#endif
