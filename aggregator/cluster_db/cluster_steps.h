/* aggregator/cluster_db/cluster_steps.h - the small tables of
 * cluster_analysis.db */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_STEPS_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_STEPS_H

#include "cluster_db/cluster_groups.h"

/* Write ClusterStepTraceTime, which has a row for each rank and step and for
 * each pipeline stage and step; ClusterBaseInfo, if the sizes of all parallel
 * dimensions are known; HostInfo and RankDeviceMap.  An analysis.db is attached
 * to 'db' as 'a'.
 */
int cluster_steps_write (sqlite3 *db, const struct cluster_groups *groups,
                         struct err *err);

#endif
