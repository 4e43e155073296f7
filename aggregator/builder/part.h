/* aggregator/builder/part.h - one thread's share of an analysis.db
 *
 * Its sink fills pages of the result's file (builder/row_file.h).
 */
#ifndef ROLLCALL_BUILDER_PART_H
#define ROLLCALL_BUILDER_PART_H

#include "base/err.h"
#include "builder/row_file.h"
#include "model/batch.h"
#include "select/capture_select.h"

#include <stdatomic.h>

#define PART_GROUPS_MAX 4096u           // group names per capture

struct part;

/* Which groups a capture used, and for what. */
struct part_group {
    char *name;
    bool collective, p2p;
};

/* 'file' and 'cancel' are borrowed.  Once *cancel is true, the sink fails with
 * -EINTR.
 */
int part_create (const struct row_file *file, const atomic_bool *cancel,
                 struct part **ret, struct err *err);
void part_destroy (struct part *p);     // NULL is allowed

/* The sink, for the rows of one capture at a time. */
const struct row_sink *part_sink (struct part *p);

/* The next rows belong to this capture, behind those before in order. */
void part_begin_capture (struct part *p, const struct select_item *item);

/* Call it before the next capture if others have captures between. */
int part_gap (struct part *p, struct err *err);

#define PART_TREES (TABLE_COUNT + SUMS_GROUP)   // tables that keep the rows of
                                // captures: those of rows, then those of sums

/* The writer of one of these, for rows of captures that do not come from the
 * sink; NULL: 'err' says why.
 */
struct page_writer *part_writer (struct part *p, unsigned tree,
                                 struct err *err);

/* The current capture has so many of these rows. */
void part_note_rows (struct part *p, const uint64_t rows[TABLE_PROFILER_COUNT]);

/* Write the capture's sums. */
int part_end_capture (struct part *p, struct err *err);

/* The groups seen since, and the capture's rows in the tables.  Valid
 * until the next part_begin_capture.
 */
const struct part_group *part_groups (const struct part *p, size_t *n);
void part_span (const struct part *p, struct row_span *ret);

/* Call after the last capture: write what is still in memory. */
int part_close (struct part *p, struct err *err);

uint64_t part_rows (const struct part *p);      // taken so far, of the four

#endif
