/* aggregator/row_sums/traffic.c - find transit times and transports of ops in
 * traces
 */
#include "row_sums/traffic.h"

#include "store/db_rows.h"
#include "row_sums/capture_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions for the statements below ---- */

/* waited(rowid): how long the op in that row of CommAnalyzerTime waited, in ms,
 * or NULL.
 */
static void sql_waited (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const struct row_values *w = sqlite3_user_data (ctx);
    double ms = row_values_get (w, sqlite3_value_int64 (argv[0]));

    (void)argc;
    if (!isnan (ms))
        sqlite3_result_double (ctx, ms);
}

/* rate(MB, ms): GB/s, rounded as profilers do: the exact value to 4 decimals,
 * ties to even.  NULL if it cannot be computed.
 */
static void sql_rate (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    double ms = sqlite3_value_double (argv[1]), v;
    char text[400];

    (void)argc;
    if (sqlite3_value_type (argv[0]) == SQLITE_NULL || !(ms > 0))
        return;
    v = sqlite3_value_double (argv[0]) / ms;
    if (!isfinite (v))
        return;
    (void)snprintf (text, sizeof (text), "%.4f", v);
    sqlite3_result_double (ctx, strtod (text, NULL));
}

static int add_functions (sqlite3 *db, const struct row_values *w,
                          struct err *err)
{
    if (sqlite3_create_function (db, "waited", 1, SQLITE_UTF8, (void *)w,
                                 sql_waited, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function (db, "rate", 2, SQLITE_UTF8, NULL, sql_rate,
                                 NULL, NULL) != SQLITE_OK)
        return db_error (db, "cannot add functions", err);
    return 0;
}

static void remove_functions (sqlite3 *db)
{
    (void)sqlite3_create_function (db, "waited", 1, SQLITE_UTF8, NULL, NULL,
                                   NULL, NULL);
    (void)sqlite3_create_function (db, "rate", 2, SQLITE_UTF8, NULL, NULL,
                                   NULL, NULL);
}

/* ---- transports ---- */

/* The host of each rank, and the captures that are traces. */
static int list_places (sqlite3 *db, const struct select_item *items, size_t n,
                        struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_exec (db, "CREATE TEMP TABLE place (rank INTEGER PRIMARY KEY, "
                          "host TEXT);CREATE TEMP TABLE trace (capture INTEGER"
                          " PRIMARY KEY, first_row INTEGER)", err);

    if (rc == 0)
        rc = db_prepare (db, "INSERT OR REPLACE INTO temp.place VALUES "
                             "(?1, ?2)", &st, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (items[i].rank >= 0 && !items[i].drop && *items[i].capture.host)
            rc = db_put (st, err, items[i].rank, items[i].capture.host);
    }
    (void)sqlite3_finalize (st);
    st = NULL;
    if (rc == 0)
        rc = db_prepare (db, "INSERT INTO temp.trace VALUES (?1, ?2)", &st,
                         err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (strcmp (items[i].capture.framework, "kineto") == 0)
            rc = db_put (st, err, items[i].id, items[i].first_row);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* For each group and member, the transports of its rows: all ranks are on one
 * host, or on several, or it is not known, then none.  A lower 'part' comes
 * first.
 */
static const char reach_sql[] =
    "CREATE TEMP TABLE reach (name TEXT, rank INTEGER, part INTEGER, transport"
    " TEXT, PRIMARY KEY (name, rank, part)) WITHOUT ROWID;"
    "CREATE TEMP TABLE spread AS SELECT m.comm_group AS id, g.group_name AS"
    " name, count(DISTINCT p.host) AS hosts, count(p.host) = g.size AS known"
    " FROM CommGroupMember m JOIN CommGroup g ON g.id=m.comm_group LEFT JOIN"
    " temp.place p ON p.rank=m.rank WHERE g.size>0 GROUP BY m.comm_group;"
    "INSERT OR IGNORE INTO temp.reach SELECT s.name, m.rank, x.part,"
    " CASE WHEN s.hosts>1 THEN 'RDMA' ELSE x.transport END"
    " FROM temp.spread s JOIN CommGroupMember m ON m.comm_group=s.id"
    " JOIN (SELECT 0 AS part, 'HCCS' AS transport UNION ALL SELECT 1, 'SDMA')"
    " x ON s.hosts>1 AND x.part=0 OR s.hosts=1 AND s.known ORDER BY s.id;";

/* Write the bandwidth table with NULLs filled in where waits and hosts are
 * known.  An op that occurs twice in a capture has no wait.  Each row of a trace
 * has room for a second one behind it.
 */
static const char fill_sql[] =
    "CREATE TEMP TABLE moved AS SELECT rowid AS row, * FROM"
    " CommAnalyzerBandwidth;"
    "CREATE TEMP TABLE took (op TEXT, name TEXT, step TEXT, capture INTEGER,"
    " transit NUMERIC, PRIMARY KEY (capture, step, name, op)) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO temp.took SELECT hccl_op_name, group_name,"
    " ifnull(step, ''), capture, elapse_time - waited(rowid)"
    " FROM CommAnalyzerTime WHERE waited(rowid) IS NOT NULL;"
    "DROP INDEX IF EXISTS CommAnalyzerBandwidth_rank;"
    "DELETE FROM CommAnalyzerBandwidth;"
    "INSERT INTO CommAnalyzerBandwidth (rowid, hccl_op_name, group_name,"
    " transport_type, transit_size, transit_time, bandwidth,"
    " large_packet_ratio, package_size, count, total_duration, step, type,"
    " rank, capture) SELECT ifnull(2*b.row-k.first_row+ifnull(r.part, 0),"
    " b.row), b.hccl_op_name, b.group_name,"
    " ifnull(b.transport_type, r.transport), b.transit_size,"
    " ifnull(b.transit_time, t.transit),"
    " ifnull(b.bandwidth, rate(b.transit_size, t.transit)),"
    " b.large_packet_ratio,"
    " CASE WHEN r.part=1 THEN 0 ELSE b.package_size END,"
    " CASE WHEN r.part=1 THEN 0 ELSE b.count END,"
    " CASE WHEN r.part=1 THEN 0 ELSE ifnull(b.total_duration, t.transit) END,"
    " b.step, b.type, b.rank, b.capture FROM temp.moved b"
    " LEFT JOIN temp.trace k ON k.capture=b.capture"
    " LEFT JOIN temp.took t ON t.capture=k.capture AND"
    " t.step=ifnull(b.step, '') AND t.name=b.group_name AND"
    " t.op=b.hccl_op_name LEFT JOIN temp.reach r ON k.capture IS NOT NULL AND"
    " b.transport_type IS NULL AND r.name=b.group_name AND r.rank=b.rank;";

static const char time_sql[] =
    "UPDATE CommAnalyzerTime SET wait_time=waited(rowid),"
    " synchronization_time=waited(rowid), idle_time=0,"
    " transit_time=elapse_time - waited(rowid)"
    " WHERE waited(rowid) IS NOT NULL;";

int traffic_fill (sqlite3 *db, const struct row_values *waits,
                  const struct select_item *items, size_t n, struct err *err)
{
    int rc = add_functions (db, waits, err);

    if (rc == 0)
        rc = list_places (db, items, n, err);
    if (rc == 0)
        rc = db_exec (db, reach_sql, err);
    if (rc == 0)
        rc = db_exec (db, fill_sql, err);
    if (rc == 0)
        rc = db_exec (db, time_sql, err);
    if (rc == 0)
        rc = capture_sums_again (db, "SELECT capture FROM temp.trace", false,
                                 err);
    if (rc == 0)
        rc = db_exec (db, "DROP TABLE temp.place;DROP TABLE temp.trace;"
                          "DROP TABLE temp.spread;DROP TABLE temp.reach;"
                          "DROP TABLE temp.moved;DROP TABLE temp.took", err);
    remove_functions (db);
    return rc;
}
