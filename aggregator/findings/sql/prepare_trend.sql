-- The median step of all ranks, and where its level rises: the cut that leaves
-- the smallest sum of squares, moved back over steps that are late already.
CREATE TEMP TABLE f_trend AS
SELECT ord, min(step) AS step, median(ms) AS ms
FROM f_step
GROUP BY ord;

CREATE TEMP TABLE f_level AS
SELECT c.ord, median(t.ms) AS ms
FROM (
    SELECT ord
    FROM (
        SELECT ord, sum(ms) OVER (ORDER BY ord ROWS UNBOUNDED PRECEDING)-ms AS s,
            row_number() OVER (ORDER BY ord)-1 AS k, count(*) OVER () AS n, sum(ms) OVER
            () AS whole
        FROM f_trend)
    WHERE k>=2 AND n-k>=2
    ORDER BY s*s/k+(whole-s)*(whole-s)/(n-k) DESC
    LIMIT 1) c
JOIN f_trend t ON t.ord<c.ord
GROUP BY c.ord;

CREATE TEMP TABLE f_cut AS
SELECT max((
        SELECT ifnull(max(t.ord), 0)+1
        FROM f_trend t
        WHERE t.ord<l.ord AND NOT (
            t.ms>l.ms*(1+:late_steps_percent/100) AND t.ms-l.ms>:sigmas*(
                SELECT 1.4826*median(abs(e.ms-l.ms))
                FROM f_trend e
                WHERE e.ord<l.ord))), (SELECT min(ord)+2 FROM f_trend)) AS ord
FROM f_level l;

CREATE TEMP TABLE f_before AS
SELECT median(t.ms) AS ms
FROM f_trend t
JOIN f_cut c
WHERE t.ord<c.ord;

CREATE TEMP TABLE f_rise AS
SELECT c.ord, b.ms AS base, avg(t.ms)-b.ms AS x, median(t.ms) AS mid, count(*) AS n, max(
    t.ms) AS most
FROM f_trend t
JOIN f_cut c
JOIN f_before b
WHERE t.ord>=c.ord
GROUP BY c.ord
HAVING b.ms>0 AND median(t.ms)-b.ms>b.ms*:late_steps_percent/100 AND median(t.ms)-b.ms>:sigmas
    *(
    SELECT 1.4826*median(abs(e.ms-b.ms))
    FROM f_trend e
    WHERE e.ord<c.ord) AND 4*sum(t.ms>b.ms*(1+:late_steps_percent/100))>=3*count(*);

CREATE TEMP TABLE f_even AS
SELECT median(ms) AS mid
FROM f_trend t
WHERE t.ord<ifnull((SELECT ord FROM f_rise), 1e9);

CREATE TEMP TABLE f_even_spread AS
SELECT 1.4826*median(abs(t.ms-e.mid)) AS spread, count(*) AS n
FROM f_trend t
JOIN f_even e
WHERE t.ord<ifnull((SELECT ord FROM f_rise), 1e9);
