/* aggregator/cluster_db/cluster_text.h - cluster_analysis.db as JSON and CSV
 *
 * For tools that read the text files of the profiler's own cluster analysis;
 * doc/format-cluster-db.md has their form.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_TEXT_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_TEXT_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>

#define CLUSTER_TEXTS 4

/* The name of the i-th file. */
const char *cluster_text_name (unsigned i);

/* Write it to 'path', fsynced, from the cluster_analysis.db at 'db'.  -ENOSPC,
 * -EIO, -EINTR ('cancel' became true; may be NULL).
 */
int cluster_text_write (unsigned i, const char *db, const char *path,
                        const atomic_bool *cancel, struct err *err);

/* Whether this code wrote a file: it differs from other tools' files in a way
 * that readers ignore.
 */
bool cluster_text_is_ours (const char *path);

#endif
