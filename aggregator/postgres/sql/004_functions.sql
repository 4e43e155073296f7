-- 004_functions.sql - what is done with all tables: only those of rollcall, for there may be others
ALTER TABLE job ADD COLUMN known_by text;

-- steps of all ranks are computed from those of each one
DO $step$
DECLARE
    partman name := (SELECT n.nspname FROM pg_extension e
        JOIN pg_namespace n ON n.oid=e.extnamespace WHERE e.extname='pg_partman');
BEGIN
    DROP TABLE IF EXISTS step;
    IF partman IS NOT NULL THEN
        EXECUTE format('DELETE FROM %I.part_config WHERE parent_table=$1', partman)
            USING 'rollcall.step';
    END IF;
END $step$;
CREATE VIEW step AS SELECT job, at, step, count(*) AS ranks,
    avg(computing_us+comm_us+free_us) AS step_us, min(computing_us+comm_us+free_us) AS min_step_us,
    max(computing_us+comm_us+free_us) AS max_step_us FROM rank_step GROUP BY job, at, step;

-- Where the rest of a divided job is.
CREATE TABLE job_rest (job bigint NOT NULL, at timestamptz NOT NULL,
    seq bigint, key text, value text) PARTITION BY RANGE (at);
CREATE INDEX job_rest_job ON job_rest (job);
DO $rest$
DECLARE
    partman name := (SELECT n.nspname FROM pg_extension e
        JOIN pg_namespace n ON n.oid=e.extnamespace WHERE e.extname='pg_partman');
    its boolean := false;
BEGIN
    IF partman IS NOT NULL THEN
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.part_config WHERE parent_table=$1)',
            partman) INTO its USING 'rollcall.job_host';
    END IF;
    IF its THEN
        EXECUTE format('SELECT %I.create_parent($1, $2, $3, $4, p_premake := 1)', partman)
            USING 'rollcall.job_rest', 'at', 'native', 'monthly';
    END IF;
END $rest$;

-- Whether a table has a part, perhaps the default one, for the rows of a time.
CREATE FUNCTION has_part(parent name, moment timestamptz) RETURNS boolean LANGUAGE plpgsql
    STABLE SET timezone='UTC' SET search_path=rollcall, pg_catalog AS $has_part$
DECLARE
    part regclass;
    yes boolean;
BEGIN
    -- the newest first
    FOR part IN SELECT relid FROM pg_partition_tree(parent::text::regclass) WHERE isleaf
        ORDER BY relid DESC
    LOOP
        EXECUTE format('SELECT %s FROM (SELECT $1 AS at) t',
            coalesce(pg_get_partition_constraintdef(part), 'true')) INTO yes USING moment;
        IF yes THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $has_part$;

-- A month's parts of all tables.  If pg_partman has the tables, they are its parts: it knows them
-- for its retention.  Two who come at once wait for each other.  False: somebody has detached one,
-- and there is no default part, so nothing of that month can be written.
DROP FUNCTION IF EXISTS make_month(timestamptz);
CREATE FUNCTION make_month(moment timestamptz) RETURNS boolean LANGUAGE plpgsql
    SET timezone='UTC' SET search_path=rollcall, pg_catalog AS $make_month$
DECLARE
    first timestamptz := date_trunc('month', moment);
    partman name := (SELECT n.nspname FROM pg_extension e
        JOIN pg_namespace n ON n.oid=e.extnamespace WHERE e.extname='pg_partman');
    parent name;
    part name;
    its boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('rollcall month', 0));
    FOR parent IN SELECT relname FROM pg_class JOIN schema_shape ON relation=relname
        WHERE relnamespace='rollcall'::regnamespace AND relkind='p'
        ORDER BY relname
    LOOP
        IF partman IS NOT NULL THEN
            EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.part_config WHERE parent_table=$1)',
                partman) INTO its USING 'rollcall.'||parent;
        END IF;
        part := parent||to_char(first, '_YYYYMM');
        BEGIN
            IF its THEN
                EXECUTE format('SELECT %I.create_partition_time($1, ARRAY[$2])', partman)
                    USING 'rollcall.'||parent, first;
            ELSIF to_regclass(format('rollcall.%I', part)) IS NULL THEN
                -- so it waits for nobody who reads or pushes
                EXECUTE format('CREATE TABLE %I (LIKE %I)', part, parent);
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                    parent, part, first, first+interval '1 month');
            END IF;
        EXCEPTION
            -- the default part has rows of it, or another part has the month; pg_partman says
            -- either in its own words
            WHEN check_violation OR invalid_object_definition OR raise_exception THEN
                IF NOT has_part(parent, first) THEN
                    RAISE;
                END IF;
        END;
        IF NOT has_part(parent, first) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $make_month$;

-- Remove jobs: by index, in the parts of their months only.
CREATE OR REPLACE FUNCTION remove_jobs(of_cluster text, names text[]) RETURNS void
    LANGUAGE plpgsql SET search_path=rollcall, pg_catalog AS $remove_jobs$
DECLARE
    parent name;
    ids bigint[];
    times timestamptz[];
BEGIN
    WITH gone AS (DELETE FROM job WHERE cluster=of_cluster AND job.name=ANY(names)
        RETURNING id, at)
    SELECT array_agg(id), array_agg(DISTINCT at) INTO ids, times FROM gone;
    IF ids IS NULL THEN
        RETURN;
    END IF;
    FOR parent IN SELECT relname FROM pg_class JOIN schema_shape ON relation=relname
        WHERE relnamespace='rollcall'::regnamespace AND relkind='p'
    LOOP
        EXECUTE format('DELETE FROM %I WHERE job=ANY($1) AND at=ANY($2)', parent)
            USING ids, times;
    END LOOP;
END $remove_jobs$;

-- Who may ask, for Grafana: GRANT rollcall_reader TO grafana.  0: there is no such role, and this
-- user may not make it.
CREATE FUNCTION let_read() RETURNS integer
    LANGUAGE plpgsql SET search_path=rollcall, pg_catalog AS $let_read$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname='rollcall_reader') THEN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname=current_user
            AND (rolsuper OR rolcreaterole)) THEN
            RETURN 0;
        END IF;
        CREATE ROLE rollcall_reader NOLOGIN;
    END IF;
    GRANT USAGE ON SCHEMA rollcall TO rollcall_reader;
    EXECUTE format('GRANT SELECT ON %s TO rollcall_reader',
        (SELECT string_agg(oid::regclass::text, ',') FROM pg_class JOIN schema_shape
        ON relation=relname WHERE relnamespace='rollcall'::regnamespace));
    RETURN 1;
END $let_read$;
