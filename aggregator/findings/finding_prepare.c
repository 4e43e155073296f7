/* aggregator/findings/finding_prepare.c - what the rules of findings read
 *
 * Small tables, of ranks and steps: of the large ones only sums are read.  A
 * spread is 1.4826 times the median of the distances from the median, which of
 * normal noise is its standard deviation, and which one rank cannot spoil.
 */
#include "findings/finding_rules.h"

#define SPREAD "1.4826*median(abs("

// Ranks with their stage of a pipeline; rank and step in ms, steps in order.
static const char steps_sql[] =
    "CREATE TEMP TABLE f_rank AS SELECT r.rank, r.host, ifnull(p.stage, 0) AS"
    " stage FROM Roster r LEFT JOIN (SELECT m.rank, min(m.group_rank) AS stage"
    "  FROM CommGroup g JOIN CommGroupMember m ON m.comm_group=g.id"
    "  WHERE g.pg_name LIKE 'pp%' GROUP BY m.rank) p ON p.rank=r.rank;"
    "CREATE TEMP TABLE f_step AS SELECT s.rank, r.host, r.stage, s.step,"
    " dense_rank() OVER (ORDER BY CAST(s.step AS INTEGER), s.step) AS ord,"
    " computing, exposed, overlapped, free, bubble, preparing,"
    " computing+exposed+free AS ms FROM (SELECT rank,"
    "  ifnull(step, '') AS step, avg(computing)/1000.0 AS computing,"
    "  avg(communication_not_overlapped)/1000.0 AS exposed,"
    "  avg(overlapped)/1000.0 AS overlapped, avg(free)/1000.0 AS free,"
    "  avg(bubble)/1000.0 AS bubble, avg(preparing)/1000.0 AS preparing"
    "  FROM StepTraceTime WHERE computing IS NOT NULL AND free IS NOT NULL"
    "  AND communication_not_overlapped IS NOT NULL"
    "  GROUP BY rank, ifnull(step, '')) s JOIN f_rank r ON r.rank=s.rank;"
    "CREATE INDEX temp.f_step_rank ON f_step(rank, ord);"
    "CREATE INDEX temp.f_step_host ON f_step(host, ord, computing);"
    "CREATE INDEX temp.f_step_ord ON f_step(ord, step);"
    "CREATE TEMP TABLE f_mean AS SELECT rank, host, avg(ms) AS ms,"
    " avg(free) AS free, avg(preparing) AS preparing FROM f_step"
    " GROUP BY rank;"
    "CREATE TEMP TABLE f_job AS SELECT (SELECT count(DISTINCT ord) FROM f_step)"
    " AS steps, (SELECT count(DISTINCT rank) FROM f_step) AS ranks,"
    " (SELECT avg(ms) FROM f_step) AS ms;";

// Hosts whose ranks all compute longer, by step; from the first such step on
// it must be so in half of the steps.  A rank is compared with other hosts that
// have its stage, or with all hosts if there is none.  The baseline is the
// lower median of hosts, so that of two the faster one is it.
static const char hosts_sql[] =
    "CREATE TEMP TABLE f_place AS SELECT host, stage, ord, median(computing)"
    " AS mid FROM f_step WHERE host IS NOT NULL GROUP BY host, stage, ord;"
    "CREATE TEMP TABLE f_host AS SELECT host, ord, median(computing) AS mid"
    " FROM f_step WHERE host IS NOT NULL GROUP BY host, ord;"
    "CREATE TEMP TABLE f_host_step AS SELECT s.host, s.ord, s.computing-"
    " ifnull(p.base, b.base) AS x, ifnull(p.base, b.base) AS base,"
    " p.base IS NULL AS alone FROM f_step s JOIN (SELECT ord, median_low(mid)"
    "  AS base FROM f_host GROUP BY ord HAVING count(*)>=2) b ON b.ord=s.ord"
    " LEFT JOIN (SELECT stage, ord, median_low(mid) AS base FROM f_place"
    "  GROUP BY stage, ord HAVING count(*)>=2) p ON p.stage=s.stage AND"
    " p.ord=s.ord WHERE s.host IS NOT NULL;"
    "CREATE TEMP TABLE f_host_mid AS SELECT host, ord, median(x) AS x,"
    " median(base) AS base, max(alone) AS alone, count(*)>=2 AND 4*sum(x>"
    " base*:slow_host_percent/200)>=3*count(*) AS most FROM f_host_step"
    " GROUP BY host, ord;"
    "CREATE TEMP TABLE f_host_hit AS SELECT h.*, h.most AND"
    " h.x>h.base*:slow_host_percent/100 AND h.x>:sigmas*v.spread AS hit"
    " FROM f_host_mid h JOIN (SELECT s.ord, " SPREAD "s.x-h.x)) AS spread"
    "  FROM f_host_step s JOIN f_host_mid h ON h.host=s.host AND h.ord=s.ord"
    "  GROUP BY s.ord) v ON v.ord=h.ord;"
    "CREATE TEMP TABLE f_slow_host AS SELECT h.host, f.ord, avg(h.x) AS x,"
    " avg(h.base) AS base, max(h.alone) AS alone FROM f_host_hit h JOIN ("
    "SELECT host, min(ord) AS ord"
    "  FROM f_host_hit WHERE hit GROUP BY host) f ON f.host=h.host"
    " AND h.ord>=f.ord GROUP BY h.host HAVING 2*sum(h.hit)>=count(*)"
    " AND sum(h.hit)>=(SELECT min(2, steps) FROM f_job);";

