/* aggregator/table/absent.h - ranks and steps that a result does not have */
#ifndef ROLLCALL_TABLE_ABSENT_H
#define ROLLCALL_TABLE_ABSENT_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

/* A rank (-1: none) that is not in the roster, or a step (its id; NULL: none)
 * of which no rank has anything: -ENODATA, with those that there are.
 */
int absent_check (sqlite3 *db, int64_t rank, const char *step,
                  struct err *err);

/* Why there is nothing to be drawn of them: always -ENODATA. */
int absent_explain (sqlite3 *db, int64_t rank, const char *step,
                    struct err *err);

#endif
