-- What a link should need: its data at the median bandwidth of its transport,
-- within hosts or between them, in groups of that kind if there are four
-- (others have packets of other sizes).  f_use has their sums.
-- All members of a group are held up by a link in it: f_held, of an average
-- rank.
CREATE TEMP TABLE f_use_base AS
SELECT transport, same, kind, median(bw) AS base
FROM f_use
GROUP BY 1, 2, 3
HAVING count(*)>=4;

CREATE TEMP TABLE f_use_any AS
SELECT transport, same, median(bw) AS base
FROM f_use
GROUP BY 1, 2
HAVING count(*)>=4;

CREATE TEMP TABLE f_link AS
SELECT u.src, u.dst, u.src_host, u.dst_host, u.same, group_concat(DISTINCT u.transport)
    AS transport, sum(u.mb) AS mb, sum(u.ms) AS ms, sum(u.mb/ifnull(b.base, a.base)) AS
    want
FROM f_use u
JOIN f_use_any a ON a.transport=u.transport AND a.same=u.same
LEFT JOIN f_use_base b ON b.transport=u.transport AND b.same=u.same AND b.kind=u.kind
GROUP BY u.src, u.dst;

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
