/* aggregator/cluster_db/cluster.h - make cluster_analysis.db from analysis.db
 *
 * For viewers and scripts that read the files of the profiler's own cluster
 * analysis; doc/format-cluster-db.md describes its tables.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_H

#include "publish/publish.h"

#include <stdatomic.h>
#include <stdint.h>

#define CLUSTER_DB_NAME "cluster_analysis.db"

struct cluster_result {
    char path[PATH_MAX];        // of the file
    char kept[PATH_MAX];        // path of the replaced file, or ""
    uint64_t links_left_out;    // links whose ends are not known
};

/* Make, check and publish the file.  On failure nothing has changed under its
 * final name, and 'err' says why: -ENOSPC, -EINTR ('cancel' became true; it may
 * be NULL), -ENOMEM, -EIO, ...
 */
int cluster_make (struct publish *out, const char *analysis_db,
                  unsigned threads, const atomic_bool *cancel,
                  struct cluster_result *ret, struct err *err);

#endif
