SELECT
    substr(r.step, 5) AS step,
    r.rank AS rank,
    NULL AS peer,
    NULL AS comm_group,
    r.ms AS effect_ms,
    100*r.ms/(
        SELECT s.ms
        FROM f_step s
        WHERE s.rank=r.rank AND s.step=substr(r.step, 5)) AS effect_percent,
    r.ms AS value,
    :retransmission_ms AS baseline,
    r.op AS a,
    NULL AS b,
    NULL AS c
FROM f_retry r
ORDER BY r.ms DESC, r.rank, r.op

-- query
SELECT step, hccl_op_name, transit_size, transit_time
FROM LinkBandwidth
WHERE rank={rank} AND transport_type='RDMA'
ORDER BY transit_time DESC
LIMIT 16
