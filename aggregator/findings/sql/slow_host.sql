SELECT
    (
        SELECT min(s.step)
        FROM f_step s
        WHERE s.ord=h.ord AND h.ord>1) AS step,
    (
        SELECT min(rank)
        FROM f_rank r
        WHERE r.host=h.host) AS rank,
    NULL AS peer,
    NULL AS comm_group,
    x AS effect_ms,
    100*x/(
        SELECT avg(s.ms)
        FROM f_step s
        WHERE s.host=h.host AND s.ord>=h.ord) AS effect_percent,
    base+x AS value,
    base AS baseline,
    h.host AS a,
    ifnull('since step '||(
            SELECT min(s.step)
            FROM f_step s
            WHERE s.ord=h.ord AND h.ord>1), 'in all steps') AS b,
    (
        SELECT count(*)
        FROM f_rank r
        WHERE r.host=h.host) AS c,
    CASE WHEN alone AND (SELECT max(stage) FROM f_rank)>0 THEN
        ' The node is slow, or the pipeline''s stages on it have more to do.' ELSE ''
        END AS d
FROM f_slow_host h
ORDER BY x DESC, h.host

-- query
SELECT host, step, computing
FROM HostStep
ORDER BY host='{a}' DESC, step, computing DESC
