-- tests/system/event_db_truth.sql - an event database's tables, by SQL
--
-- main: the analysis.db, e: the event database that it was made of.  Prints how
-- many rows of each table there are that are not as formats.md has it, either
-- way; numbers may differ in the 12th digit.

CREATE TEMP TABLE task AS
 SELECT i.opId AS op, i.planeId AS plane, n.value AS kind,
  t.startNs AS start, t.endNs - t.startNs AS dur, t.endNs AS end,
  l.name AS link, i.size / 1e6 AS mb, i.srcRank AS src, i.dstRank AS dst,
  i.isMaster AS master,
  n.value IN ('Memcpy', 'Reduce_Inline') AND x.name = 'SDMA' AS moves,
  n.value IN ('Memcpy', 'Reduce_Inline') AND x.name = 'SDMA' AND
   l.name <> 'ON_CHIP' AS transfers
 FROM e.COMMUNICATION_TASK_INFO i
 JOIN e.TASK t USING (globalTaskId)
 JOIN e.STRING_IDS n ON n.id = i.taskType
 JOIN e.ENUM_HCCL_TRANSPORT_TYPE x ON x.id = i.transportType
 JOIN e.ENUM_HCCL_LINK_TYPE l ON l.id = i.linkType;
CREATE TEMP TABLE op AS
 SELECT o.opId AS op, n.value AS name, s.id AS step, o.startNs AS start,
  o.endNs AS end,
  CASE WHEN n.value LIKE 'hcom_allReduce%' THEN 'allreduce'
       WHEN n.value LIKE 'hcom_allGather%' THEN 'allgather'
       ELSE 'alltoall' END AS type
 FROM e.COMMUNICATION_OP o JOIN e.STRING_IDS n ON n.id = o.opName
 JOIN e.STEP_TIME s ON o.startNs BETWEEN s.startNs AND s.endNs;

-- the master plane; sync is what is waited for before its first transfer
CREATE TEMP TABLE want_time AS
 WITH first AS (SELECT op, min (start) AS at FROM task
                WHERE master AND transfers GROUP BY op)
 SELECT o.name, 'step' || o.step AS step, min (t.start) / 1e3 AS began,
  (max (t.end) - min (t.start)) / 1e6 AS elapse,
  total (t.dur / 1e6) FILTER (WHERE t.transfers) AS transit,
  total (t.dur / 1e6) FILTER (WHERE t.kind = 'Notify_Wait') AS wait,
  total (t.dur / 1e6) FILTER (WHERE t.kind = 'Notify_Wait' AND
   (f.at IS NULL OR t.start < f.at)) AS sync
 FROM op o JOIN task t ON t.op = o.op AND t.master
 LEFT JOIN first f ON f.op = o.op GROUP BY o.op;
SELECT 'CommAnalyzerTime', count (*), (SELECT count (*) FROM want_time) -
 count (*) FROM want_time w JOIN CommAnalyzerTime c
 ON c.hccl_op_name = w.name AND c.step = w.step AND c.group_name = '9876543210'
 AND abs (c.start_timestamp - w.began) < 1e-3
 AND abs (c.elapse_time - w.elapse) < 1e-12
 AND abs (c.transit_time - w.transit) < 1e-12
 AND abs (c.wait_time - w.wait) < 1e-12
 AND abs (c.synchronization_time - w.sync) < 1e-12
 AND abs (c.idle_time - (w.elapse - w.transit - w.wait)) < 1e-12;

-- all planes: links by size of packet, and SDMA the sum of them
CREATE TEMP TABLE want_band AS
 WITH part AS (SELECT op, CASE link WHEN 'HCCS_SW' THEN 'HCCS' ELSE link END
                AS band, mb, count (*) AS n, sum (dur / 1e6) AS ms
               FROM task WHERE transfers GROUP BY 1, 2, 3),
  link AS (SELECT op, band, sum (mb * n) AS mb, sum (ms) AS ms,
            1.0 * total (n) FILTER (WHERE mb > 32) / sum (n) AS large
           FROM part GROUP BY 1, 2)
 SELECT l.op, l.band, l.mb, l.ms, l.large, p.mb AS size, p.n, p.ms AS dur
  FROM link l JOIN part p USING (op, band)
 UNION ALL
 SELECT op, 'SDMA', sum (mb), sum (ms), 0, 0, 0, 0 FROM link GROUP BY op;
