-- 001_tables.sql - the facts of jobs: see aggregator/postgres/facts.c
CREATE TABLE schema_version (
    version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());
-- what the tables look like, to see whether somebody changed them
CREATE TABLE schema_shape (relation text PRIMARY KEY, shape text NOT NULL);

-- which root may use a name
CREATE TABLE cluster (name text PRIMARY KEY, root text NOT NULL);

-- one row for each job: the catalogue's (doc/format-postgres.md)
CREATE SEQUENCE job_id;
CREATE TABLE job (id bigint PRIMARY KEY, cluster text NOT NULL, at timestamptz NOT NULL,
    sum bigint NOT NULL,
    name text NOT NULL, newest bigint, built_seq bigint, world_size bigint, ranks bigint,
    captures bigint, items bigint, bytes bigint, first_ns bigint, last_ns bigint,
    lost bigint, divided bigint, assumed bigint, by_hand bigint, state bigint, "user" text,
    scheduler_id text, command text, tags text, pinned bigint, file_ino bigint,
    file_ns bigint, file_bytes bigint, expected bigint, present bigint, missing bigint,
    failed bigint, partial bigint, raw bigint, unexpected bigint, began_ns bigint,
    ended_ns bigint, hosts bigint, steps bigint, step_us float8,
    longest_us float8, computing_us float8, comm_us float8,
    free_us float8, high bigint, medium bigint, low bigint, built text,
    its_user text, its_scheduler_id text, its_command text, path text,
    UNIQUE (cluster, name));
CREATE INDEX job_at ON job (at);
CREATE INDEX job_since ON job (greatest(coalesce(began_ns, first_ns), first_ns));

-- all others are parted by the month of the job, and begin with its id and time
DO $tables$
DECLARE
    it record;
BEGIN
    FOR it IN SELECT * FROM (VALUES
        ('job_host', 'host text, ranks bigint, computing_us float8, step_us float8'),
        ('job_claim', 'seq bigint, source bigint, who text, host text, world_size bigint'),
        ('job_clock', 'seq bigint, host_key text, host text, offset_ns bigint, error_ns bigint'),
        ('job_tag', 'tag text'),
        ('job_link', 'transport text, links bigint, mb float8, ms float8'),
        ('job_slow', 'kind text, host text, device bigint, rank bigint, peer_host text,
            peer_device bigint, peer bigint, percent float8'),
        ('job_group', 'kind text, groups bigint, ops bigint, elapse_ms float8, wait_ms float8'),
        ('job_finding', 'kind text, severity text, n bigint, percent float8'),
        ('roster', 'rank bigint, host text, local_rank bigint, device bigint, expected bigint,
            state text, reason text, verified bigint, command_status bigint,
            command_signal bigint, command_ended_ns bigint'),
        ('capture', 'capture bigint, rank bigint, host text, device bigint, name text,
            framework text, source text, profiler_level text, state text, reason text,
            steps bigint, started_ns bigint, ended_ns bigint, raw_bytes bigint'),
        ('finding', 'finding bigint, kind text, severity text, step text, rank bigint,
            peer bigint, comm_group bigint, effect_ms float8, effect_percent float8, value float8,
            unit text, baseline float8, text text, hint text'),
        ('rank_step', 'rank bigint, device bigint, step text, computing_us float8, comm_us float8,
            hidden_us float8, free_us float8, stage_us float8, bubble_us float8,
            preparing_us float8'),
        ('link_sum', 'src_rank bigint, dst_rank bigint, transport text, type text, mb float8,
            ms float8, large_mb float8, large_ms float8'),
        ('group_sum', 'comm_group bigint, group_name text, kind text, type text, size bigint,
            members bigint, ops bigint, elapse_ms float8, wait_ms float8, sync_ms float8,
            transit_ms float8')) t (name, columns)
    LOOP
        EXECUTE format('CREATE TABLE %I (job bigint NOT NULL, at timestamptz NOT NULL, %s)
            PARTITION BY RANGE (at)', it.name, it.columns);
        EXECUTE format('CREATE INDEX %I ON %I (job)', it.name||'_job', it.name);
    END LOOP;
END $tables$;

-- With pg_partman in this database it has these tables.
DO $partman$
DECLARE
    partman name := (SELECT n.nspname FROM pg_extension e
        JOIN pg_namespace n ON n.oid=e.extnamespace WHERE e.extname='pg_partman');
    parent name;
BEGIN
    IF partman IS NULL THEN
        RETURN;
    END IF;
    FOR parent IN SELECT relname FROM pg_class
        WHERE relnamespace='rollcall'::regnamespace AND relkind='p'
    LOOP
        EXECUTE format('SELECT %I.create_parent($1, $2, $3, $4, p_premake := 1)', partman)
            USING 'rollcall.'||parent, 'at', 'native', 'monthly';
    END LOOP;
END $partman$;
