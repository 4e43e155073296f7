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

FAILS (pg_check, const char *uri, bool *has_password, struct err *err)
FAILS (pg_open, const char *uri, struct pg **ret, struct err *err)
FAILS (pg_do, struct pg *p, const char *sql, struct err *err)
FAILS (pg_each, struct pg *p, const char *sql, size_t n,
       const char *const values[],
       int (*fn) (void *arg, const char *const row[]), void *arg,
       struct err *err)
FAILS (pg_copy_begin, struct pg *p, const char *sql, struct err *err)
FAILS (pg_copy_put, struct pg *p, const void *data, size_t size,
       struct err *err)
FAILS (pg_copy_end, struct pg *p, uint64_t rows, struct err *err)

void pg_close (struct pg *p)
{
}

void pg_on_silence (struct pg *p, pg_silent_fn *fn, void *arg)
{
}

const char *pg_name (const struct pg *p)
{
    return "";
}
