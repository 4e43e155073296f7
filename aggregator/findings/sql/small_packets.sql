SELECT
    NULL AS step,
    NULL AS rank,
    NULL AS peer,
    NULL AS comm_group,
    sum(lost) AS effect_ms,
    100*sum(lost)/max(step) AS effect_percent,
    100.0*sum(small_n)/sum(n) AS value,
    :small_packets_percent AS baseline,
    group_concat(transport, ', ') AS a,
    round(sum(small_mb)/sum(small_n), 4) AS b,
    round(sum(small_mb)/sum(small_ms), 2) AS c
FROM (
    SELECT p.*, j.ms AS step,
        (p.small_ms-p.small_mb*(p.ms-p.small_ms)/(p.mb-p.small_mb))/ j.ranks/j.steps AS
        lost
    FROM f_packet p
    JOIN f_job j
    WHERE p.n>p.small_n AND 100.0*p.small_n>p.n*:small_packets_percent
    ORDER BY p.transport)
HAVING 100*sum(lost)/max(step)>:small_packets_cost_percent

-- query
SELECT transport_type, package_size, sum(count) AS packets, sum(total_duration) AS ms
FROM CommAnalyzerBandwidth
WHERE package_size>0 AND transport_type<>'SDMA'
GROUP BY 1, 2
ORDER BY 1, 2
