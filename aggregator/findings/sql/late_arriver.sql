SELECT
    NULL AS step,
    l.rank AS rank,
    (
        SELECT waiting_rank
        FROM f_blame w
        WHERE w.late_rank=l.rank
        ORDER BY w.ms DESC, 1
        LIMIT 1) AS peer,
    (
        SELECT comm_group
        FROM f_caused c
        WHERE c.rank=l.rank
        ORDER BY ms DESC, 1
        LIMIT 1) AS comm_group,
    l.ms AS effect_ms,
    100*l.ms/l.step_ms AS effect_percent,
    l.ms AS value,
    l.base AS baseline,
    (
        SELECT round(max(w.ms)/j.steps, 2)
        FROM f_blame w
        WHERE w.late_rank=l.rank) AS a,
    (
        SELECT ifnull(k.kind||' ', '')|| '('||k.comm_group||')'
        FROM f_caused c
        JOIN GroupKind k ON k.comm_group=c.comm_group
        WHERE c.rank=l.rank
        ORDER BY c.ms DESC, 1
        LIMIT 1) AS b,
    (
        SELECT count(*)||CASE count(*) WHEN 1 THEN ' rank waits' ELSE ' ranks wait' END
        FROM f_blame w
        WHERE w.late_rank=l.rank) AS c
FROM f_arriver l
JOIN f_job j
ORDER BY l.ms DESC, l.rank

-- query
SELECT step, comm_group, waiting_rank, ops, wait_ms
FROM Wait
WHERE late_rank={rank}
ORDER BY wait_ms DESC
LIMIT 32
