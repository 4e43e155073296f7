SELECT
    (
        SELECT min(s.step)
        FROM f_step s
        WHERE s.ord=r.ord AND r.ord>1) AS step,
    r.rank AS rank,
    NULL AS peer,
    NULL AS comm_group,
    x AS effect_ms,
    100*x/(
        SELECT avg(s.ms)
        FROM f_step s
        WHERE s.rank=r.rank AND s.ord>=r.ord) AS effect_percent,
    base+x AS value,
    base AS baseline,
    ifnull('since step '||(
            SELECT min(s.step)
            FROM f_step s
            WHERE s.ord=r.ord AND r.ord>1), 'in all steps') AS a,
    CASE WHEN (
        SELECT class
        FROM f_class c
        WHERE c.rank=r.rank)='' AND (SELECT max(stage) FROM f_rank)>0 THEN
        ' Or its stage of the pipeline has more to do.' ELSE '' END AS b,
    NULL AS c
FROM f_slow_rank r
ORDER BY x DESC, r.rank

-- query
SELECT rank, step, computing
FROM StepByRank
ORDER BY rank={rank} DESC, step, computing DESC
LIMIT 64
