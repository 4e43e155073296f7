/* aggregator/postgres/schema.c - the tables in PostgreSQL, and their versions */
#include "postgres/schema.h"

#include <errno.h>
#include <stdio.h>

// columns and indexes of each table, columns of each view, and the text of each
// function: as all versions of PostgreSQL print them
#define SHAPES "SELECT c.relname::text AS relation, md5(concat(" \
    "(SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, " \
    "a.atttypmod), a.attnotnull), ',' ORDER BY a.attnum) FROM pg_attribute a " \
    "WHERE a.attrelid=c.oid AND a.attnum>0 AND NOT a.attisdropped), " \
    "(SELECT string_agg(pg_get_indexdef(i.indexrelid), ',' ORDER BY 1) FROM (" \
    "SELECT indexrelid FROM pg_index WHERE indrelid=c.oid ORDER BY " \
    "indexrelid::regclass::text) i))) AS shape FROM pg_class c WHERE " \
    "c.relnamespace='rollcall'::regnamespace AND c.relkind IN ('r', 'p', 'v') " \
    "AND NOT c.relispartition UNION ALL SELECT proname::text, md5(prosrc) FROM " \
    "pg_proc WHERE pronamespace='rollcall'::regnamespace"

static int read_version (struct pg *p, int64_t *ret, struct err *err)
{
    int64_t there;
    int rc = pg_number (p, "SELECT 1 WHERE to_regclass("
                           "'rollcall.schema_version') IS NOT NULL",
                        &there, err);

    *ret = 0;
    return rc < 0 || !there
               ? rc : pg_number (p, "SELECT max(version) FROM schema_version",
                                 ret, err);
}

static int too_new (const struct pg *p, int64_t version, struct err *err)
{
    return err_set (err, EPROTO, "%s has tables of version %lld; this rollcall "
                    "knows %zu: use a newer one", pg_name (p),
                    (long long)version, pg_migration_count);
}

/* ---- changes by hand ---- */

static int take_text (void *arg, const char *const row[])
{
    return snprintf (arg, ERR_TEXT_MAX, "%s", row[0]) < 0 ? -EIO : 0;
}

static int check_shape (struct pg *p, struct err *err)
{
    char what[ERR_TEXT_MAX] = "";
    int rc = pg_each (p, "SELECT CASE WHEN s.shape IS NULL THEN 'removed' ELSE "
                         "'changed' END||' rollcall.'||w.relation FROM "
                         "schema_shape w LEFT JOIN (" SHAPES ") s ON "
                         "s.relation=w.relation WHERE s.shape IS DISTINCT FROM "
                         "w.shape ORDER BY w.relation LIMIT 1", 0, NULL,
                      take_text, what, err);

    return rc < 0 || !*what
               ? rc : err_set (err, EPROTO, "%s: somebody %s: undo that, or drop "
                               "schema rollcall and push everything again",
                               pg_name (p), what);
}

int schema_check (struct pg *p, struct err *err)
{
    int64_t version;
    int rc = read_version (p, &version, err);

    if (rc < 0)
        return rc;
    if (version == 0)
        return err_set (err, ENOENT, "%s has no tables of rollcall: rollcall "
                        "push --migrate makes them", pg_name (p));
    if (version > (int64_t)pg_migration_count)
        return too_new (p, version, err);
    if (version < (int64_t)pg_migration_count)
        return err_set (err, ENODATA, "%s has tables of version %lld, and this "
                        "rollcall needs %zu: rollcall push --migrate brings "
                        "them up to date", pg_name (p), (long long)version,
                        pg_migration_count);
    return check_shape (p, err);
}

/* ---- migrations ---- */

/* Two may migrate at once: the second one finds that it is done. */
static int lock (struct pg *p, int64_t *version, struct err *err)
{
    int rc = pg_begin (p, PG_WRITE, err);

    *version = 0;
    if (rc == 0)
        rc = pg_do (p, "SELECT pg_advisory_xact_lock(hashtextextended("
                       "'rollcall schema', 0))", err);
    if (rc == 0)
        rc = pg_do (p, "DO $$BEGIN IF to_regnamespace('rollcall') IS NULL THEN "
                       "CREATE SCHEMA rollcall; END IF; END$$", err);
    return rc < 0 ? rc : read_version (p, version, err);
}

static int apply (struct pg *p, const struct pg_migration *m, struct err *err)
{
    char sql[160];
    int rc = pg_do (p, m->sql, err);

    PRINT (sql, "INSERT INTO schema_version VALUES (%d)",
           (int)(m - pg_migration) + 1);
    if (rc == 0)
        rc = pg_do (p, sql, err);
    if (rc == 0)
        rc = pg_do (p, "DELETE FROM schema_shape; INSERT INTO schema_shape "
                       SHAPES, err);
    return err_prefix (err, rc, "migration %s", m->name);
}

int schema_migrate (struct pg *p, int64_t *from, bool *has_reader,
                    struct err *err)
{
    int64_t reader = 0;
    int rc = lock (p, from, err);

    if (rc == 0 && *from > (int64_t)pg_migration_count)
        rc = too_new (p, *from, err);
    if (rc == 0 && *from > 0)
        rc = check_shape (p, err);
    for (size_t i = (size_t)*from; i < pg_migration_count && rc == 0; i++)
        rc = apply (p, &pg_migration[i], err);
    if (rc == 0)
        rc = pg_number (p, "SELECT let_read()", &reader, err);
    *has_reader = reader != 0;
    return pg_end (p, rc, err);
}
