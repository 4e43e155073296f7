SELECT
    t.step AS step,
    NULL AS rank,
    NULL AS peer,
    NULL AS comm_group,
    t.ms-e.mid AS effect_ms,
    100*(t.ms-e.mid)/t.ms AS effect_percent,
    t.ms AS value,
    e.mid AS baseline,
    NULL AS a,
    NULL AS b,
    NULL AS c
FROM f_trend t
JOIN f_even e
JOIN f_even_spread v
WHERE t.ord>1 AND v.n>=4 AND NOT EXISTS (SELECT 1 FROM f_rise) AND t.ms-e.mid>e.mid*:late_steps_percent
    /100 AND t.ms-e.mid>:sigmas*v.spread
ORDER BY 5 DESC, t.ord

-- query
SELECT rank, computing, communication_not_overlapped, free
FROM StepByRank
WHERE step='{step}'
ORDER BY computing DESC
LIMIT 16
