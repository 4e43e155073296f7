SELECT
    NULL AS step,
    min(e.rank) AS rank,
    NULL AS peer,
    NULL AS comm_group,
    sum(e.ms-e.want)/j.steps/p.slow AS effect_ms,
    100*sum(e.ms-e.want)/j.steps/p.slow/j.ms AS effect_percent,
    sum(e.mb)/sum(e.ms) AS value,
    sum(e.mb)/sum(e.want) AS baseline,
    p.host AS a,
    p.way AS b,
    p.slow||' of '||p.n AS c
FROM f_slow_port p
JOIN f_end e ON e.host=p.host AND e.way=p.way AND e.slow
JOIN f_job j
GROUP BY p.host, p.way
ORDER BY 5 DESC, p.host, p.way

-- query
SELECT *
FROM HostLink
WHERE src_host='{a}' OR dst_host='{a}'
ORDER BY bandwidth
