/* aggregator/waits/arrivals.h - group all rows of a job by op
 *
 * Rows are added in the order of the table and returned op by op.  Up to some
 * 32 MiB of them stay in memory.  More are distributed over parts of a
 * temporary file; all rows of an op are in the same part.
 */
#ifndef ROLLCALL_WAITS_ARRIVALS_H
#define ROLLCALL_WAITS_ARRIVALS_H

#include "base/err.h"
#include "waits/arrival.h"

struct arrivals;

/* For about this many rows.  'path' is for the temporary file, which must not
 * exist; it is only created if there are too many rows for memory.
 */
int arrivals_create (uint64_t rows, const char *path, struct arrivals **ret,
                     struct err *err);
void arrivals_destroy (struct arrivals *x);     // x may be NULL

int arrivals_add (struct arrivals *x, const struct arrival *a,
                  struct err *err);

/* Call 'fn' with the rows of each op, sorted by rank; the order of ops is
 * always the same.  Rows of a part beyond ARRIVALS_PART_MAX are dropped and
 * counted.  That takes one op repeated endlessly, which no profiler writes.
 */
#define ARRIVALS_PART_MAX (UINT64_C (1) << 30)  // bytes

typedef int arrivals_fn (void *arg, const struct arrival *a, size_t n,
                         struct err *err);
int arrivals_each (struct arrivals *x, arrivals_fn *fn, void *arg,
                   uint64_t *dropped, struct err *err);

#endif