SELECT 'CommAnalyzerBandwidth', count (*),
 (SELECT count (*) FROM want_band) - count (*) +
 (SELECT count (*) FROM CommAnalyzerBandwidth) - count (*)
 FROM want_band w JOIN op o USING (op) JOIN CommAnalyzerBandwidth c
 ON c.hccl_op_name = o.name AND c.step = 'step' || o.step
 AND c.transport_type = w.band AND c.package_size = w.size
 AND abs (c.transit_size - w.mb) < 1e-9 AND abs (c.transit_time - w.ms) < 1e-12
 AND abs (c.bandwidth - w.mb / w.ms) < 1e-4
 AND abs (c.large_packet_ratio - w.large) < 1e-4
 AND c.count = w.n AND abs (c.total_duration - w.dur) < 1e-12;

-- what moved from rank to rank, also within a chip; the sums over the step
CREATE TEMP TABLE want_link AS
 SELECT o.step, o.type, t.src, t.dst, sum (t.mb) AS mb, sum (t.dur / 1e6) AS ms
 FROM task t JOIN op o USING (op) WHERE t.moves GROUP BY 1, 2, 3, 4;
SELECT 'CommAnalyzerMatrix', count (*),
 (SELECT count (*) FROM want_link) - count (*) + (SELECT count (*) FROM
 CommAnalyzerMatrix WHERE hccl_op_name LIKE '%-total') - count (*)
 FROM want_link w JOIN CommAnalyzerMatrix c
 ON c.hccl_op_name = w.type || '-total' AND c.step = 'step' || w.step
 AND c.src_rank = w.src AND c.dst_rank = w.dst
 AND abs (c.transit_size - w.mb) < 1e-9 AND abs (c.transit_time - w.ms) < 1e-12
 AND abs (c.bandwidth - w.mb / w.ms) < 1e-4;

-- the best op of each link
CREATE TEMP TABLE want_best AS
 SELECT step, type, src, dst, max (mb / ms) AS gbps FROM
  (SELECT o.op, o.step, o.type, t.src, t.dst, sum (t.mb) AS mb,
    sum (t.dur / 1e6) AS ms
   FROM task t JOIN op o USING (op) WHERE t.moves GROUP BY 1, 2, 3, 4, 5)
 GROUP BY 1, 2, 3, 4;
SELECT 'best links', count (*), (SELECT count (*) FROM want_best) - count (*)
 FROM want_best w JOIN CommAnalyzerMatrix c
 ON c.hccl_op_name = w.type || '-top1' AND c.step = 'step' || w.step
 AND c.src_rank = w.src AND c.dst_rank = w.dst
 AND abs (c.bandwidth - w.gbps) < 1e-4;

-- unions of intervals: where one begins behind the end of all before it
CREATE TEMP TABLE span AS
 SELECT o.step, 'M' AS what, o.start, o.end FROM op o
 UNION ALL
 SELECT s.id, 'C', t.startNs, t.endNs FROM e.COMPUTE_TASK_INFO
 JOIN e.TASK t USING (globalTaskId)
 JOIN e.STEP_TIME s ON t.startNs BETWEEN s.startNs AND s.endNs;
INSERT INTO span SELECT step, 'B', start, end FROM span;
CREATE TEMP TABLE covered AS
 WITH run AS (SELECT step, what, start, end, coalesce (max (end) OVER
               (PARTITION BY step, what ORDER BY start, end ROWS BETWEEN
                UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before FROM span)
 SELECT step, what, sum (max (end, before) - max (start, before)) / 1e3 AS us,
  (max (end) - min (start)) / 1e3 AS span FROM run GROUP BY 1, 2;
SELECT 'StepTraceTime', count (*), 3 - count (*)
 FROM covered c JOIN covered m USING (step) JOIN covered b USING (step)
 JOIN e.STEP_TIME s ON s.id = c.step
 JOIN StepTraceTime t ON t.step = c.step
 WHERE c.what = 'C' AND m.what = 'M' AND b.what = 'B' AND t.deviceId = 3
 AND abs (t.computing - c.us) < 1e-9 AND abs (t.communication - m.us) < 1e-9
 AND abs (t.overlapped - (c.us + m.us - b.us)) < 1e-9
 AND abs (t.communication_not_overlapped - (b.us - c.us)) < 1e-9
 AND abs (t.free - (b.span - b.us)) < 1e-9
 AND abs (t.stage - b.span) < 1e-9 AND t.bubble = 0
 AND abs (t.preparing - ((SELECT min (start) FROM span WHERE span.step = c.step)
  - s.startNs) / 1e3) < 1e-9;
