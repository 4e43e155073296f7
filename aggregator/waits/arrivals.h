/* aggregator/waits/arrivals.h - group all rows of a job by op
 *
 * Rows are added in the table's order, and returned op by op.  Some 32 MiB of
 * them are in memory; more are distributed over parts of a temporary file, all
 * rows of an op in one part.
 */
#ifndef ROLLCALL_WAITS_ARRIVALS_H
#define ROLLCALL_WAITS_ARRIVALS_H

#include "base/err.h"
#include "waits/arrival.h"

struct arrivals;

/* For about so many rows; 'path' is the file's, which must not exist and is
 * made only if there are too many of them.
 */
int arrivals_create (uint64_t rows, const char *path, struct arrivals **ret,
                     struct err *err);
void arrivals_destroy (struct arrivals *x);     // x may be NULL

int arrivals_add (struct arrivals *x, const struct arrival *a,
                  struct err *err);

/* Call 'fn' with the rows of each op, sorted by rank, always in the same order
 * of ops.  Rows of a part beyond ARRIVALS_PART_MAX are dropped and counted (one
 * op repeated endlessly: no profiler writes that).
 */
#define ARRIVALS_PART_MAX (UINT64_C (1) << 30)  // bytes

typedef int arrivals_fn (void *arg, const struct arrival *a, size_t n,
                         struct err *err);
int arrivals_each (struct arrivals *x, arrivals_fn *fn, void *arg,
                   uint64_t *dropped, struct err *err);

#endif
