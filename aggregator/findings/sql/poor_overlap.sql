SELECT
    NULL AS step,
    NULL AS rank,
    NULL AS peer,
    NULL AS comm_group,
    e AS effect_ms,
    100*e/ms AS effect_percent,
    100*o/(o+e) AS value,
    :hidden_percent AS baseline,
    CASE WHEN known THEN '' ELSE ' Waiting for other ranks is not known and may be part of it.'
        END AS a,
    CASE WHEN known THEN 'Overlap' ELSE 'If it is not waiting, overlap' END AS b,
    NULL AS c
FROM (
    SELECT avg(s.overlapped) AS o, max(
        avg(max(s.exposed-max(ifnull(s.bubble, 0), ifnull(y.p2p_ms, 0))- max(
                    ifnull(w.collective_ms, 0), ifnull(y.collective_ms, 0)), 0))- (
            SELECT ms
            FROM f_held), 0) AS e, avg(s.ms) AS ms
    FROM f_step s
    LEFT JOIN f_own w ON w.rank=s.rank
    LEFT JOIN f_sync y ON y.rank=s.rank)
JOIN (
    SELECT EXISTS (
        SELECT 1
        FROM Job
        WHERE key='wait_ops' AND CAST(value AS INTEGER)>0) OR EXISTS (
        SELECT 1
        FROM f_sync
        WHERE collective_ms>0) AS known)
WHERE o+e>0 AND 100*o/(o+e)<:hidden_percent AND 100*e/ms>:exposed_percent

-- query
SELECT rank, step, communication_not_overlapped, overlapped, computing
FROM StepByRank
ORDER BY communication_not_overlapped DESC
LIMIT 32
