/* aggregator/cluster_db/cluster_groups.h - the groups of cluster_analysis.db
 *
 * Readers of that file identify a group by its name alone, so each group gets a
 * unique name here.  They identify ranks by global numbers.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_GROUPS_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_GROUPS_H

#include "base/err.h"
#include "sqlite_pages/page_scan.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* One group.  Texts are "" if not known. */
struct cluster_group {
    char *name;                 // unique in cluster_analysis.db
    char *id, *pg_name, *type;  // as in CommGroup
    int32_t *ranks;             // global, sorted, each once
    uint32_t nranks;
    int32_t *by_local;          // global rank by the rank within; -1: not known
    uint32_t nlocal;
};

struct cluster_groups;

/* Read the groups from an analysis.db.  'source' has its pages, for the places
 * in groups that no metadata tells; NULL: they are not needed.  -ENOMEM, -EIO.
 */
int cluster_groups_read (sqlite3 *db, const struct page_source *source,
                         struct cluster_groups **ret, struct err *err);
void cluster_groups_destroy (struct cluster_groups *g); // g may be NULL

size_t cluster_groups_count (const struct cluster_groups *g);
const struct cluster_group *cluster_groups_at (const struct cluster_groups *g,
                                               uint32_t i);

/* The group that a rank means by a name; 0 for ops without a group or with an
 * unknown one.  Thread-safe.
 */
#define CLUSTER_GROUP_NONE 0
uint32_t cluster_groups_find (const struct cluster_groups *g, const char *name,
                              size_t n, int64_t rank);

/* The rank within its group, in a column of a row; -1: it is none. */
int64_t cluster_groups_end (const struct page_scan *p, unsigned column);

/* The global rank of a rank in the group; -1: not known. */
int64_t cluster_groups_global (const struct cluster_groups *g, uint32_t group,
                               int64_t local);

/* Write CommunicationGroupMapping: the groups with used[i], and for group 0 the
 * ranks whose bit is set in strays[rank / 8], up to CAPTURE_WORLD_LIMIT.
 */
int cluster_groups_write (const struct cluster_groups *g, sqlite3 *db,
                          const uint8_t *used, const uint8_t *strays,
                          struct err *err);

#endif
