-- What a link should need: its data at the median bandwidth of its transport,
-- within hosts or between them, in groups of that kind if there are four
-- (others have packets of other sizes).  Of less than a MB the time is latency.
-- All members of a group are held up by a link in it: f_held, of an average
-- rank.
CREATE TEMP TABLE f_use AS
SELECT l.src_rank AS src, l.dst_rank AS dst, s.host AS src_host, d.host AS dst_host,
    l.transport_type AS transport, CASE WHEN s.host IS NULL OR d.host IS NULL THEN
    l.transport_type<>'RDMA' ELSE s.host=d.host END AS same, ifnull(k.kind, '') AS kind,
    total(l.transit_size) AS mb, total(l.transit_time) AS ms, total(l.transit_size)/total(
    l.transit_time) AS bw
FROM Link l
LEFT JOIN f_rank s ON s.rank=l.src_rank
LEFT JOIN f_rank d ON d.rank=l.dst_rank
LEFT JOIN GroupKind k ON k.comm_group=l.comm_group
WHERE l.transit_size>=1 AND l.transit_time>0 AND l.transport_type IN
    ('HCCS', 'PCIE', 'RDMA', 'SIO')
GROUP BY l.src_rank, l.dst_rank, l.transport_type, k.kind;

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
SELECT (
    SELECT total(l.transit_time*(1-s.want/s.ms)*g.n)
    FROM f_slow_link s
    JOIN Link l ON l.src_rank=s.src AND l.dst_rank=s.dst AND l.transit_size>=1
    JOIN (
        SELECT comm_group, count(*) AS n
        FROM CommGroupMember
        GROUP BY comm_group) g ON g.comm_group=l.comm_group)/ max(ranks*steps, 1) AS ms
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
