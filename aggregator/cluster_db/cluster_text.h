/* aggregator/cluster_db/cluster_text.h - write cluster_analysis.db as JSON and
 * CSV
 *
 * For tools that read the text files of the profiler's own cluster analysis;
 * doc/format-cluster-db.md describes the formats.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_TEXT_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_TEXT_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>

#define CLUSTER_TEXTS 4

/* The name of the i-th file. */
const char *cluster_text_name (unsigned i);

/* Write the i-th file to 'path' from the cluster_analysis.db at 'db', and fsync
 * it.  -ENOSPC, -EIO, -EINTR ('cancel' became true; it may be NULL).
 */
int cluster_text_write (unsigned i, const char *db, const char *path,
                        const atomic_bool *cancel, struct err *err);

/* Whether rollcall wrote a file: its files differ from other tools' in a way
 * that readers ignore.
 */
bool cluster_text_is_ours (const char *path);

#endif
