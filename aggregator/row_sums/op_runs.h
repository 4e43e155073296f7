/* aggregator/row_sums/op_runs.h - rows of ops: in rank by rank, out op by op
 *
 * Each thread adds the rows of some ranks to runs of its own: sorted, packed
 * and, if they are many, in a temporary file.  Then the runs of all ranks are
 * merged, by any number of threads.  Memory depends on ranks, groups and steps,
 * but not on the number of ops.
 *
 *     op_runs_create; for each rank: op_runs_add ..., op_runs_end
 *     op_merge_create; for each piece: op_merge_piece; op_merge_destroy
 *     op_runs_destroy
 */
#ifndef ROLLCALL_ROW_SUMS_OP_RUNS_H
#define ROLLCALL_ROW_SUMS_OP_RUNS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One rank's row of an op.  Only the first members differ within a run. */
struct op_row {
    uint64_t key;               // the op, within its group and step
    double start_us, elapse_ms; // not NaN
    int64_t row;                // rowid in CommAnalyzerTime
    uint32_t group, size;       // its id, and its size in ranks
    uint32_t step;
    uint32_t rank : 24;         // more than CAPTURE_WORLD_LIMIT
    uint32_t by_start : 1;      // the caller's, as is 'guessed'
    uint32_t guessed : 1;
};

struct op_runs;

/* 'path' is for the temporary file: it must not exist, is created only if it is
 * needed, and has no name afterwards.  NULL: a file in
 * fileio_temp_dir.
 * Without 'rows', op_row.row is not kept and is 0 in the end.
 */
int op_runs_create (const char *path, bool rows, struct op_runs **ret,
                    struct err *err);
void op_runs_destroy (struct op_runs *x);       // x may be NULL

/* Add a row, best after others of its rank; end a run.  -ENOMEM, -ENOSPC, -EIO,
 * ...
 */
int op_runs_add (struct op_runs *x, const struct op_row *row,
                 struct err *err);
int op_runs_end (struct op_runs *x, struct err *err);

/* Let number i be numbers[i] in the 'step' of all rows added since the last
 * call, which op_runs_end ended.
 */
void op_runs_number_steps (struct op_runs *x, const uint32_t *numbers);

/* The runs of all threads, by group and step.  They are borrowed. */
struct op_merge;

int op_merge_create (struct op_runs *const *runs, unsigned n,
                     struct op_merge **ret, struct err *err);
void op_merge_destroy (struct op_merge *m);     // m may be NULL

/* A piece is a step of a group; they are sorted by group, then step. */
size_t op_merge_pieces (const struct op_merge *m);

/* Call 'fn' with the rows of each op of a piece, in the order of keys; the rows
 * are sorted by rank, then row.  Any thread may do any piece.  Of an op with
 * more rows than OP_ROWS_MAX, which has some rank twice, the first are given.
 */
#define OP_ROWS_MAX (1u << 18)

typedef int op_merge_fn (void *arg, const struct op_row *rows, size_t n,
                         struct err *err);
int op_merge_piece (const struct op_merge *m, size_t piece, op_merge_fn *fn,
                    void *arg, struct err *err);

#endif
