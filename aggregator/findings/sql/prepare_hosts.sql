-- Hosts whose ranks all compute longer, by step; from the first such step on
-- it must be so in half of the steps.  A rank is compared with other hosts that
-- have its stage, or with all hosts if there is none.  The baseline is the
-- lower median of hosts, so that of two the faster one is it.
CREATE TEMP TABLE f_place AS
SELECT host, stage, ord, median(computing) AS mid
FROM f_step
WHERE host IS NOT NULL
GROUP BY host, stage, ord;

CREATE TEMP TABLE f_host AS
SELECT host, ord, median(computing) AS mid
FROM f_step
WHERE host IS NOT NULL
GROUP BY host, ord;

CREATE TEMP TABLE f_host_step AS
SELECT s.host, s.ord, s.computing- ifnull(p.base, b.base) AS x, ifnull(p.base, b.base)
    AS base, p.base IS NULL AS alone
FROM f_step s
JOIN (
    SELECT ord, median_low(mid) AS base
    FROM f_host
    GROUP BY ord
    HAVING count(*)>=2) b ON b.ord=s.ord
LEFT JOIN (
    SELECT stage, ord, median_low(mid) AS base
    FROM f_place
    GROUP BY stage, ord
    HAVING count(*)>=2) p ON p.stage=s.stage AND p.ord=s.ord
WHERE s.host IS NOT NULL;

CREATE TEMP TABLE f_host_mid AS
SELECT host, ord, median(x) AS x, median(base) AS base, max(alone) AS alone, count(*)>=2
    AND 4*sum(x> base*:slow_host_percent/200)>=3*count(*) AS most
FROM f_host_step
GROUP BY host, ord;

CREATE TEMP TABLE f_host_hit AS
SELECT h.*, h.most AND h.x>h.base*:slow_host_percent/100 AND h.x>:sigmas*v.spread AS hit
FROM f_host_mid h
JOIN (
    SELECT s.ord, 1.4826*median(abs(s.x-h.x)) AS spread
    FROM f_host_step s
    JOIN f_host_mid h ON h.host=s.host AND h.ord=s.ord
    GROUP BY s.ord) v ON v.ord=h.ord;

CREATE TEMP TABLE f_slow_host AS
SELECT h.host, f.ord, avg(h.x) AS x, avg(h.base) AS base, max(h.alone) AS alone
FROM f_host_hit h
JOIN (
    SELECT host, min(ord) AS ord
    FROM f_host_hit
    WHERE hit
    GROUP BY host) f ON f.host=h.host AND h.ord>=f.ord
GROUP BY h.host
HAVING 2*sum(h.hit)>=count(*) AND sum(h.hit)>=(SELECT min(2, steps) FROM f_job);
