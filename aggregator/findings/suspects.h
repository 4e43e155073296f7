/* aggregator/findings/suspects.h - the ranks whose raw files say why */
#ifndef ROLLCALL_FINDINGS_SUSPECTS_H
#define ROLLCALL_FINDINGS_SUSPECTS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SUSPECTS_MAX 8          // ranks that findings name: the most serious
                                // ones show what the others suffer from

/* Find the ranks that the findings of an analysis.db name, most serious first,
 * and behind them one healthy rank to compare with: of the present ranks that no
 * finding names the one with the median time of computing, of those at the same
 * place of another host (the same local rank) as the first suspect if there are
 * any.  Notes count as well.  '*n' 0: no finding names a rank.  Errors as
 * finished_open_analysis and db_error.
 */
int suspects_find (const char *path, int64_t ranks[SUSPECTS_MAX + 1],
                   size_t *n, struct err *err);

#endif
