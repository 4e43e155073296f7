SELECT
    NULL AS step,
    NULL AS rank,
    NULL AS peer,
    NULL AS comm_group,
    v.spread AS effect_ms,
    100*v.spread/e.mid AS effect_percent,
    v.spread AS value,
    e.mid AS baseline,
    v.n AS a,
    NULL AS b,
    NULL AS c
FROM f_even e
JOIN f_even_spread v
WHERE v.n>=5 AND v.spread>e.mid*:late_steps_percent/100

-- query
SELECT step, step_time, computing, communication_not_overlapped, free
FROM StepTrend
