SELECT
    NULL AS step,
    (
        SELECT rank
        FROM f_bubble
        ORDER BY ms DESC, rank
        LIMIT 1) AS rank,
    NULL AS peer,
    NULL AS comm_group,
    avg(b.ms) AS effect_ms,
    100*avg(b.ms)/j.ms AS effect_percent,
    avg(b.ms) AS value,
    0 AS baseline,
    round(max(b.ms), 1) AS a,
    count(*) AS b,
    j.ranks AS c
FROM f_bubble b
JOIN f_job j
WHERE 10*b.ms>=(SELECT max(ms) FROM f_bubble)
HAVING avg(b.ms)>j.ms*:bubble_percent/100

-- query
SELECT rank, avg(computing) AS computing, avg(bubble) AS bubble
FROM StepByRank
GROUP BY rank
ORDER BY bubble DESC
LIMIT 32
