/* aggregator/query/absent.h - explain which ranks and steps a result lacks */
#ifndef ROLLCALL_QUERY_ABSENT_H
#define ROLLCALL_QUERY_ABSENT_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

/* Check that the roster has the rank (-1: no check) and some rank has the step
 * (its id; NULL: no check).  Otherwise -ENODATA, with a list of those that
 * exist.
 */
int absent_check (sqlite3 *db, int64_t rank, const char *step,
                  struct err *err);

/* Explain why there is nothing to draw for them; always returns -ENODATA. */
int absent_explain (sqlite3 *db, int64_t rank, const char *step,
                    struct err *err);

/* Why a query of this SQL has no rows, if that is known; else "".  'rank' is the
 * one that is asked for, or -1.
 */
#define ABSENT_WHY_MAX 1024
const char *absent_why (sqlite3 *db, const char *sql, int64_t rank,
                        char out[ABSENT_WHY_MAX]);

#endif
