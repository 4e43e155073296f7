-- Ranks with their stage of a pipeline, and groups with their size; rank and
-- step in ms, steps in order.
CREATE TEMP TABLE f_rank (rank INTEGER PRIMARY KEY, host TEXT, stage);

INSERT INTO f_rank
SELECT r.rank, r.host, ifnull(p.stage, 0) AS stage
FROM Roster r
LEFT JOIN (
    SELECT m.rank, min(m.group_rank) AS stage
    FROM CommGroup g
    JOIN CommGroupMember m ON m.comm_group=g.id
    WHERE g.pg_name LIKE 'pp%'
    GROUP BY m.rank) p ON p.rank=r.rank;

CREATE TEMP TABLE f_group (comm_group INTEGER PRIMARY KEY, n INTEGER);

INSERT INTO f_group
SELECT comm_group, count(*)
FROM CommGroupMember
WHERE comm_group IS NOT NULL
GROUP BY comm_group;

CREATE TEMP TABLE f_step AS
SELECT s.rank, r.host, r.stage, s.step, dense_rank() OVER
    (ORDER BY CAST(s.step AS INTEGER), s.step) AS ord, computing, exposed, overlapped,
    free, bubble, preparing, computing+exposed+free AS ms
FROM (
    SELECT rank, ifnull(step, '') AS step, avg(computing)/1000.0 AS computing, avg(
        communication_not_overlapped)/1000.0 AS exposed, avg(overlapped)/1000.0 AS
        overlapped, avg(free)/1000.0 AS free, avg(bubble)/1000.0 AS bubble, avg(
        preparing)/1000.0 AS preparing
    FROM StepTraceTime
    WHERE computing IS NOT NULL AND free IS NOT NULL AND communication_not_overlapped IS
        NOT NULL
    GROUP BY rank, ifnull(step, '')) s
JOIN f_rank r ON r.rank=s.rank;

CREATE INDEX temp.f_step_rank ON f_step(rank, ord);

CREATE INDEX temp.f_step_host ON f_step(host, ord, computing);

CREATE INDEX temp.f_step_ord ON f_step(ord, step);

CREATE TEMP TABLE f_mean AS
SELECT rank, host, avg(ms) AS ms, avg(free) AS free, avg(preparing) AS preparing
FROM f_step
GROUP BY rank;

CREATE TEMP TABLE f_job AS
SELECT (SELECT count(DISTINCT ord) FROM f_step) AS steps, (
    SELECT count(DISTINCT rank)
    FROM f_step) AS ranks, (SELECT avg(ms) FROM f_step) AS ms;
