SELECT
    NULL AS step,
    m.rank AS rank,
    NULL AS peer,
    NULL AS comm_group,
    m.free-b.base AS effect_ms,
    100*(m.free-b.base)/m.ms AS effect_percent,
    m.free AS value,
    b.base AS baseline,
    'Rank '||m.rank||' is' AS a,
    CASE WHEN m.preparing>m.free/2 THEN 'it prepares for'|| ' '||round(m.preparing, 1)||' ms before the first op: input data or host code'
        ELSE 'its host launches too late' END AS b,
    'the median is '||round(b.base, 2) AS c
FROM f_mean m
JOIN (SELECT median(free) AS base FROM f_mean) b
JOIN (
    SELECT 1.4826*median(abs(m.free-b.base)) AS spread
    FROM f_mean m
    JOIN (SELECT median(free) AS base FROM f_mean) b) v
WHERE (SELECT ranks FROM f_job)>=3 AND m.free-b.base>m.ms*:free_rank_percent/100 AND
    m.free-b.base>:sigmas*v.spread
UNION ALL
SELECT
    NULL,
    NULL,
    NULL,
    NULL,
    median(free),
    100*median(free)/median(ms),
    median(free),
    0,
    'The ranks are',
    CASE WHEN median(preparing)>median(free)/2 THEN 'they prepare'||
        ' before the first op: input data or host code' ELSE 'hosts launch too late' END,
    'the median of all'
FROM f_mean
HAVING median(free)>median(ms)*:free_percent/100
ORDER BY 5 DESC, 2

-- query
SELECT rank, step, free, preparing, computing
FROM StepByRank
ORDER BY free DESC
LIMIT 16
