/* aggregator/builder/rollup.c - sums by groups and links, and views of sums */
#include "builder/rollup.h"

#include "store/db_rows.h"

#define LINK "step, comm_group, src_rank, dst_rank, transport_type, type," \
    " transit_size, transit_time, bandwidth, large_size, large_time"
#define GROUP_TIME "step, comm_group, rank, ops, elapse_time, wait_time," \
    " synchronization_time, transit_time"

static const char tables_sql[] =
    "CREATE TABLE Link (step TEXT, comm_group INTEGER, src_rank INTEGER,"
    " dst_rank INTEGER, transport_type TEXT, type TEXT, transit_size NUMERIC,"
    " transit_time NUMERIC, bandwidth NUMERIC, large_size NUMERIC,"
    " large_time NUMERIC);"
    "CREATE TABLE GroupTime (step TEXT, comm_group INTEGER, rank INTEGER,"
    " ops INTEGER, elapse_time NUMERIC, wait_time NUMERIC,"
    " synchronization_time NUMERIC, transit_time NUMERIC);"
    "CREATE TABLE Topology (host TEXT PRIMARY KEY, switch TEXT, rack TEXT);";

// The group that a rank means by a name.
static const char groups_sql[] =
    "CREATE TEMP TABLE r_group AS SELECT m.rank, g.group_name,"
    " min(g.id) AS comm_group FROM CommGroup g JOIN CommGroupMember m ON"
    " m.comm_group=g.id GROUP BY 1, 2;"
    "CREATE UNIQUE INDEX temp.r_group_rank ON r_group(rank, group_name);";

#define COUNTS \
    "s.capture NOT IN (SELECT capture FROM LeftOut WHERE step IS NULL AND" \
    " capture IS NOT NULL)"

// The sums of captures, with the names of groups replaced by groups.
static const char times_sql[] =
    "INSERT INTO GroupTime SELECT s.step, g.comm_group, s.rank, s.ops,"
    " s.elapse_time, s.wait_time, s.synchronization_time, s.transit_time"
    " FROM GroupSum s CROSS JOIN r_group g ON g.rank=s.rank AND"
    " g.group_name=s.group_name WHERE " COUNTS ";"
    "DROP TABLE temp.r_group; DROP TABLE main.GroupSum;";

// The same, with ranks within groups replaced by global ranks.  MB per ms is
// GB/s.
static const char links_sql[] =
    "CREATE TEMP TABLE r_member AS SELECT comm_group, group_rank, rank FROM"
    " CommGroupMember WHERE group_rank IS NOT NULL;"
    "CREATE INDEX temp.r_member_place ON r_member(comm_group, group_rank);"
    "INSERT INTO Link SELECT s.step, g.comm_group, s.rank, d.rank,"
    " s.transport_type, s.type, s.transit_size, s.transit_time,"
    " s.transit_size/nullif(s.transit_time, 0), s.large_size, s.large_time"
    " FROM LinkSum s CROSS JOIN r_group g ON g.rank=s.rank AND"
    " g.group_name=s.group_name CROSS JOIN r_member d ON"
    " d.comm_group=g.comm_group AND d.group_rank=CAST(s.dst_rank AS INTEGER)"
    " WHERE " COUNTS ";"
    "DROP TABLE temp.r_group; DROP TABLE temp.r_member;"
    "DROP TABLE main.LinkSum;";

