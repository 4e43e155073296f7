/* aggregator/row_sums/left_out.h - rows that do not count
 *
 * Table LeftOut names whole captures, and single steps of captures.  Tables of
 * ops and of sums call step "10" "step10".
 */
#ifndef ROLLCALL_ROW_SUMS_LEFT_OUT_H
#define ROLLCALL_ROW_SUMS_LEFT_OUT_H

#include "base/err.h"
#include "base/texts.h"

#include <sqlite3.h>

/* All zero is empty. */
struct left_out {
    struct texts steps;         // as "step10"
    struct map captures;        // whole ones
    struct map of_capture, of_rank;     // steps
};

/* -ENOMEM, or as db_error. */
int left_out_read (sqlite3 *db, struct left_out *ret, struct err *err);
void left_out_fini (struct left_out *l);

bool left_out_capture (const struct left_out *l, int64_t capture);

/* Whether a row of a step does not count, as it is of this capture or, in
 * tables of sums, of this rank.  'step' is NULL for none.
 */
bool left_out_op (const struct left_out *l, int64_t capture, const char *step,
                  size_t n);
bool left_out_rank (const struct left_out *l, int64_t rank, const char *step,
                    size_t n);

#endif
