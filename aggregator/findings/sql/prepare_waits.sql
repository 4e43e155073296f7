-- Waiting, as ms of an average step: what a rank makes an average member of
-- a group wait, in the group where that is most, and how long it waits itself.
-- Before its first transfer an op waits for others, as the profiler sees it.
CREATE TEMP TABLE f_caused AS
SELECT w.late_rank AS rank, w.comm_group, total(w.wait_ms)/max(g.n-1, 1)/max(j.steps, 1)
    AS ms
FROM Wait w
JOIN (
    SELECT comm_group, count(*) AS n
    FROM CommGroupMember
    GROUP BY comm_group) g ON g.comm_group=w.comm_group
JOIN f_job j
GROUP BY w.late_rank, w.comm_group;

CREATE TEMP TABLE f_own AS
SELECT w.waiting_rank AS rank, total(w.wait_ms)/max(j.steps, 1) AS ms, total(
    CASE WHEN g.type='p2p' THEN 0 ELSE w.wait_ms END)/max(j.steps, 1) AS collective_ms
FROM Wait w
JOIN CommGroup g ON g.id=w.comm_group
JOIN f_job j
GROUP BY w.waiting_rank;

CREATE TEMP TABLE f_sync AS
SELECT t.rank, total(CASE WHEN g.type='p2p' THEN 0 ELSE t.synchronization_time END)/max(
    j.steps, 1) AS collective_ms, total(
    CASE WHEN g.type='p2p' THEN t.synchronization_time END)/max(j.steps, 1) AS p2p_ms
FROM GroupTime t
JOIN CommGroup g ON g.id=t.comm_group
JOIN f_job j
GROUP BY t.rank;

CREATE TEMP TABLE f_blame AS
SELECT late_rank, waiting_rank, total(wait_ms) AS ms
FROM Wait
GROUP BY late_rank, waiting_rank;

CREATE INDEX temp.f_blame_rank ON f_blame(late_rank);

CREATE TEMP TABLE f_late AS
SELECT m.rank, m.ms AS step_ms, ifnull(c.ms, 0) AS ms, ifnull(c.ms, 0)-max(
    ifnull(o.ms, 0), ifnull(y.collective_ms+y.p2p_ms, 0)) AS net
FROM f_mean m
LEFT JOIN (
    SELECT rank, max(ms) AS ms
    FROM f_caused
    GROUP BY rank) c ON c.rank=m.rank
LEFT JOIN f_own o ON o.rank=m.rank
LEFT JOIN f_sync y ON y.rank=m.rank;
