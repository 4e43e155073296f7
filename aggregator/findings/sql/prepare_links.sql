-- f_link has what a link should need: its data at the median bandwidth of its
-- transport, within hosts or between them, in groups of that kind if there are
-- four.  All members of a group are held up by a link in it: f_held, of an
-- average rank.
CREATE TEMP TABLE f_slow_link AS
SELECT l.*
FROM f_link l
JOIN (
    SELECT same, 1.4826*median(abs(want/ms-1)) AS spread
    FROM f_link
    GROUP BY same) v ON v.same=l.same
WHERE l.want/l.ms<1-:slow_link_percent/100 AND 1-l.want/l.ms>:sigmas*v.spread;

CREATE TEMP TABLE f_held AS
SELECT CASE WHEN EXISTS (SELECT 1 FROM f_slow_link) THEN (
        SELECT total(l.transit_time*(1-s.want/s.ms)*g.n)
        FROM f_slow_link s
        JOIN Link l ON l.src_rank=s.src AND l.dst_rank=s.dst AND l.transit_size>=1
        JOIN f_group g ON g.comm_group=l.comm_group)/max(ranks*steps, 1) ELSE 0.0 END AS ms
FROM f_job;

CREATE TEMP TABLE f_end AS
SELECT l.src_host AS host, 'sends' AS way, l.src AS rank, l.dst AS peer, l.mb, l.ms,
    l.want, s.src IS NOT NULL AS slow
FROM f_link l
LEFT JOIN f_slow_link s ON s.src=l.src AND s.dst=l.dst
WHERE NOT l.same
UNION ALL
SELECT l.dst_host, 'receives', l.dst, l.src, l.mb, l.ms, l.want, s.src IS NOT NULL
FROM f_link l
LEFT JOIN f_slow_link s ON s.src=l.src AND s.dst=l.dst
WHERE NOT l.same;

CREATE TEMP TABLE f_slow_port AS
SELECT host, way, count(*) AS n, sum(slow) AS slow
FROM f_end
WHERE host IS NOT NULL
GROUP BY host, way
HAVING count(*)>=4 AND 2*sum(slow)>=count(*);
