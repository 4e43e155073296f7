/* aggregator/builder/part.h - one thread's share of an analysis.db
 *
 * A database file of its own with the four tables, filled by the sink that it
 * hands out.  Batches go in by INSERT ... SELECT from a virtual table, the
 * fastest public way into SQLite.  The file is scratch until it is published:
 * no journal, no fsync.
 */
#ifndef ROLLCALL_BUILDER_PART_H
#define ROLLCALL_BUILDER_PART_H

#include "base/err.h"
#include "model/batch.h"

#include <sqlite3.h>
#include <stdatomic.h>

#define PART_GROUPS_MAX 4096u           // group names in one capture

struct part;

/* Which groups a capture used, and for what. */
struct part_group {
    char *name;
    bool collective, p2p;
};

/* Create the file, which must not exist, with a transaction open.  'cancel' is
 * borrowed: when it becomes true the sink fails with -EINTR.
 */
int part_create (const char *path, const atomic_bool *cancel,
                 struct part **ret, struct err *err);
void part_destroy (struct part *p);     // closes, keeps the file; NULL is fine

/* The sink for the rows of one capture at a time. */
const struct row_sink *part_sink (struct part *p);

/* Following rows belong to this capture and rank. */
void part_begin_capture (struct part *p, int64_t id, int64_t rank);

/* The groups seen since; valid until the next part_begin_capture. */
const struct part_group *part_groups (const struct part *p, size_t *n);

/* End the transaction.  The connection stays usable. */
int part_commit (struct part *p, struct err *err);

sqlite3 *part_db (struct part *p);      // borrowed
const char *part_path (const struct part *p);
uint64_t part_rows (const struct part *p);      // rows taken so far

#endif
