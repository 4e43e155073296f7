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
    ended_ns bigint, hosts bigint, steps bigint, step_us double precision,
    longest_us double precision, computing_us double precision, comm_us double precision,
    free_us double precision, high bigint, medium bigint, low bigint, built text,
    its_user text, its_scheduler_id text, its_command text, path text,
    UNIQUE (cluster, name));
CREATE INDEX job_at ON job (at);
CREATE INDEX job_since ON job (greatest(coalesce(began_ns, first_ns), first_ns));

-- all others are parted by the month of the job
CREATE TABLE job_host (job bigint NOT NULL, at timestamptz NOT NULL,
    host text, ranks bigint, computing_us double precision, step_us double precision)
    PARTITION BY RANGE (at);
CREATE INDEX job_host_job ON job_host (job);
CREATE TABLE job_claim (job bigint NOT NULL, at timestamptz NOT NULL,
    seq bigint, source bigint, who text, host text, world_size bigint)
    PARTITION BY RANGE (at);
CREATE INDEX job_claim_job ON job_claim (job);
CREATE TABLE job_clock (job bigint NOT NULL, at timestamptz NOT NULL,
    seq bigint, host_key text, host text, offset_ns bigint, error_ns bigint)
    PARTITION BY RANGE (at);
CREATE INDEX job_clock_job ON job_clock (job);
CREATE TABLE job_tag (job bigint NOT NULL, at timestamptz NOT NULL,
    tag text)
    PARTITION BY RANGE (at);
CREATE INDEX job_tag_job ON job_tag (job);
CREATE TABLE job_link (job bigint NOT NULL, at timestamptz NOT NULL,
    transport text, links bigint, mb double precision, ms double precision)
    PARTITION BY RANGE (at);
CREATE INDEX job_link_job ON job_link (job);
CREATE TABLE job_slow (job bigint NOT NULL, at timestamptz NOT NULL,
    kind text, host text, device bigint, rank bigint, peer_host text, peer_device bigint,
    peer bigint, percent double precision)
    PARTITION BY RANGE (at);
CREATE INDEX job_slow_job ON job_slow (job);
CREATE TABLE job_group (job bigint NOT NULL, at timestamptz NOT NULL,
    kind text, groups bigint, ops bigint, elapse_ms double precision,
    wait_ms double precision)
    PARTITION BY RANGE (at);
CREATE INDEX job_group_job ON job_group (job);
CREATE TABLE job_finding (job bigint NOT NULL, at timestamptz NOT NULL,
    kind text, severity text, n bigint, percent double precision)
    PARTITION BY RANGE (at);
CREATE INDEX job_finding_job ON job_finding (job);
CREATE TABLE roster (job bigint NOT NULL, at timestamptz NOT NULL,
    rank bigint, host text, local_rank bigint, device bigint, expected bigint, state text,
    reason text, verified bigint, command_status bigint, command_signal bigint,
    command_ended_ns bigint)
    PARTITION BY RANGE (at);
CREATE INDEX roster_job ON roster (job);
CREATE TABLE capture (job bigint NOT NULL, at timestamptz NOT NULL,
    capture bigint, rank bigint, host text, device bigint, name text, framework text,
    source text, profiler_level text, state text, reason text, steps bigint,
    started_ns bigint, ended_ns bigint, raw_bytes bigint)
    PARTITION BY RANGE (at);
CREATE INDEX capture_job ON capture (job);
CREATE TABLE finding (job bigint NOT NULL, at timestamptz NOT NULL,
    finding bigint, kind text, severity text, step text, rank bigint, peer bigint,
    comm_group bigint, effect_ms double precision, effect_percent double precision,
    value double precision, unit text, baseline double precision, text text, hint text)
    PARTITION BY RANGE (at);
CREATE INDEX finding_job ON finding (job);
CREATE TABLE rank_step (job bigint NOT NULL, at timestamptz NOT NULL,
    rank bigint, device bigint, step text, computing_us double precision,
    comm_us double precision, hidden_us double precision, free_us double precision,
    stage_us double precision, bubble_us double precision, preparing_us double precision)
    PARTITION BY RANGE (at);
CREATE INDEX rank_step_job ON rank_step (job);
CREATE TABLE step (job bigint NOT NULL, at timestamptz NOT NULL,
    step text, ord bigint, ranks bigint, step_us double precision,
    min_step_us double precision, max_step_us double precision)
    PARTITION BY RANGE (at);
CREATE INDEX step_job ON step (job);
CREATE TABLE link_sum (job bigint NOT NULL, at timestamptz NOT NULL,
    src_rank bigint, dst_rank bigint, transport text, type text, mb double precision,
    ms double precision, large_mb double precision, large_ms double precision)
    PARTITION BY RANGE (at);
CREATE INDEX link_sum_job ON link_sum (job);
CREATE TABLE group_sum (job bigint NOT NULL, at timestamptz NOT NULL,
    comm_group bigint, group_name text, kind text, type text, size bigint, members bigint,
    ops bigint, elapse_ms double precision, wait_ms double precision,
    sync_ms double precision, transit_ms double precision)
    PARTITION BY RANGE (at);
CREATE INDEX group_sum_job ON group_sum (job);

-- A month's parts of all tables.  With pg_partman in this database they are its parts: it knows
-- them for its retention.  Two who come at once wait for each other.
CREATE FUNCTION make_month(moment timestamptz) RETURNS void LANGUAGE plpgsql
    SET timezone='UTC' SET search_path=rollcall, pg_catalog AS $make_month$
DECLARE
    first timestamptz := date_trunc('month', moment);
    partman name := (SELECT n.nspname FROM pg_extension e
        JOIN pg_namespace n ON n.oid=e.extnamespace WHERE e.extname='pg_partman');
    parent name;
    part name;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('rollcall month', 0));
    FOR parent IN SELECT relname FROM pg_class
        WHERE relnamespace='rollcall'::regnamespace AND relkind='p' AND NOT relispartition
        ORDER BY relname
    LOOP
        IF partman IS NOT NULL THEN
            EXECUTE format('SELECT %I.create_partition_time($1, ARRAY[$2])', partman)
                USING 'rollcall.'||parent, first;
            CONTINUE;
        END IF;
        part := parent||to_char(first, '_YYYYMM');
        IF to_regclass(format('rollcall.%I', part)) IS NULL THEN
            -- so it waits for nobody who reads or pushes
            EXECUTE format('CREATE TABLE %I (LIKE %I)', part, parent);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                parent, part, first, first+interval '1 month');
        END IF;
    END LOOP;
END $make_month$;

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