// A rank is compared with those of its stage, or with all if it is alone there;
// of a slow host with those of its host.  What is noise all such classes tell,
// or of two alone how their difference changes from step to step (which a rank
// that is slow from a step on changes once).  Two steps tell little: half of
// the threshold is noise then.  Of two ranks the faster one is the baseline.
static const char ranks_sql[] =
    "CREATE TEMP TABLE f_class AS SELECT rank, CASE WHEN host IN (SELECT host"
    " FROM f_slow_host) THEN 'host '||host WHEN count(*) OVER (PARTITION BY"
    " stage)>=2 THEN 'stage '||stage ELSE '' END AS class FROM (SELECT"
    " DISTINCT rank, host, stage FROM f_step);"
    "CREATE TEMP TABLE f_computing AS SELECT s.rank, s.ord, c.class,"
    " s.computing FROM f_step s JOIN f_class c ON c.rank=s.rank;"
    "CREATE TEMP TABLE f_class_base AS SELECT class, ord, CASE count(*) WHEN 2"
    " THEN median_low(computing) ELSE median(computing) END AS base,"
    " count(*) AS n, max(rank) AS last FROM f_computing WHERE class<>''"
    " GROUP BY class, ord UNION ALL SELECT '', ord, CASE count(*) WHEN 2 THEN"
    " median_low(computing) ELSE median(computing) END, 2*(count(*)=2),"
    " max(rank) FROM f_computing WHERE class NOT LIKE 'host %' GROUP BY ord;"
    "CREATE TEMP TABLE f_pair AS SELECT c.class, c.ord, b.base, sum(CASE WHEN"
    " c.rank=b.last THEN c.computing ELSE -c.computing END) AS x"
    " FROM f_computing c JOIN f_class_base b ON b.class=c.class AND"
    " b.ord=c.ord WHERE b.n=2 GROUP BY c.class, c.ord;"
    "CREATE TEMP TABLE f_pooled AS SELECT c.ord, " SPREAD
    "c.computing-b.base)) AS spread FROM f_computing c JOIN f_class_base b ON"
    " b.class=c.class AND b.ord=c.ord WHERE b.n>2 GROUP BY c.ord;"
    "CREATE TEMP TABLE f_noise AS SELECT c.class, c.ord, max(p.spread,"
    " " SPREAD "c.computing-b.base))) AS spread FROM f_computing c"
    " JOIN f_class_base b ON b.class=c.class AND b.ord=c.ord JOIN f_pooled p"
    " ON p.ord=c.ord WHERE b.n>2 GROUP BY c.class, c.ord UNION ALL"
    " SELECT '', c.ord, ifnull(p.spread, " SPREAD "c.computing-b.base)))"
    " FROM f_computing c JOIN f_class_base b ON b.class='' AND b.n=0 AND"
    " b.ord=c.ord LEFT JOIN f_pooled p ON p.ord=c.ord WHERE c.class NOT LIKE"
    " 'host %' GROUP BY c.ord UNION ALL SELECT p.class, p.ord, max(v.spread,"
    "  p.base*(v.n=1)*:slow_rank_percent/200) FROM f_pair p JOIN (SELECT class,"
    "  1.0484*median(abs(dx)) AS spread, count(*) AS n FROM (SELECT class,"
    "   x-lag(x) OVER (PARTITION BY class ORDER BY ord) AS dx FROM f_pair)"
    "  WHERE dx IS NOT NULL GROUP BY class) v ON v.class=p.class;"
    "CREATE TEMP TABLE f_rank_hit AS SELECT c.rank, c.ord, c.computing-b.base"
    " AS x, b.base, c.computing-b.base>b.base*:slow_rank_percent/100"
    " AND c.computing-b.base>:sigmas*v.spread AS hit FROM f_computing c"
    " JOIN f_class_base b ON b.class=c.class AND b.ord=c.ord"
    " JOIN f_noise v ON v.class=c.class AND v.ord=c.ord;"
    "CREATE TEMP TABLE f_slow_rank AS SELECT h.rank, f.ord, avg(h.x) AS x,"
    " avg(h.base) AS base FROM f_rank_hit h JOIN (SELECT rank, min(ord) AS ord"
    "  FROM f_rank_hit WHERE hit GROUP BY rank) f ON f.rank=h.rank"
    " AND h.ord>=f.ord GROUP BY h.rank HAVING 2*sum(h.hit)>=count(*)"
    " AND sum(h.hit)>=(SELECT min(2, steps) FROM f_job);";

