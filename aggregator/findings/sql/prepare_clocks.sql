-- A clock is its host's: how ranks of one host differ is how unevenly ops end,
-- and a rank of its own only if it differs by more than that.
CREATE TEMP TABLE f_offset AS
SELECT r.rank, ifnull(r.host, '') AS host, CAST(i.value AS REAL) AS ms
FROM CaptureInfo i
JOIN f_rank r ON r.rank=i.rank
WHERE i.kind='clock' AND i.name='offset_ms' AND i.capture NOT IN (
    SELECT id
    FROM Capture
    WHERE started_ns IS NULL);

CREATE TEMP TABLE f_clock AS
SELECT o.*, h.mid
FROM f_offset o
JOIN (
    SELECT host, median(ms) AS mid
    FROM f_offset
    GROUP BY host) h ON h.host=o.host;

CREATE TEMP TABLE f_clock_noise AS
SELECT max(:clock_ms, :sigmas*1.4826*median_low(abs(ms-mid))) AS ms
FROM f_clock;

CREATE TEMP TABLE f_clock_host AS
SELECT c.host, min(c.rank) AS rank, c.mid AS ms, count(*) AS n
FROM f_clock c
JOIN f_clock_noise z
WHERE c.host<>'' AND abs(c.mid)>z.ms
GROUP BY c.host
HAVING count(*)>=2 AND 4*sum(abs(c.ms-c.mid)<=z.ms)>=3*count(*);
