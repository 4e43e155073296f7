SELECT
    NULL AS step,
    l.src AS rank,
    l.dst AS peer,
    NULL AS comm_group,
    (l.ms-l.want)/j.steps AS effect_ms,
    100*(l.ms-l.want)/j.steps/m.ms AS effect_percent,
    l.mb/l.ms AS value,
    l.mb/l.want AS baseline,
    l.transport AS a,
    round(l.mb/j.steps, 1) AS b,
    NULL AS c
FROM f_slow_link l
JOIN f_job j
LEFT JOIN f_mean m ON m.rank=l.src
WHERE NOT EXISTS (
    SELECT 1
    FROM f_slow_port p
    WHERE NOT l.same AND p.host=CASE p.way WHEN 'sends' THEN l.src_host ELSE l.dst_host
        END)
ORDER BY 5 DESC, l.src, l.dst

-- query
SELECT src_rank, dst_rank, transport_type, step, bandwidth
FROM Link
WHERE (src_rank={rank} AND dst_rank={peer}) OR (src_rank={peer} AND dst_rank={rank})
ORDER BY step, src_rank={peer}
