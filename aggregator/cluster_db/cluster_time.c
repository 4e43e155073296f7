/* aggregator/cluster_db/cluster_time.c - ClusterCommunicationTime: each op of
 * each rank, and their sums by step and group */
#include "cluster_db/cluster_rows.h"

#include <errno.h>
#include <math.h>

enum { ELAPSED, TRANSIT, WAIT, SYNC, IDLE, TIMES };

struct op_sums {
    struct cluster_key key;
    struct sum times[TIMES];
};

static void put_times (struct cluster_rows *r, double start,
                       const double *times)
{
    cluster_put (r, page_real (start));
    for (unsigned i = 0; i < TIMES; i++)
        cluster_put (r, page_real (times[i]));
    cluster_put (r, page_real (cluster_ratio (times[SYNC], times[TRANSIT])));
    cluster_put (r, page_real (cluster_ratio (times[WAIT], times[TRANSIT])));
}

static int cluster_time_take (struct cluster_rows *r, struct err *err)
{
    static const unsigned columns[TIMES] = { TIME_ELAPSE, TIME_TRANSIT,
                                             TIME_WAIT, TIME_SYNC, TIME_IDLE };
    struct op_sums *sums;
    double times[TIMES];
    int rc = cluster_rows_take (r, err);
    bool is_new;

    if (rc < 1)
        return rc;
    if (!(sums = cluster_rows_sum (r, &r->sums, 0, 0, &is_new)))
        return err_set (err, ENOMEM, "no memory for sums");
    for (unsigned i = 0; i < TIMES; i++) {
        times[i] = cluster_number_at (r, columns[i]);
        if (!isnan (times[i]))
            sum_add (&sums->times[i], times[i]);
    }
    put_times (r, cluster_number_at (r, TIME_START), times);
    return 1;
}

static void put_sums (struct cluster_rows *r, const void *sum)
{
    const struct op_sums *s = sum;
    double times[TIMES];

    for (unsigned i = 0; i < TIMES; i++)
        times[i] = cluster_sum (&s->times[i]);
    put_times (r, 0, times);
}

static int cluster_time_finish (struct cluster_rows *r, struct err *err)
{
    return cluster_rows_totals (r, put_sums, err);
}

const struct cluster_table cluster_time = {
    .source = TABLE_TIME,
    .step = TIME_STEP,
    .name = "ClusterCommunicationTime",
    .index = "ClusterCommunicationTime_op",
    .create = "CREATE TABLE ClusterCommunicationTime (\"step\" TEXT, "
              "\"rank_id\" INTEGER, \"hccl_op_name\" TEXT, \"group_name\" "
              "TEXT, \"start_timestamp\" REAL, \"elapsed_time\" REAL, "
              "\"transit_time\" REAL, \"wait_time\" REAL, "
              "\"synchronization_time\" REAL, \"idle_time\" REAL, "
              "\"synchronization_time_ratio\" REAL, \"wait_time_ratio\" REAL);"
              "CREATE INDEX ClusterCommunicationTime_op ON "
              "ClusterCommunicationTime (step, group_name, rank_id, "
              "hccl_op_name);",
    .has_rank = true,
    .take = cluster_time_take,
    .finish = cluster_time_finish,
    .sum_bytes = sizeof (struct op_sums),
};