static const char views_sql[] =
    // the names of the group of all ranks are also in postgres/result_rows.c
    "CREATE VIEW GroupKind AS SELECT id AS comm_group,"
    " CASE WHEN lower(pg_name) IN ('default_group', 'default_pg',"
    "  'hccl_world_group') THEN 'world' ELSE lower(pg_name) END AS kind"
    " FROM CommGroup;"
    "CREATE VIEW KindStep AS SELECT k.kind, t.step,"
    " count(DISTINCT t.comm_group) AS groups, count(DISTINCT t.rank) AS ranks,"
    " sum(t.ops) AS ops, avg(t.elapse_time) AS elapse_time,"
    " max(t.elapse_time) AS max_elapse_time, avg(t.wait_time) AS wait_time,"
    " avg(t.transit_time) AS transit_time FROM GroupTime t JOIN GroupKind k ON"
    " k.comm_group=t.comm_group GROUP BY k.kind, t.step;"
    "CREATE VIEW HostStep AS SELECT host, step, count(*) AS ranks,"
    " avg(computing) AS computing, max(computing) AS max_computing,"
    " avg(communication_not_overlapped) AS communication_not_overlapped,"
    " avg(overlapped) AS overlapped, avg(free) AS free FROM StepByRank"
    " GROUP BY host, step;"
    "CREATE VIEW StepTrend AS SELECT step, count(*) AS ranks,"
    " avg(computing + communication_not_overlapped + free) AS step_time,"
    " min(computing + communication_not_overlapped + free) AS min_step_time,"
    " max(computing + communication_not_overlapped + free) AS max_step_time,"
    " avg(computing) AS computing, max(computing) AS max_computing,"
    " avg(communication_not_overlapped) AS communication_not_overlapped,"
    " avg(free) AS free, avg(bubble) AS bubble FROM StepCounted"
    " GROUP BY step ORDER BY CAST(step AS INTEGER);"
    "CREATE VIEW P2PPair AS SELECT src_rank, dst_rank, transport_type,"
    " count(DISTINCT step) AS steps, sum(transit_size) AS transit_size,"
    " sum(transit_time) AS transit_time,"
    " 1.0*sum(transit_size)/nullif(sum(transit_time), 0) AS bandwidth"
    " FROM Link"
    " WHERE type='p2p' GROUP BY src_rank, dst_rank, transport_type;"
    "CREATE VIEW Blame AS SELECT step, late_rank, waiting_rank,"
    " count(*) AS groups, sum(ops) AS ops, sum(wait_ms) AS wait_ms,"
    " max(clock_error_ms) AS clock_error_ms FROM Wait"
    " GROUP BY step, late_rank, waiting_rank;"
    "CREATE VIEW HostLink AS SELECT s.host AS src_host, d.host AS dst_host,"
    " l.transport_type, count(DISTINCT l.src_rank*1000000+l.dst_rank) AS links,"
    " sum(l.transit_size) AS transit_size, sum(l.transit_time) AS transit_time,"
    " 1.0*sum(l.transit_size)/nullif(sum(l.transit_time), 0) AS bandwidth"
    " FROM Link l LEFT JOIN Roster s ON s.rank=l.src_rank"
    " LEFT JOIN Roster d ON d.rank=l.dst_rank GROUP BY 1, 2, 3;"
    "CREATE VIEW SwitchStep AS SELECT t.rack, t.switch, s.step,"
    " count(*) AS ranks, avg(s.computing) AS computing,"
    " max(s.computing) AS max_computing,"
    " avg(s.communication_not_overlapped) AS communication_not_overlapped,"
    " avg(s.overlapped) AS overlapped, avg(s.free) AS free"
    " FROM StepByRank s LEFT JOIN Topology t ON t.host=s.host"
    " GROUP BY t.rack, t.switch, s.step;"
    "CREATE VIEW SwitchLink AS SELECT s.rack AS src_rack,"
    " s.switch AS src_switch, d.rack AS dst_rack, d.switch AS dst_switch,"
    " h.transport_type, sum(h.links) AS links,"
    " sum(h.transit_size) AS transit_size, sum(h.transit_time) AS transit_time,"
    " 1.0*sum(h.transit_size)/nullif(sum(h.transit_time), 0) AS bandwidth"
    " FROM HostLink h LEFT JOIN Topology s ON s.host=h.src_host"
    " LEFT JOIN Topology d ON d.host=h.dst_host GROUP BY 1, 2, 3, 4, 5;";

static int write_topology (sqlite3 *db, const struct topology *t,
                           struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO Topology VALUES (?1, ?2, ?3)", &st,
                         err);

    for (size_t i = 0; t && i < t->n && rc == 0; i++)
        rc = db_put (st, err, t->hosts[i].host, t->hosts[i].sw,
                     t->hosts[i].rack);
    (void)sqlite3_finalize (st);
    return rc;
}

/* Add a former result's rows of other ranks.  Rows are in the order of ranks. */
static int add_former (sqlite3 *db, const char *table, const char *rank,
                       const char *columns, struct err *err)
{
    if (!sqlite3_db_filename (db, "former"))
        return 0;
    return db_execf (db, err, "CREATE TEMP TABLE fresh AS SELECT * FROM"
                              " main.%s; DELETE FROM main.%s; INSERT INTO"
                              " main.%s SELECT %s FROM (SELECT *, rowid AS at"
                              " FROM former.%s UNION ALL SELECT *, rowid FROM"
                              " temp.fresh) ORDER BY %s, at; DROP TABLE"
                              " temp.fresh", table, table, table, columns,
                     table, rank);
}

int rollup_links (sqlite3 *db, struct err *err)
{
    int rc = db_exec (db, tables_sql, err);

    if (rc == 0)
        rc = db_exec (db, groups_sql, err);
    if (rc == 0)
        rc = db_exec (db, links_sql, err);
    return rc < 0 ? rc : add_former (db, "Link", "src_rank", LINK, err);
}

int rollup_derive (sqlite3 *db, const struct topology *topology,
                   struct err *err)
{
    int rc = db_exec (db, groups_sql, err);

    if (rc == 0)
        rc = db_exec (db, times_sql, err);
    if (rc == 0)
        rc = add_former (db, "GroupTime", "rank", GROUP_TIME, err);
    if (rc == 0)
        rc = db_exec (db, views_sql, err);
    return rc < 0 ? rc : write_topology (db, topology, err);
}
