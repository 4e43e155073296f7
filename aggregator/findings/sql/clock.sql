SELECT
    NULL AS step,
    rank,
    NULL AS peer,
    NULL AS comm_group,
    abs(ms) AS effect_ms,
    NULL AS effect_percent,
    ms AS value,
    0 AS baseline,
    'host '||host||' ('||n||' ranks)' AS a,
    NULL AS b,
    NULL AS c
FROM f_clock_host
UNION ALL
SELECT
    NULL,
    c.rank,
    NULL,
    NULL,
    abs(c.ms),
    NULL,
    c.ms,
    0,
    'rank '||c.rank,
    NULL,
    NULL
FROM f_clock c
JOIN f_clock_noise z
WHERE abs(c.ms)>z.ms AND
    (abs(c.ms-c.mid)>z.ms OR (c.host NOT IN (SELECT host FROM f_clock_host)))
ORDER BY 5 DESC, 2

-- query
SELECT rank, value AS offset_ms
FROM CaptureInfo
WHERE kind='clock' AND name='offset_ms'
ORDER BY abs(value) DESC
LIMIT 16
