/* node_agent/extract/rows/matrix_fold.h - fold link records into rows of
 * CommAnalyzerMatrix
 *
 * The rows are the top, middle, bottom and total of the ops.  For sources with
 * one record for each op and link (files of 2023, event databases).
 * doc/formats.md, "communication_matrix.json", has the rule.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_MATRIX_FOLD_H
#define ROLLCALL_EXTRACT_ROWS_MATRIX_FOLD_H

#include "model/batch.h"

#include <stdbool.h>
#include <stddef.h>

#define MATRIX_FOLD_RECORDS_MAX (1u << 20)      // of one step and category

struct matrix_record {
    const char *op;             // with its group: "name@group"
    const char *link;           // "<src>-<dst>"
    const char *transport;      // NULL: not known
    double size_mb, time_ms, bandwidth;
};

/* A row; 'op' is "" for a total. */
struct matrix_row {
    const char *kind;           // "allreduce-top1"
    const char *group;
    const char *link;
    const char *op;
    const char *transport;
    double size_mb, time_ms, bandwidth;
};

/* Append a row to a batch of CommAnalyzerMatrix, without step, type and op; the
 * caller sets these and counts the row.  False, and nothing is appended: the
 * link has another form.
 */
bool matrix_row_put (struct batch *b, const struct matrix_row *m);

struct matrix_fold;

/* About how many bytes the folds of a reader may still take. */
struct matrix_room {
    size_t left;
};

#define MATRIX_ROOM (64u << 20)

/* Create a fold; 'room' must outlive it.  NULL: no memory. */
struct matrix_fold *matrix_fold_create (struct matrix_room *room);
void matrix_fold_destroy (struct matrix_fold *f);       // f may be NULL

/* Add a copy of a record; each text is stored once.  Returns 0; -ENOMEM;
 * -E2BIG: too many records, or no room.
 */
int matrix_fold_add (struct matrix_fold *f, const struct matrix_record *r);

/* Call 'row' for the rows of all records, in the order of the profiler, and
 * forget the records.  Stops at its first non-zero result and returns that.
 */
int matrix_fold_rows (struct matrix_fold *f,
                      int (*row) (void *arg, const struct matrix_row *r),
                      void *arg);

/* The kind of an op from its name: "allreduce" for "hcom_allReduce__...". */
void matrix_op_kind (const char *op, char *out, size_t max);

#endif