// What a link should need: its data at the median bandwidth of its transport,
// within hosts or between them, in groups of that kind if there are four
// (others have packets of other sizes).  Of less than a MB the time is latency.
// All members of a group are held up by a link in it: f_held, of an average
// rank.
static const char links_sql[] =
    "CREATE TEMP TABLE f_use AS SELECT l.src_rank AS src, l.dst_rank AS dst,"
    " s.host AS src_host, d.host AS dst_host, l.transport_type AS transport,"
    " CASE WHEN s.host IS NULL OR d.host IS NULL THEN"
    "  l.transport_type<>'RDMA' ELSE s.host=d.host END AS same,"
    " ifnull(k.kind, '') AS kind,"
    " total(l.transit_size) AS mb, total(l.transit_time) AS ms,"
    " total(l.transit_size)/total(l.transit_time) AS bw"
    " FROM Link l LEFT JOIN f_rank s ON s.rank=l.src_rank LEFT JOIN f_rank d"
    " ON d.rank=l.dst_rank LEFT JOIN GroupKind k ON k.comm_group=l.comm_group"
    " WHERE l.transit_size>=1 AND l.transit_time>0"
    " AND l.transport_type IN ('HCCS', 'PCIE', 'RDMA', 'SIO')"
    " GROUP BY l.src_rank, l.dst_rank, l.transport_type, k.kind;"
    "CREATE TEMP TABLE f_use_base AS SELECT transport, same, kind,"
    " median(bw) AS base FROM f_use GROUP BY 1, 2, 3 HAVING count(*)>=4;"
    "CREATE TEMP TABLE f_use_any AS SELECT transport, same, median(bw) AS base"
    " FROM f_use GROUP BY 1, 2 HAVING count(*)>=4;"
    "CREATE TEMP TABLE f_link AS SELECT u.src, u.dst, u.src_host, u.dst_host,"
    " u.same, group_concat(DISTINCT u.transport) AS transport, sum(u.mb) AS mb,"
    " sum(u.ms) AS ms, sum(u.mb/ifnull(b.base, a.base)) AS want FROM f_use u"
    " JOIN f_use_any a ON a.transport=u.transport AND a.same=u.same"
    " LEFT JOIN f_use_base b ON b.transport=u.transport AND b.same=u.same"
    " AND b.kind=u.kind GROUP BY u.src, u.dst;"
    "CREATE TEMP TABLE f_slow_link AS SELECT l.* FROM f_link l JOIN (SELECT"
    "  same, " SPREAD "want/ms-1)) AS spread FROM f_link GROUP BY same) v"
    " ON v.same=l.same WHERE l.want/l.ms<1-:slow_link_percent/100"
    " AND 1-l.want/l.ms>:sigmas*v.spread;"
    "CREATE TEMP TABLE f_held AS SELECT (SELECT"
    " total(l.transit_time*(1-s.want/s.ms)*g.n) FROM f_slow_link s JOIN Link l"
    "  ON l.src_rank=s.src AND l.dst_rank=s.dst AND l.transit_size>=1"
    "  JOIN (SELECT comm_group, count(*) AS n FROM CommGroupMember"
    "   GROUP BY comm_group) g ON g.comm_group=l.comm_group)/"
    " max(ranks*steps, 1) AS ms FROM f_job;"
    // half of what a host sends or receives: not the links, but the host
    "CREATE TEMP TABLE f_end AS SELECT l.src_host AS host, 'sends' AS way,"
    " l.src AS rank, l.dst AS peer, l.mb, l.ms, l.want, s.src IS NOT NULL AS"
    " slow FROM f_link l LEFT JOIN f_slow_link s ON s.src=l.src AND"
    " s.dst=l.dst WHERE NOT l.same UNION ALL SELECT l.dst_host, 'receives',"
    " l.dst, l.src, l.mb, l.ms, l.want, s.src IS NOT NULL FROM f_link l"
    " LEFT JOIN f_slow_link s ON s.src=l.src AND s.dst=l.dst WHERE NOT l.same;"
    "CREATE TEMP TABLE f_slow_port AS SELECT host, way, count(*) AS n,"
    " sum(slow) AS slow FROM f_end WHERE host IS NOT NULL GROUP BY host, way"
    " HAVING count(*)>=4 AND 2*sum(slow)>=count(*);";

