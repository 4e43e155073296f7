-- Waiting, as ms of an average step: what a rank makes an average member of
-- a group wait (f_caused), in the group where that is most, and how long it
-- waits itself (f_own).  Before its first transfer an op waits for others, as
-- the profiler sees it (f_sync).  f_arriver has those that come late, and
-- f_blame who waits for them.
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

CREATE TEMP TABLE f_arriver AS
SELECT l.*, b.ms AS base
FROM f_late l
JOIN (SELECT median(ms) AS ms FROM f_late) b
JOIN (
    SELECT 1.4826*median(abs(l.ms-b.ms)) AS spread
    FROM f_late l
    JOIN (SELECT median(ms) AS ms FROM f_late) b) v
WHERE l.net>l.step_ms*:late_arriver_percent/100 AND l.ms-b.ms>:sigmas*v.spread;

CREATE TEMP TABLE f_blame AS
SELECT late_rank, waiting_rank, total(wait_ms) AS ms
FROM (SELECT 1 FROM f_arriver LIMIT 1)
CROSS JOIN Wait
WHERE late_rank IN (SELECT rank FROM f_arriver)
GROUP BY late_rank, waiting_rank;

CREATE INDEX temp.f_blame_rank ON f_blame(late_rank);
