/* aggregator/postgres/schema.h - the tables in PostgreSQL, and their versions */
#ifndef ROLLCALL_POSTGRES_SCHEMA_H
#define ROLLCALL_POSTGRES_SCHEMA_H

#include "postgres/postgres.h"

/* Steps from one version to the next: sql/NUMBER_NAME.sql. */
struct pg_migration {
    const char *name, *sql, *query;
};
extern const struct pg_migration pg_migration[];
extern const size_t pg_migration_count;

#define SCHEMA_READER "rollcall_reader" // a role that may read all of it

/* Check that the tables are those of this program.  -ENOENT: there are none;
 * -ENODATA: they are of an older version; -EPROTO: of a newer one, or changed by
 * hand, and 'err' says which; or as pg_each.
 */
int schema_check (struct pg *p, struct err *err);

/* Bring them up to date in one transaction: *from is the version before (0: there
 * were none), *has_reader whether SCHEMA_READER is there.  As
 * schema_check, but not -ENOENT and -ENODATA.
 */
int schema_migrate (struct pg *p, int64_t *from, bool *has_reader,
                    struct err *err);

#endif