// Waiting, as ms of an average step: what a rank makes an average member of
// a group wait, in the group where that is most, and how long it waits itself.
// Before its first transfer an op waits for others, as the profiler sees it.
static const char waits_sql[] =
    "CREATE TEMP TABLE f_caused AS SELECT w.late_rank AS rank, w.comm_group,"
    " total(w.wait_ms)/max(g.n-1, 1)/max(j.steps, 1) AS ms FROM Wait w"
    " JOIN (SELECT comm_group, count(*) AS n FROM CommGroupMember"
    "  GROUP BY comm_group) g ON g.comm_group=w.comm_group JOIN f_job j"
    " GROUP BY w.late_rank, w.comm_group;"
    "CREATE TEMP TABLE f_own AS SELECT w.waiting_rank AS rank,"
    " total(w.wait_ms)/max(j.steps, 1) AS ms,"
    " total(CASE WHEN g.type='p2p' THEN 0"
    " ELSE w.wait_ms END)/max(j.steps, 1) AS collective_ms FROM Wait w"
    " JOIN CommGroup g ON g.id=w.comm_group JOIN f_job j"
    " GROUP BY w.waiting_rank;"
    "CREATE TEMP TABLE f_sync AS SELECT t.rank, total(CASE WHEN g.type='p2p'"
    " THEN 0 ELSE t.synchronization_time END)/max(j.steps, 1) AS"
    " collective_ms, total(CASE WHEN g.type='p2p' THEN"
    "  t.synchronization_time END)/max(j.steps, 1) AS p2p_ms FROM GroupTime t"
    " JOIN CommGroup g ON g.id=t.comm_group JOIN f_job j GROUP BY t.rank;"
    "CREATE TEMP TABLE f_blame AS SELECT late_rank, waiting_rank,"
    " total(wait_ms) AS ms FROM Wait GROUP BY late_rank, waiting_rank;"
    "CREATE INDEX temp.f_blame_rank ON f_blame(late_rank);"
    "CREATE TEMP TABLE f_late AS SELECT m.rank, m.ms AS step_ms,"
    " ifnull(c.ms, 0) AS ms, ifnull(c.ms, 0)-max(ifnull(o.ms, 0),"
    " ifnull(y.collective_ms+y.p2p_ms, 0)) AS net FROM f_mean m LEFT JOIN"
    " (SELECT rank, max(ms) AS ms FROM f_caused GROUP BY rank) c ON"
    " c.rank=m.rank LEFT JOIN f_own o ON o.rank=m.rank LEFT JOIN f_sync y ON"
    " y.rank=m.rank;";

