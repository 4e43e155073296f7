/* node_agent/extract/rows/matrix_fold.h - link records of ops, folded into the
 * top, middle, bottom and total rows of CommAnalyzerMatrix
 *
 * For sources that hold one record per op and link (2023 files, event
 * databases).  The rule is in doc/formats.md, "communication_matrix.json".
 */
#ifndef ROLLCALL_EXTRACT_ROWS_MATRIX_FOLD_H
#define ROLLCALL_EXTRACT_ROWS_MATRIX_FOLD_H

#include "model/batch.h"

#include <stdbool.h>
#include <stddef.h>

#define MATRIX_FOLD_RECORDS_MAX (1u << 20)      // of one step and category

struct matrix_record {
    const char *op;             // with its group behind it: "name@group"
    const char *link;           // "<src>-<dst>"
    const char *transport;      // NULL: not known
    double size_mb, time_ms, bandwidth;
};

/* One row: 'op' is "" for a total. */
struct matrix_row {
    const char *kind;           // "allreduce-top1"
    const char *group;
    const char *link;
    const char *op;
    const char *transport;
    double size_mb, time_ms, bandwidth;
};

/* Put it behind the last row of a batch of CommAnalyzerMatrix, all but step,
 * type and op: those are for the caller, and so is counting the row.  False,
 * and nothing is put, if the link has another form.
 */
bool matrix_row_put (struct batch *b, const struct matrix_row *m);

struct matrix_fold;

/* Bytes that the folds of one reader may still take, about. */
struct matrix_room {
    size_t left;
};

#define MATRIX_ROOM (64u << 20)

/* 'room' must outlive it.  NULL: no memory. */
struct matrix_fold *matrix_fold_create (struct matrix_room *room);
void matrix_fold_destroy (struct matrix_fold *f);       // f may be NULL

/* Take a copy of the record.  0, -ENOMEM, or -E2BIG above the limit, or without
 * room; each text is kept once.
 */
int matrix_fold_add (struct matrix_fold *f, const struct matrix_record *r);

/* Hand out the rows of all records, in the profiler's order, and forget them.
 * Stops at the first non-zero result of 'row' and returns it.
 */
int matrix_fold_rows (struct matrix_fold *f,
                      int (*row) (void *arg, const struct matrix_row *r),
                      void *arg);

/* The kind of an op by its name ("hcom_allReduce__..." is "allreduce"). */
void matrix_op_kind (const char *op, char *out, size_t max);

#endif
