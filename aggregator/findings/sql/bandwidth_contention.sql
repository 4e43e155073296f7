SELECT
    NULL AS step,
    NULL AS rank,
    NULL AS peer,
    NULL AS comm_group,
    lost AS effect_ms,
    100*lost/ms AS effect_percent,
    gbps AS value,
    :contention_gbps AS baseline,
    round(hidden, 0) AS a,
    NULL AS b,
    NULL AS c
FROM (
    SELECT gbps, p.ms/j.ranks/j.steps*(1-gbps/:contention_gbps) AS lost, j.ms, (
        SELECT 100*sum(overlapped)/sum(overlapped+exposed)
        FROM f_step) AS hidden
    FROM (
        SELECT p.ms, max((
                SELECT max(base)
                FROM f_use_base b
                WHERE b.transport='HCCS'), ifnull((mb-small_mb)/(ms-small_ms), 0)) AS
            gbps
        FROM f_packet p
        WHERE mb>=1 AND 2*small_n<=n AND transport='HCCS') p
    JOIN f_job j)
WHERE gbps<:contention_gbps AND hidden>20 AND 100*lost/ms>1

-- query
SELECT rank, step, hccl_op_name, bandwidth, transit_time
FROM LinkBandwidth
WHERE transport_type='HCCS' AND transit_size>=1
ORDER BY bandwidth
LIMIT 32