// A receive that takes longer than the shortest op of its name in its group
// (the send, mostly) waits for the other stage.  Of ops that send and receive
// at once it is what the profiler saw of waiting.
static const char bubbles_sql[] =
    "CREATE TEMP TABLE f_p2p AS SELECT rank, group_name, step,"
    " substr(hccl_op_name, instr(hccl_op_name, '__')) AS name,"
    " hccl_op_name LIKE '%batch%' AS batch, hccl_op_name LIKE '%rec%' AS"
    " receives, elapse_time AS ms, synchronization_time AS sync"
    " FROM CommAnalyzerTime WHERE type='p2p' AND group_name IS NOT NULL"
    " AND instr(hccl_op_name, '__')>0;"
    "CREATE TEMP TABLE f_bubble AS SELECT w.rank, total(w.ms)/j.steps AS ms"
    " FROM (SELECT p.rank, p.ms-s.ms AS ms FROM f_p2p p JOIN (SELECT"
    "   group_name, step, name, min(ms) AS ms FROM f_p2p WHERE NOT batch"
    "   GROUP BY group_name, step, name) s ON s.group_name=p.group_name AND"
    "  s.step IS p.step AND s.name=p.name WHERE p.receives AND NOT p.batch"
    "  UNION ALL SELECT rank, sync FROM f_p2p WHERE batch AND sync IS NOT NULL)"
    " w JOIN f_job j GROUP BY w.rank;"
    "DROP TABLE temp.f_p2p;";

// The median step of all ranks, and where its level rises: the cut that leaves
// the smallest sum of squares, moved back over steps that are late already.
static const char trend_sql[] =
    "CREATE TEMP TABLE f_trend AS SELECT ord, min(step) AS step,"
    " median(ms) AS ms FROM f_step GROUP BY ord;"
    "CREATE TEMP TABLE f_level AS SELECT c.ord, median(t.ms) AS ms FROM"
    " (SELECT ord FROM (SELECT ord,"
    "   sum(ms) OVER (ORDER BY ord ROWS UNBOUNDED PRECEDING)-ms AS s,"
    "   row_number() OVER (ORDER BY ord)-1 AS k, count(*) OVER () AS n,"
    "   sum(ms) OVER () AS whole FROM f_trend) WHERE k>=2 AND n-k>=2"
    "  ORDER BY s*s/k+(whole-s)*(whole-s)/(n-k) DESC LIMIT 1) c"
    " JOIN f_trend t ON t.ord<c.ord GROUP BY c.ord;"
    "CREATE TEMP TABLE f_cut AS SELECT max((SELECT ifnull(max(t.ord), 0)+1"
    "  FROM f_trend t WHERE t.ord<l.ord AND NOT"
    "  (t.ms>l.ms*(1+:late_steps_percent/100) AND t.ms-l.ms>:sigmas*(SELECT"
    "   " SPREAD "e.ms-l.ms)) FROM f_trend e WHERE e.ord<l.ord))),"
    " (SELECT min(ord)+2 FROM f_trend)) AS ord FROM f_level l;"
    "CREATE TEMP TABLE f_before AS SELECT median(t.ms) AS ms FROM f_trend t"
    " JOIN f_cut c WHERE t.ord<c.ord;"
    "CREATE TEMP TABLE f_rise AS SELECT c.ord, b.ms AS base,"
    " avg(t.ms)-b.ms AS x, median(t.ms) AS mid, count(*) AS n,"
    " max(t.ms) AS most FROM f_trend t JOIN f_cut c JOIN f_before b"
    " WHERE t.ord>=c.ord GROUP BY c.ord HAVING b.ms>0"
    " AND median(t.ms)-b.ms>b.ms*:late_steps_percent/100"
    " AND median(t.ms)-b.ms>:sigmas*(SELECT " SPREAD "e.ms-b.ms)) FROM"
    "  f_trend e WHERE e.ord<c.ord)"
    " AND 4*sum(t.ms>b.ms*(1+:late_steps_percent/100))>=3*count(*);"
    "CREATE TEMP TABLE f_even AS SELECT median(ms) AS mid FROM f_trend t"
    " WHERE t.ord<ifnull((SELECT ord FROM f_rise), 1e9);"
    "CREATE TEMP TABLE f_even_spread AS SELECT " SPREAD "t.ms-e.mid)) AS"
    " spread, count(*) AS n FROM f_trend t JOIN f_even e"
    " WHERE t.ord<ifnull((SELECT ord FROM f_rise), 1e9);";

