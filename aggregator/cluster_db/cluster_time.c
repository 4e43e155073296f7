/* aggregator/cluster_db/cluster_time.c - ClusterCommunicationTime: each op of
 * each rank, and their sums by step and group */
#include "cluster_db/cluster_part.h"

enum { TAKE_RANK, TAKE_OP, TAKE_GROUP, TAKE_STEP, TAKE_TIMES };

#define TIMES 5                 // elapsed, transit, wait, synchronization, idle

struct op_sums {
    struct cluster_key key;
    struct sum times[TIMES];
};

static bool cluster_time_take (struct cluster_part *p, sqlite3_value **row)
{
    struct op_sums *sums;
    bool is_new;

    if (!cluster_part_take (p, row[TAKE_RANK], row[TAKE_OP], row[TAKE_GROUP],
                            row[TAKE_STEP]) ||
        !(sums = cluster_part_sum (p, &p->sums, 0, 0, &is_new)))
        return false;
    for (unsigned i = 0; i < TIMES; i++) {
        if (sqlite3_value_type (row[TAKE_TIMES + i]) != SQLITE_NULL)
            sum_add (&sums->times[i],
                     sqlite3_value_double (row[TAKE_TIMES + i]));
    }
    return true;
}

static void cluster_time_bind (struct cluster_part *p, const void *sum)
{
    const struct op_sums *s = sum;

    for (unsigned k = 0; k < TIMES; k++)
        cluster_part_bind_sum (p, 4 + (int)k, &s->times[k]);
}

static int cluster_time_finish (struct cluster_part *p, struct err *err)
{
    return cluster_part_totals (p, cluster_time_bind, err);
}

const struct cluster_table cluster_time = {
    .source = "CommAnalyzerTime",
    .name = "ClusterCommunicationTime",
    .create = "CREATE TABLE ClusterCommunicationTime (\"step\" TEXT, "
              "\"rank_id\" INTEGER, \"hccl_op_name\" TEXT, \"group_name\" "
              "TEXT, \"start_timestamp\" REAL, \"elapsed_time\" REAL, "
              "\"transit_time\" REAL, \"wait_time\" REAL, "
              "\"synchronization_time\" REAL, \"idle_time\" REAL, "
              "\"synchronization_time_ratio\" REAL, \"wait_time_ratio\" REAL)",
    .index = "CREATE INDEX ClusterCommunicationTime_op ON "
             "ClusterCommunicationTime (step, group_name, rank_id, "
             "hccl_op_name)",
    .insert = "INSERT INTO ClusterCommunicationTime SELECT step_taken(),"
              " rank, " CLUSTER_CLEAN ("hccl_op_name") ", group_taken(),"
              " start_timestamp, elapse_time, transit_time, wait_time,"
              " synchronization_time, idle_time, ratio(synchronization_time,"
              " transit_time), ratio(wait_time, transit_time)"
              " FROM a.CommAnalyzerTime WHERE rowid BETWEEN ?1 AND ?2 AND"
              " take(rank, hccl_op_name, group_name, step, elapse_time,"
              " transit_time, wait_time, synchronization_time, idle_time)",
    .insert_total = "INSERT INTO ClusterCommunicationTime VALUES (?2, ?1,"
                    " '" CLUSTER_TOTAL "', ?3, 0, ?4, ?5, ?6, ?7, ?8,"
                    " ratio(?7, ?5), ratio(?6, ?5))",
    .take_args = TAKE_TIMES + TIMES,
    .take = cluster_time_take,
    .finish = cluster_time_finish,
    .sum_bytes = sizeof (struct op_sums),
};
