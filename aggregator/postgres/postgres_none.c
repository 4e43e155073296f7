/* aggregator/postgres/postgres_none.c - in place of postgres.c in a build without the headers of libpq
 *
 * There is no connection, so nothing but pg_check and pg_open is called.
 */
#include "postgres/postgres.h"

#include <errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int no_library (struct err *err)
{
    return err_set (err, ENOTSUP, "this build of rollcall has no PostgreSQL: "
                    "it was built without libpq");
}

#define FAILS(name, ...) int name (__VA_ARGS__) { return no_library (err); }
#define NEVER(type, name, value, ...) type name (__VA_ARGS__) { return value; }

FAILS (pg_check, const char *uri, bool *has_password, struct err *err)
FAILS (pg_open, const char *uri, struct pg **ret, struct err *err)
FAILS (pg_do, struct pg *p, const char *sql, struct err *err)
FAILS (pg_each, struct pg *p, const char *sql, size_t n,
       const char *const values[],
       int (*fn) (void *arg, const struct pg_row *row), void *arg,
       struct err *err)
FAILS (pg_copy_begin, struct pg *p, const char *sql, struct err *err)
FAILS (pg_copy_put, struct pg *p, const void *data, size_t size,
       struct err *err)
FAILS (pg_copy_end, struct pg *p, struct err *err)
NEVER (void, pg_close, , struct pg *p)
NEVER (const char *, pg_name, "", const struct pg *p)
NEVER (unsigned, pg_columns, 0, const struct pg_row *row)
NEVER (bool, pg_is_null, true, const struct pg_row *row, unsigned column)
NEVER (const char *, pg_text, "", const struct pg_row *row, unsigned column)
