/* aggregator/builder/part.h - one thread's share of an analysis.db
 *
 * Pages of the result's file (builder/row_file.h), filled by the sink that it
 * hands out.
 */
#ifndef ROLLCALL_BUILDER_PART_H
#define ROLLCALL_BUILDER_PART_H

#include "base/err.h"
#include "builder/row_file.h"
#include "model/batch.h"

#include <stdatomic.h>

#define PART_GROUPS_MAX 4096u           // group names in one capture

struct part;

/* Which groups a capture used, and for what. */
struct part_group {
    char *name;
    bool collective, p2p;
};

/* 'file' and 'cancel' are borrowed: when that becomes true the sink fails with
 * -EINTR.
 */
int part_create (const struct row_file *file, const atomic_bool *cancel,
                 struct part **ret, struct err *err);
void part_destroy (struct part *p);     // NULL is fine

/* The sink for the rows of one capture at a time. */
const struct row_sink *part_sink (struct part *p);

/* Following rows belong to this capture and rank; ids rise. */
void part_begin_capture (struct part *p, int64_t id, int64_t rank);

/* The groups seen since, and what the capture has in the indexed tables; valid
 * until the next part_begin_capture.
 */
const struct part_group *part_groups (const struct part *p, size_t *n);
void part_span (const struct part *p, struct row_span *ret);

/* After the last capture: write what is in memory. */
int part_close (struct part *p, struct err *err);

uint64_t part_rows (const struct part *p);      // taken so far, of the four

#endif