// A clock is its host's: how ranks of one host differ is how unevenly ops end,
// and a rank of its own only if it differs by more than that.
static const char clocks_sql[] =
    "CREATE TEMP TABLE f_offset AS SELECT r.rank, ifnull(r.host, '') AS host,"
    " CAST(i.value AS REAL) AS ms FROM CaptureInfo i JOIN f_rank r ON"
    " r.rank=i.rank WHERE i.kind='clock' AND i.name='offset_ms'"
    " AND i.capture NOT IN (SELECT id FROM Capture WHERE started_ns IS NULL);"
    "CREATE TEMP TABLE f_clock AS SELECT o.*, h.mid FROM f_offset o JOIN"
    " (SELECT host, median(ms) AS mid FROM f_offset GROUP BY host) h"
    " ON h.host=o.host;"
    "CREATE TEMP TABLE f_clock_noise AS SELECT max(:clock_ms,"
    " :sigmas*1.4826*median_low(abs(ms-mid))) AS ms FROM f_clock;"
    "CREATE TEMP TABLE f_clock_host AS SELECT c.host, min(c.rank) AS rank,"
    " c.mid AS ms, count(*) AS n FROM f_clock c JOIN f_clock_noise z"
    " WHERE c.host<>'' AND abs(c.mid)>z.ms GROUP BY c.host"
    " HAVING count(*)>=2 AND 4*sum(abs(c.ms-c.mid)<=z.ms)>=3*count(*);";

const char *const finding_prepare[] = { steps_sql, hosts_sql,   ranks_sql,
                                        links_sql, waits_sql,   bubbles_sql,
                                        trend_sql, clocks_sql,  NULL };

