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

-- The parts of a table, with the times of their rows: a default part has all that no other has.
CREATE FUNCTION parts_of(parent name) RETURNS TABLE (part text, first timestamptz, behind timestamptz)
    LANGUAGE sql STABLE SET timezone='UTC' SET search_path=rollcall, pg_catalog AS $parts_of$
    SELECT part, coalesce(substring(bound FROM 'FROM [(]''([^'']+)')::timestamptz, '-infinity'),
        coalesce(substring(bound FROM 'TO [(]''([^'']+)')::timestamptz, 'infinity')
    FROM (SELECT format('%I.%I', nspname, relname), pg_get_expr(relpartbound, c.oid) FROM pg_inherits
        JOIN pg_class c ON c.oid=inhrelid JOIN pg_namespace n ON n.oid=relnamespace
        WHERE inhparent=parent::text::regclass) AS parts (part, bound)
$parts_of$;

-- Whether there is a part for each moment of a time.
CREATE FUNCTION has_parts(parent name, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path=rollcall, pg_catalog AS $has_parts$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT * FROM parts_of(parent) p ORDER BY p.first LOOP
        EXIT WHEN one.first>since;
        since := greatest(since, one.behind);
    END LOOP;
    RETURN since>=until;
END $has_parts$;

-- NULL: each table has a part for the rows of a time.  Else 'PART of TABLE', which has only other
-- days of its month; or '': none has any.
CREATE FUNCTION lacks_part(moment timestamptz) RETURNS text LANGUAGE plpgsql
    STABLE SET timezone='UTC' SET search_path=rollcall, pg_catalog AS $lacks_part$
DECLARE
    month timestamptz := date_trunc('month', moment);
    parent name;
BEGIN
    FOR parent IN SELECT relname FROM pg_class JOIN schema_shape ON relation=relname
        WHERE relnamespace='rollcall'::regnamespace AND relkind='p'
        ORDER BY relname
    LOOP
        CONTINUE WHEN EXISTS (SELECT 1 FROM parts_of(parent) p WHERE p.first<=moment
            AND p.behind>moment);
        RETURN coalesce((SELECT p.part||format(' of rollcall.%I', parent) FROM parts_of(parent) p
            WHERE p.first<month+interval '1 month' AND p.behind>month
            ORDER BY p.first LIMIT 1), '');
    END LOOP;
    RETURN NULL;
END $lacks_part$;

-- A month's parts of all tables.  If pg_partman has the tables, they are its parts: it knows them
-- for its retention.  Two who come at once wait for each other.  False: somebody has detached one,
-- or made one of some days, and there is no default part, so not all of that month can be written.
DROP FUNCTION IF EXISTS make_month(timestamptz);
CREATE FUNCTION make_month(moment timestamptz) RETURNS boolean LANGUAGE plpgsql
    SET timezone='UTC' SET search_path=rollcall, pg_catalog AS $make_month$
DECLARE
    month timestamptz := date_trunc('month', moment);
    next timestamptz := month+interval '1 month';
    partman name := (SELECT n.nspname FROM pg_extension e
        JOIN pg_namespace n ON n.oid=e.extnamespace WHERE e.extname='pg_partman');
    parent name;
    part name;
    its boolean := false;
    whole boolean := true;
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
        part := parent||to_char(month, '_YYYYMM');
        BEGIN
            IF its THEN
                EXECUTE format('SELECT %I.create_partition_time($1, ARRAY[$2])', partman)
                    USING 'rollcall.'||parent, month;
            ELSIF to_regclass(format('rollcall.%I', part)) IS NULL THEN
                -- so it waits for nobody who reads or pushes
                EXECUTE format('CREATE TABLE %I (LIKE %I)', part, parent);
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                    parent, part, month, next);
            END IF;
        EXCEPTION
            -- the default part has rows of it, or another part has some of the month; pg_partman
            -- says either in its own words
            WHEN check_violation OR invalid_object_definition OR raise_exception THEN
                IF NOT EXISTS (SELECT 1 FROM parts_of(parent) p WHERE p.first<next
                    AND p.behind>month) THEN
                    RAISE;
                END IF;
        END;
        whole := whole AND has_parts(parent, month, next);
    END LOOP;
    RETURN whole;
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
