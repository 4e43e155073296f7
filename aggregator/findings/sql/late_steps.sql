SELECT
    t.step AS step,
    NULL AS rank,
    NULL AS peer,
    NULL AS comm_group,
    r.x AS effect_ms,
    100*r.x/(r.base+r.x) AS effect_percent,
    r.base+r.x AS value,
    r.base AS baseline,
    r.n AS a,
    round(r.most, 1) AS b,
    NULL AS c
FROM f_rise r
JOIN f_trend t ON t.ord=r.ord

-- query
SELECT step, step_time, computing, communication_not_overlapped, free
FROM StepTrend
