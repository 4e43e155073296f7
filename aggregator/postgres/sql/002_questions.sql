-- 002_questions.sql - jobs and trends as views and functions, and who may ask
CREATE INDEX job_host_host ON job_host (host, at);
CREATE INDEX finding_kind ON finding (kind, at);

-- the columns of rollcall jobs --where, for people and Grafana
CREATE VIEW jobs AS SELECT id, cluster, name AS job, coalesce("user", its_user) AS job_user,
    tags, pinned<>0 AS pinned, coalesce(scheduler_id, its_scheduler_id) AS scheduler_id,
    coalesce(command, its_command) AS command, at,
    to_timestamp(began_ns/1e9) AS began, to_timestamp(ended_ns/1e9) AS ended,
    to_timestamp(first_ns/1e9) AS first_received, to_timestamp(last_ns/1e9) AS last_received,
    CASE WHEN world_size>0 THEN world_size ELSE coalesce(expected, 0) END AS expected,
    ranks, captures, items, bytes, expected AS in_roll, present, missing, failed, partial,
    raw, unexpected, hosts, steps, step_us/1000 AS step_ms, longest_us/1000 AS longest_ms,
    100*computing_us/nullif(computing_us+comm_us+free_us, 0) AS computing_percent,
    100*comm_us/nullif(computing_us+comm_us+free_us, 0) AS comm_percent,
    100*free_us/nullif(computing_us+comm_us+free_us, 0) AS free_percent,
    high+medium+low AS findings, high, medium, low, built FROM job;

-- Hosts are CLUSTER/HOST if there are several clusters, as rollcall names them then: equal names
-- of two clusters are two hosts.

-- as rollcall trend --by KEY: day, week, month, tag, user, host
CREATE FUNCTION trend(by_key text, since timestamptz DEFAULT '-infinity',
    until timestamptz DEFAULT 'infinity', of_clusters text[] DEFAULT NULL)
    RETURNS TABLE (key text, jobs bigint, first timestamptz, last timestamptz,
    step_ms double precision, computing_percent double precision,
    comm_percent double precision, high numeric)
    LANGUAGE sql STABLE SET search_path=rollcall, pg_catalog AS $trend$
    WITH many AS (SELECT count(*)>1 AS yes FROM cluster c
        WHERE of_clusters IS NULL OR c.name=ANY(of_clusters)),
    point AS (SELECT * FROM jobs j WHERE j.at>=since AND j.at<=until
        AND (of_clusters IS NULL OR j.cluster=ANY(of_clusters))),
    member AS (
        SELECT p.*, CASE by_key
            WHEN 'day' THEN to_char(p.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
            WHEN 'week' THEN to_char(date_trunc('week', p.at AT TIME ZONE 'UTC'), 'YYYY-MM-DD')
            WHEN 'month' THEN to_char(p.at AT TIME ZONE 'UTC', 'YYYY-MM')
            WHEN 'user' THEN coalesce(p.job_user, '-') END AS k,
            p.step_ms AS s, p.computing_percent AS c
        FROM point p WHERE by_key IN ('day', 'week', 'month', 'user')
        UNION ALL
        SELECT p.*, coalesce(t.tag, '-'), p.step_ms, p.computing_percent
        FROM point p LEFT JOIN job_tag t ON t.job=p.id AND t.at=p.at WHERE by_key='tag'
        UNION ALL
        SELECT p.*, CASE WHEN m.yes THEN p.cluster||'/' ELSE '' END||h.host, h.step_us/1000,
            100*h.computing_us/nullif(h.step_us, 0)
        FROM point p JOIN job_host h ON h.job=p.id AND h.at=p.at, many m
        WHERE by_key='host')
    SELECT m.k, count(*), min(m.at), max(m.at),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY m.s),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY m.c),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY m.comm_percent),
        coalesce(sum(m.high), 0)
    FROM member m GROUP BY m.k ORDER BY m.k COLLATE "C" $trend$;

-- what findings of two or more jobs name, as the second table of rollcall trend
CREATE FUNCTION slow_again(since timestamptz DEFAULT '-infinity',
    until timestamptz DEFAULT 'infinity', of_clusters text[] DEFAULT NULL)
    RETURNS TABLE (kind text, what text, jobs bigint, first timestamptz, last timestamptz,
    percent double precision)
    LANGUAGE sql STABLE SET search_path=rollcall, pg_catalog AS $slow_again$
    WITH many AS (SELECT count(*)>1 AS yes FROM cluster c
        WHERE of_clusters IS NULL OR c.name=ANY(of_clusters)),
    s AS (SELECT s.job, s.at, s.kind, s.percent, s.device, s.peer_device,
        CASE WHEN m.yes THEN j.cluster||'/' ELSE '' END||s.host AS host,
        CASE WHEN m.yes THEN j.cluster||'/' ELSE '' END||s.peer_host AS peer_host
        FROM job_slow s JOIN job j ON j.id=s.job AND j.at=s.at, many m
        WHERE s.at>=since AND s.at<=until
        AND (of_clusters IS NULL OR j.cluster=ANY(of_clusters))),
    named AS (SELECT DISTINCT s.job, s.at, s.kind, s.percent,
        CASE WHEN s.kind IN ('slow_host', 'slow_port') THEN s.host
        ELSE coalesce(s.host, '?')||coalesce(' device '||s.device, '')||
            CASE WHEN s.kind='slow_link' THEN ' > '||coalesce(s.peer_host, '?')||
                coalesce(' device '||s.peer_device, '') ELSE '' END END AS what FROM s)
    SELECT n.kind, n.what, count(DISTINCT n.job), min(n.at), max(n.at),
        avg(n.percent ORDER BY n.percent)
    FROM named n GROUP BY n.kind, n.what HAVING count(DISTINCT n.job)>1
    ORDER BY 3 DESC, 6 DESC, n.what COLLATE "C" LIMIT 100 $slow_again$;
