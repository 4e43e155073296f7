-- A rank is compared with those of its stage, or with all if it is alone there;
-- of a slow host with those of its host.  What is noise all such classes tell,
-- or of two alone how their difference changes from step to step (which a rank
-- that is slow from a step on changes once).  Two steps tell little: half of
-- the threshold is noise then.  Of two ranks the faster one is the baseline.
CREATE TEMP TABLE f_class AS
SELECT rank, CASE WHEN host IN (SELECT host FROM f_slow_host) THEN 'host '||host WHEN
    count(*) OVER (PARTITION BY stage)>=2 THEN 'stage '||stage ELSE '' END AS class
FROM (
    SELECT DISTINCT rank, host, stage
    FROM f_step);

CREATE TEMP TABLE f_computing AS
SELECT s.rank, s.ord, c.class, s.computing
FROM f_step s
JOIN f_class c ON c.rank=s.rank;

CREATE TEMP TABLE f_class_base AS
SELECT class, ord, CASE count(*) WHEN 2 THEN median_low(computing) ELSE median(computing)
    END AS base, count(*) AS n, max(rank) AS last
FROM f_computing
WHERE class<>''
GROUP BY class, ord
UNION ALL
SELECT '', ord, CASE count(*) WHEN 2 THEN median_low(computing) ELSE median(computing)
    END, 2*(count(*)=2), max(rank)
FROM f_computing
WHERE class NOT LIKE 'host %'
GROUP BY ord;

CREATE TEMP TABLE f_pair AS
SELECT c.class, c.ord, b.base, sum(
    CASE WHEN c.rank=b.last THEN c.computing ELSE -c.computing END) AS x
FROM f_computing c
JOIN f_class_base b ON b.class=c.class AND b.ord=c.ord
WHERE b.n=2
GROUP BY c.class, c.ord;

CREATE TEMP TABLE f_pooled AS
SELECT c.ord, 1.4826*median(abs(c.computing-b.base)) AS spread
FROM f_computing c
JOIN f_class_base b ON b.class=c.class AND b.ord=c.ord
WHERE b.n>2
GROUP BY c.ord;

CREATE TEMP TABLE f_noise AS
SELECT c.class, c.ord, max(p.spread, 1.4826*median(abs(c.computing-b.base))) AS spread
FROM f_computing c
JOIN f_class_base b ON b.class=c.class AND b.ord=c.ord
JOIN f_pooled p ON p.ord=c.ord
WHERE b.n>2
GROUP BY c.class, c.ord
UNION ALL
SELECT '', c.ord, ifnull(p.spread, 1.4826*median(abs(c.computing-b.base)))
FROM f_computing c
JOIN f_class_base b ON b.class='' AND b.n=0 AND b.ord=c.ord
LEFT JOIN f_pooled p ON p.ord=c.ord
WHERE c.class NOT LIKE 'host %'
GROUP BY c.ord
UNION ALL
SELECT p.class, p.ord, max(v.spread, p.base*(v.n=1)*:slow_rank_percent/200)
FROM f_pair p
JOIN (
    SELECT class, 1.0484*median(abs(dx)) AS spread, count(*) AS n
    FROM (
        SELECT class, x-lag(x) OVER (PARTITION BY class ORDER BY ord) AS dx
        FROM f_pair)
    WHERE dx IS NOT NULL
    GROUP BY class) v ON v.class=p.class;

CREATE TEMP TABLE f_rank_hit AS
SELECT c.rank, c.ord, c.computing-b.base AS x, b.base, c.computing-b.base>b.base*:slow_rank_percent
    /100 AND c.computing-b.base>:sigmas*v.spread AS hit
FROM f_computing c
JOIN f_class_base b ON b.class=c.class AND b.ord=c.ord
JOIN f_noise v ON v.class=c.class AND v.ord=c.ord;

CREATE TEMP TABLE f_slow_rank AS
SELECT h.rank, f.ord, avg(h.x) AS x, avg(h.base) AS base
FROM f_rank_hit h
JOIN (
    SELECT rank, min(ord) AS ord
    FROM f_rank_hit
    WHERE hit
    GROUP BY rank) f ON f.rank=h.rank AND h.ord>=f.ord
GROUP BY h.rank
HAVING 2*sum(h.hit)>=count(*) AND sum(h.hit)>=(SELECT min(2, steps) FROM f_job);