// One that comes late because it computes longer, was left idle, or has a slow
// link: the cause is named, and the lateness is a note.  So it is of one that
// was held up by a slow link, or may have waited for a missing rank, in a group
// without the rank that waits; and so are bubbles for which a cause of half
// their size was found.
const char finding_explain[] =
    "CREATE TEMP TABLE f_cause AS SELECT rank, min(id) AS id FROM (SELECT id,"
    " rank FROM Finding WHERE kind IN ('slow_rank', 'free_time', 'slow_link')"
    " UNION ALL SELECT id, peer FROM Finding WHERE kind='slow_link'"
    " UNION ALL SELECT f.id, r.rank FROM Finding f JOIN f_rank h ON"
    "  h.rank=f.rank JOIN f_rank r ON r.host=h.host WHERE f.kind IN"
    "  ('slow_host', 'slow_port')) GROUP BY rank;"
    "INSERT INTO f_cause SELECT m.rank, min(f.id) FROM Finding f"
    " JOIN CommGroupMember a ON a.rank=f.rank JOIN CommGroupMember b ON"
    " b.rank=f.peer AND b.comm_group=a.comm_group JOIN CommGroupMember m ON"
    " m.comm_group=a.comm_group JOIN Finding l ON l.kind='late_arriver' AND"
    " l.rank=m.rank WHERE f.kind='slow_link' AND m.rank NOT IN (SELECT rank"
    "  FROM f_cause) AND NOT EXISTS (SELECT 1 FROM CommGroupMember p WHERE"
    "  p.comm_group=a.comm_group AND p.rank=l.peer) GROUP BY m.rank;"
    "UPDATE Finding SET severity='note', text=text||' This follows from '||"
    " 'finding '||(SELECT c.id FROM f_cause c WHERE c.rank=Finding.rank)||'.'"
    " WHERE kind='late_arriver' AND rank IN (SELECT rank FROM f_cause);"
    "DROP TABLE temp.f_cause;"
    "UPDATE Finding SET severity='note', text=text||' This may follow from '||"
    " 'finding '||(SELECT f.id FROM Finding f WHERE f.kind IN"
    "  ('slow_rank', 'slow_host', 'slow_link', 'slow_port')"
    "  ORDER BY f.effect_ms DESC, f.id LIMIT 1)||'.' WHERE"
    " kind='pipeline_bubble' AND"
    " EXISTS (SELECT 1 FROM Finding f WHERE f.kind IN ('slow_rank',"
    "  'slow_host', 'slow_link', 'slow_port') AND"
    "  2*f.effect_ms>=Finding.effect_ms);"
    "UPDATE Finding SET severity='note', text=text||' Packets over it are"
    " small: see finding '||(SELECT s.id FROM Finding s WHERE s.kind="
    "  'small_packets')||'.' WHERE kind='slow_link' AND effect_ms<(SELECT"
    "  s.effect_ms FROM Finding s WHERE s.kind='small_packets');"
    "CREATE TEMP TABLE f_absent AS SELECT f.id, min(a.rank) AS rank"
    " FROM Finding f JOIN CommGroupMember m ON m.rank=f.rank"
    " JOIN CommGroupMember a ON a.comm_group=m.comm_group"
    " JOIN Roster r ON r.rank=a.rank WHERE f.kind='late_arriver' AND"
    " f.severity<>'note' AND r.expected AND r.state<>'present' AND NOT EXISTS"
    "  (SELECT 1 FROM CommGroupMember p WHERE p.comm_group=m.comm_group AND"
    "   p.rank=f.peer) AND EXISTS (SELECT 1 FROM GroupTime t WHERE"
    "   t.comm_group=m.comm_group AND t.rank=m.rank) GROUP BY f.id;"
    "UPDATE Finding SET severity='note', text=text||' It may itself have"
    " waited for rank '||(SELECT a.rank FROM f_absent a WHERE"
    "  a.id=Finding.id)||', which is missing.' WHERE id IN (SELECT id FROM"
    "  f_absent);"
    "DROP TABLE temp.f_absent;";

const char finding_forget[] =
    "DROP TABLE temp.f_rank; DROP TABLE temp.f_step; DROP TABLE temp.f_mean;"
    "DROP TABLE temp.f_job; DROP TABLE temp.f_place; DROP TABLE temp.f_host;"
    "DROP TABLE temp.f_host_step; DROP TABLE temp.f_host_mid;"
    "DROP TABLE temp.f_host_hit;"
    "DROP TABLE temp.f_slow_host; DROP TABLE temp.f_class;"
    "DROP TABLE temp.f_computing; DROP TABLE temp.f_class_base;"
    "DROP TABLE temp.f_pair; DROP TABLE temp.f_pooled;"
    "DROP TABLE temp.f_noise; DROP TABLE temp.f_use_any;"
    "DROP TABLE temp.f_rank_hit; DROP TABLE temp.f_slow_rank;"
    "DROP TABLE temp.f_use; DROP TABLE temp.f_use_base; DROP TABLE temp.f_link;"
    "DROP TABLE temp.f_slow_link; DROP TABLE temp.f_held;"
    "DROP TABLE temp.f_end; DROP TABLE temp.f_level;"
    "DROP TABLE temp.f_slow_port;"
    "DROP TABLE temp.f_caused; DROP TABLE temp.f_own; DROP TABLE temp.f_late;"
    "DROP TABLE temp.f_blame; DROP TABLE temp.f_sync;"
    "DROP TABLE temp.f_trend; DROP TABLE temp.f_cut; DROP TABLE temp.f_before;"
    "DROP TABLE temp.f_bubble; DROP TABLE temp.f_rise; DROP TABLE temp.f_even;"
    "DROP TABLE temp.f_even_spread; DROP TABLE temp.f_clock;"
    "DROP TABLE temp.f_offset; DROP TABLE temp.f_clock_noise;"
    "DROP TABLE temp.f_clock_host; DROP TABLE temp.f_packet;"
    "DROP TABLE temp.f_retry;";
