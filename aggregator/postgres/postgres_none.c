/* aggregator/postgres/postgres_none.c - in place of postgres.c in a build without the headers of libpq */
#include "postgres/postgres.h"

#include <errno.h>

static int no_library (struct err *err)
{
    return err_set (err, ENOTSUP, "this build of rollcall has no PostgreSQL: "
                    "it was built without libpq");
}

int pg_check (const char *uri, bool *has_password, struct err *err)
{
    (void)uri;
    (void)has_password;
    return no_library (err);
}

int pg_open (const char *uri, struct pg **ret, struct err *err)
{
    (void)uri;
    (void)ret;
    return no_library (err);
}

void pg_close (struct pg *p)
{
    (void)p;
}

const char *pg_name (const struct pg *p)
{
    (void)p;
    return "";
}

int pg_do (struct pg *p, const char *sql, struct err *err)
{
    (void)p;
    (void)sql;
    return no_library (err);
}

int pg_each (struct pg *p, const char *sql, size_t n,
             const char *const values[],
             int (*fn) (void *arg, const struct pg_row *row), void *arg,
             struct err *err)
{
    (void)p;
    (void)sql;
    (void)n;
    (void)values;
    (void)fn;
    (void)arg;
    return no_library (err);
}

unsigned pg_columns (const struct pg_row *row)
{
    (void)row;
    return 0;
}

bool pg_is_null (const struct pg_row *row, unsigned column)
{
    (void)row;
    (void)column;
    return true;
}

const char *pg_text (const struct pg_row *row, unsigned column)
{
    (void)row;
    (void)column;
    return "";
}

int pg_copy_begin (struct pg *p, const char *sql, struct err *err)
{
    (void)p;
    (void)sql;
    return no_library (err);
}

int pg_copy_put (struct pg *p, const void *data, size_t size, struct err *err)
{
    (void)p;
    (void)data;
    (void)size;
    return no_library (err);
}

int pg_copy_end (struct pg *p, struct err *err)
{
    (void)p;
    return no_library (err);
}
