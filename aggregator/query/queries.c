/* aggregator/query/queries.c - the named queries
 *
 * To add a query, add a row here.  Columns end in their unit; the columns that
 * a reader looks for come first; rows always have the same order.
 */
#include "query/query.h"

#include "publish/result_parts.h"

#define STEP_US "(computing+communication_not_overlapped+free)"

/* Restrict rows to one step; tables name steps in two ways. */
#define THIS_RANK "(:rank IS NULL OR rank=:rank)"
#define THIS_STEP "(:step IS NULL OR step=:step)"
#define THIS_COMM_STEP "(:step IS NULL OR step='step'||:step)"

/* To sort the first rows only, of many: all without :limit. */
#define FIRST "\nLIMIT ifnull(:limit,-1)"

/* How the rank's COMMAND ended, and when. */
#define COMMAND_END \
    "command_status,\n command_signal," \
    " strftime('%Y-%m-%dT%H:%M:%SZ',\n" \
    "  command_ended_ns/1000000000,'unixepoch') AS command_ended"

const struct query queries[] = {
    { "missing", "ranks that are not present, with the reason",
      "SELECT rank, state, host, expected, reason, " COMMAND_END "\n"
      "FROM Roster\n"
      "WHERE state<>'present' AND " THIS_RANK "\n"
      "ORDER BY rank" },
    // also for a present rank: it may have been killed after its capture
    { "ends", "how the COMMAND of each rank ended; failures first",
      "SELECT rank, host, " COMMAND_END ", state, reason\n"
      "FROM Roster WHERE " THIS_RANK "\n"
      "ORDER BY coalesce(command_status,-1)=0\n"
      " AND coalesce(command_signal,0)=0, command_ended_ns IS NULL,\n"
      " command_ended_ns, rank" },
    { "steps", "steps: how long, and where the time went, as means of ranks",
      "SELECT step, count(*) AS rows,\n"
      " round(avg(" STEP_US ")/1e3,3) AS step_ms,\n"
      " round(max(" STEP_US ")/1e3,3) AS longest_ms,\n"
      " round(avg(computing)/1e3,3) AS computing_ms,\n"
      " round(avg(communication_not_overlapped)/1e3,3)"
      " AS not_overlapped_ms,\n"
      " round(avg(overlapped)/1e3,3) AS overlapped_ms,\n"
      " round(avg(free)/1e3,3) AS free_ms\n"
      "FROM StepCounted WHERE " THIS_RANK " AND " THIS_STEP "\n"
      "GROUP BY step ORDER BY CAST(step AS INTEGER), step" },
    { "ranks", "ranks: where their time went, as means of steps; slowest first",
      "SELECT s.rank, r.state, r.verified, r.host, count(*) AS rows,\n"
      " round(avg(computing)/1e3,3) AS computing_ms,\n"
      " round(avg(" STEP_US ")/1e3,3) AS step_ms,\n"
      " round(avg(communication_not_overlapped)/1e3,3)"
      " AS not_overlapped_ms,\n"
      " round(avg(overlapped)/1e3,3) AS overlapped_ms,\n"
      " round(avg(free)/1e3,3) AS free_ms\n"
      "FROM StepCounted s LEFT JOIN Roster r ON r.rank=s.rank\n"
      "WHERE (:rank IS NULL OR s.rank=:rank) AND " THIS_STEP "\n"
      "GROUP BY s.rank ORDER BY computing_ms DESC, s.rank" },
    { "hosts", "hosts: their ranks, and where the time went",
      "SELECT r.host, count(DISTINCT r.rank) AS ranks,\n"
      " count(DISTINCT r.rank) FILTER (WHERE r.state<>'present')"
      " AS not_present,\n"
      " min(r.rank) AS first_rank, max(r.rank) AS last_rank,\n"
      " round(avg(computing)/1e3,3) AS computing_ms,\n"
      " round(avg(" STEP_US ")/1e3,3) AS step_ms,\n"
      " round(avg(communication_not_overlapped)/1e3,3)"
      " AS not_overlapped_ms,\n"
      " round(avg(free)/1e3,3) AS free_ms\n"
      "FROM Roster r LEFT JOIN StepCounted s ON s.rank=r.rank\n"
      "WHERE " THIS_STEP " GROUP BY r.host ORDER BY r.host" },
    // below 1 MB latency dominates
    { "links", "links, by transfers of 1 MB and more; slowest of a kind first",
      "SELECT transport_type AS transport, src_rank AS src, dst_rank AS dst,\n"
      " round(1.0*sum(large_size)/sum(large_time),3) AS bandwidth_gbps,\n"
      " round(sum(large_size),3) AS size_mb,\n"
      " round(sum(large_time),3) AS time_ms\n"
      "FROM Link WHERE large_time>0 AND " THIS_COMM_STEP "\n"
      " AND (:rank IS NULL OR :rank IN (src_rank, dst_rank))\n"
      "GROUP BY 1, 2, 3 ORDER BY 1, 4, 2, 3" },
    { "groups", "groups: members, ops, and the time of all ranks in them",
      "SELECT g.id, g.pg_name, g.type, g.size, m.ranks,\n"
      " ifnull(sum(t.ops),0) AS ops, round(sum(t.elapse_time),3)"
      " AS elapse_ms,\n"
      " round(sum(t.wait_time),3) AS wait_ms, g.group_name\n"
      "FROM CommGroup g LEFT JOIN (SELECT comm_group,\n"
      " group_concat(rank,',') AS ranks FROM (SELECT comm_group, rank\n"
      "  FROM CommGroupMember ORDER BY comm_group, rank)\n"
      " GROUP BY comm_group) m ON m.comm_group=g.id\n"
      "LEFT JOIN (SELECT comm_group, ops, elapse_time, wait_time\n"
      " FROM GroupTime WHERE " THIS_COMM_STEP ") t ON t.comm_group=g.id\n"
      "WHERE :rank IS NULL OR EXISTS (SELECT 1 FROM CommGroupMember\n"
      " WHERE comm_group=g.id AND rank=:rank)\n"
      "GROUP BY g.id ORDER BY g.id" },
    // WaitTotal has the first rows of all ranks and steps, in most results
    { "waits", "who was waited for, and by whom; the longest first",
      "WITH few AS (SELECT :rank IS NULL AND :step IS NULL AND\n"
      " ifnull(:limit<=(SELECT count(*) FROM WaitTotal),0) AS yes)\n"
      "SELECT late_rank, waiting_rank, w.comm_group, g.pg_name,\n"
      " ops, round(w.wait_ms,3) AS wait_ms,\n"
      " round(clock_error_ms,3) AS clock_error_ms\n"
      "FROM (SELECT * FROM WaitTotal WHERE (SELECT yes FROM few)\n"
      " UNION ALL SELECT late_rank, waiting_rank, comm_group, sum(ops) AS ops,\n"
      "  sum(wait_ms) AS wait_ms, max(clock_error_ms) AS clock_error_ms\n"
      "  FROM Wait WHERE NOT (SELECT yes FROM few)\n"
      "  AND (:rank IS NULL OR :rank IN (late_rank, waiting_rank))\n"
      "  AND " THIS_COMM_STEP "\n"
      "  GROUP BY 1, 2, 3\n"
      " ORDER BY wait_ms DESC, 1, 2, 3" FIRST ") w\n"
      "LEFT JOIN CommGroup g ON g.id=w.comm_group\n"
      "ORDER BY w.wait_ms DESC, 1, 2, 3" },
    { "late", "who was waited for, in all; the longest first",
      "SELECT late_rank, sum(ops) AS ops,\n"
      " count(DISTINCT waiting_rank) AS waiting_ranks,\n"
      " round(sum(wait_ms),3) AS wait_ms\n"
      "FROM Wait WHERE " THIS_COMM_STEP "\n"
      " AND (:rank IS NULL OR late_rank=:rank)\n"
      "GROUP BY 1 ORDER BY sum(wait_ms) DESC, 1" },
    { "ops", "kinds of communication ops: how many, how long; most time first",
      "SELECT kind, type, sum(ops) AS ops,\n"
      " count(DISTINCT rank) AS ranks,\n"
      " round(sum(elapse_time),3) AS elapse_ms,\n"
      " round(1.0*sum(elapse_time)/sum(ops),3) AS mean_ms,\n"
      " round(max(max_elapse_time),3) AS longest_ms,\n"
      " round(sum(wait_time),3) AS wait_ms\n"
      "FROM OpTime WHERE " THIS_RANK " AND " THIS_COMM_STEP "\n"
      "GROUP BY 1, 2 ORDER BY sum(elapse_time) DESC, 1, 2" },
    { "longest", "single communication ops; the longest first",
      "SELECT rank, step, hccl_op_name AS op,\n"
      " round(elapse_time,3) AS elapse_ms,\n"
      " round(transit_time,3) AS transit_ms, round(wait_time,3) AS wait_ms,\n"
      " start_timestamp AS start_us, group_name\n"
      "FROM CommAnalyzerTime WHERE " THIS_RANK " AND " THIS_COMM_STEP "\n"
      "ORDER BY elapse_time DESC, rank, CommAnalyzerTime.rowid" FIRST },
    { "packets", "packets by transport and size: how many, how fast",
      "SELECT transport_type AS transport, package_size AS packet_mb,\n"
      " sum(count) AS packets, round(sum(total_duration),3) AS time_ms,\n"
      " CASE WHEN sum(total_duration)>0 AND package_size>0 THEN\n"
      "  round(1.0*sum(count)*package_size/sum(total_duration),3) END"
      " AS bandwidth_gbps\n"
      "FROM PacketTime\n"
      "WHERE " THIS_RANK " AND " THIS_COMM_STEP "\n"
      "GROUP BY 1, 2 ORDER BY 1, 2" },
    { "memory", "peaks of memory; the highest first",
      "SELECT rank, component, kind, round(max(peak),1) AS peak_mib\n"
      "FROM MemoryPeak WHERE " THIS_RANK "\n"
      "GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3" },
    { "kernels", "operators of the device: how many, how long; most time first",
      "SELECT op_type, core_type, sum(count) AS count,\n"
      " count(DISTINCT rank) AS ranks,\n"
      " round(sum(total_time)/1e3,3) AS total_ms,\n"
      " round(max(max_time)/1e3,3) AS longest_ms\n"
      "FROM OperatorStatistic WHERE " THIS_RANK "\n"
      "GROUP BY 1, 2 ORDER BY sum(total_time) DESC, 1, 2" },
    // without :peer all other ranks are put together
    { "slower", "kernels of a rank that take longer than those of another",
      "WITH k AS (SELECT rank, name, op_type, core_type, input_shapes,\n"
      "  sum(count) AS n, 1.0*sum(total_time) AS us FROM KernelDetail\n"
      " WHERE rank IS NOT NULL AND name<>'(others)' AND " THIS_STEP "\n"
      " GROUP BY 1, 2, 3, 4, 5),\n"
      "o AS (SELECT name, op_type, core_type, input_shapes, sum(n) AS n,\n"
      "  sum(us) AS us FROM k WHERE :peer IS NULL OR rank=:peer\n"
      " GROUP BY 1, 2, 3, 4),\n"
      "both AS (SELECT k.*, k.us/k.n AS mine,\n"
      "  CASE WHEN :peer IS NULL AND o.n>k.n THEN (o.us-k.us)/(o.n-k.n)\n"
      "   WHEN :peer IS NOT NULL AND o.n>0 THEN o.us/o.n END AS theirs\n"
      " FROM k JOIN o ON o.name IS k.name AND o.op_type IS k.op_type\n"
      "  AND o.core_type IS k.core_type\n"
      "  AND o.input_shapes IS k.input_shapes WHERE " THIS_RANK ")\n"
      "SELECT rank, name, op_type, n AS count, round(mine,3) AS mean_us,\n"
      " round(theirs,3) AS other_us,\n"
      " round(100*(mine/nullif(theirs,0)-1),1) AS slower_percent,\n"
      " round(n*(mine-theirs)/1e3,3) AS slower_ms, input_shapes\n"
      "FROM both WHERE mine>theirs\n"
      "ORDER BY n*(mine-theirs) DESC, rank, name, input_shapes" },
    { "apis", "calls of APIs: how many, how long; most time first",
      "SELECT level, api_name, sum(count) AS count,\n"
      " count(DISTINCT rank) AS ranks,\n"
      " round(sum(total_time)/1e3,3) AS total_ms,\n"
      " round(max(max_time)/1e3,3) AS longest_ms\n"
      "FROM ApiStatistic WHERE " THIS_RANK "\n"
      "GROUP BY 1, 2 ORDER BY sum(total_time) DESC, 1, 2" },
    { "differ", "settings and environment that are not the same on all ranks",
      "SELECT kind, name, value, count(DISTINCT rank) AS ranks,\n"
      " group_concat(DISTINCT rank) AS which\n"
      "FROM (SELECT DISTINCT kind, name, value, rank FROM CaptureInfo i\n"
      " WHERE kind NOT IN ('clock','breakdown','session','host','threads',"
      "\n  'link_total','minddata') AND name<>'distributed_args.rank'\n"
      " AND (kind, name) IN (SELECT kind, name FROM CaptureInfo\n"
      "  GROUP BY 1, 2 HAVING min(ifnull(value,''))<max(ifnull(value,''))\n"
      "   OR count(DISTINCT rank)<(SELECT count(DISTINCT rank)"
      " FROM CaptureInfo))\n"
      " ORDER BY rank) i\n"
      "GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC, 3" },
    { "settings", "settings and environment, as the captures have them",
      "SELECT kind, name, value, count(DISTINCT rank) AS ranks\n"
      "FROM CaptureInfo WHERE " THIS_RANK "\n"
      "GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC, 3" },
    { "clocks", "clocks of ranks: how far from the others' they seem to be",
      "SELECT i.rank, r.host, CAST(i.value AS REAL) AS offset_ms\n"
      "FROM CaptureInfo i LEFT JOIN Roster r ON r.rank=i.rank\n"
      "WHERE i.kind='clock' AND i.name='offset_ms'\n"
      " AND (:rank IS NULL OR i.rank=:rank)\n"
      "ORDER BY abs(CAST(i.value AS REAL)) DESC, i.rank" },
    { "captures", "captures: where from, in which state, and why",
      "SELECT rank, host, state, framework, source, profiler_level AS level,\n"
      " steps, raw_bytes, name, reason\n"
      "FROM Capture WHERE " THIS_RANK " ORDER BY rank IS NULL, rank, id" },
    { "job", "the job and how this result was built",
      "SELECT key, value FROM Job WHERE key NOT LIKE 'unit.%' ORDER BY rowid" },
    { "tables", "tables and views, with their columns and units",
      "SELECT s.name AS \"table\", s.type AS kind, c.name AS \"column\",\n"
      " c.type, j.value AS unit\n"
      "FROM " PARTS_SCHEMA_SQL " s\n"
      "JOIN pragma_table_info(s.name) c\n"
      "LEFT JOIN Job j ON j.key='unit.'||s.name||'.'||c.name\n"
      "WHERE s.type IN ('table','view') ORDER BY s.place, c.cid" },
};

const unsigned query_count = sizeof (queries) / sizeof (queries[0]);
