-- A receive that takes longer than the shortest op of its name in its group
-- (the send, mostly) waits for the other stage.  Of ops that send and receive
-- at once it is what the profiler saw of waiting.
CREATE TEMP TABLE f_p2p AS
SELECT rank, group_name, step, substr(hccl_op_name, instr(hccl_op_name, '__')) AS name,
    hccl_op_name LIKE '%batch%' AS batch, hccl_op_name LIKE '%rec%' AS receives,
    elapse_time AS ms, synchronization_time AS sync
FROM CommAnalyzerTime
WHERE type='p2p' AND group_name IS NOT NULL AND instr(hccl_op_name, '__')>0;

CREATE TEMP TABLE f_bubble AS
SELECT w.rank, total(w.ms)/j.steps AS ms
FROM (
    SELECT p.rank, p.ms-s.ms AS ms
    FROM f_p2p p
    JOIN (
        SELECT group_name, step, name, min(ms) AS ms
        FROM f_p2p
        WHERE NOT batch
        GROUP BY group_name, step, name) s ON s.group_name=p.group_name AND s.step IS
        p.step AND s.name=p.name
    WHERE p.receives AND NOT p.batch
    UNION ALL
    SELECT rank, sync
    FROM f_p2p
    WHERE batch AND sync IS NOT NULL) w
JOIN f_job j
GROUP BY w.rank;

DROP TABLE temp.f_p2p;
