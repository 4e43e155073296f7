-- 003_push.sql - what a push does here: a root has one name, and a name one root
-- It might have several before: it keeps the one of its newest push, and the others are nobody's.
WITH named AS (SELECT name, row_number() OVER (PARTITION BY root ORDER BY
        (SELECT max(id) FROM job WHERE cluster=cluster.name) DESC NULLS LAST, name) AS place
    FROM cluster)
UPDATE cluster SET root=root||' '||cluster.name FROM named WHERE named.name=cluster.name AND place>1;
ALTER TABLE cluster ADD UNIQUE (root);
-- numbers for all jobs of a transaction
ALTER SEQUENCE job_id INCREMENT 64;

-- Begin to push: no other one of this cluster does until the end of the transaction, and the name is
-- this root's, or becomes it.
CREATE FUNCTION begin_push(its_name text, its_root text, rebind boolean) RETURNS void
    LANGUAGE plpgsql SET search_path=rollcall, pg_catalog SET lock_timeout='10min' AS $begin_push$
DECLARE
    owner text;
    known text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('rollcall '||its_name, 0));
    SELECT root INTO owner FROM cluster WHERE name=its_name;
    SELECT name INTO known FROM cluster WHERE root=its_root;
    IF known=its_name THEN
        RETURN;
    ELSIF owner IS NOT NULL AND (known IS NOT NULL OR NOT rebind) THEN
        RAISE 'cluster % is another root: give this one a name of its own with --cluster%',
            its_name, coalesce(', or keep its name '||known, ', or --rebind that name to it')
            USING ERRCODE='RC001';
    ELSIF known IS NOT NULL AND NOT rebind THEN
        RAISE 'this root is cluster % there: push with --cluster %, or --rebind it to the name %',
            known, known, its_name USING ERRCODE='RC001';
    ELSIF known IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('rollcall '||known, 0));
        UPDATE cluster SET name=its_name WHERE root=its_root;
        UPDATE job SET cluster=its_name WHERE cluster=known;
    ELSE
        INSERT INTO cluster VALUES (its_name, its_root)
            ON CONFLICT (name) DO UPDATE SET root=its_root;
    END IF;
END $begin_push$;
