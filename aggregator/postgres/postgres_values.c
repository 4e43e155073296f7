/* aggregator/postgres/postgres_values.c - what is said of a database, and values */
#include "postgres/postgres.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pg_check_option (const char *uri, const char *cluster, struct err *err)
{
    bool password = false;
    int rc = pg_check (uri, &password, err);

    if (rc < 0)
        return rc;
    if (cluster && (!*cluster || strchr (cluster, '/')))
        return err_set (err, EINVAL, "--cluster is a name without a slash");
    return !password || uri == getenv (PG_VARIABLE)
               ? 0 : err_set (err, EINVAL, "a password on a command line is "
                              "seen by everybody in ps: put it into a password "
                              "file (~/.pgpass, PGPASSFILE)");
}

int64_t pg_int (const struct pg_row *row, unsigned column)
{
    return strtoll (pg_text (row, column), NULL, 10);
}

struct number {
    int64_t *ret;
    bool seen;
};

static int take_number (void *arg, const struct pg_row *row)
{
    struct number *n = arg;

    if (!n->seen && !pg_is_null (row, 0))
        *n->ret = pg_int (row, 0);
    n->seen = true;
    return 0;
}

int pg_number (struct pg *p, const char *sql, int64_t fallback, int64_t *ret,
               struct err *err)
{
    struct number n = { .ret = ret };

    *ret = fallback;
    return pg_each (p, sql, 0, NULL, take_number, &n, err);
}

/* ---- arrays ---- */

static void begin_element (struct buf *array)
{
    buf_put (array, array->size == 0 ? "{" : ",", 1);
}

void pg_array_text (struct buf *array, const char *value)
{
    begin_element (array);
    buf_put (array, "\"", 1);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            buf_put (array, "\\", 1);
        buf_put (array, value, 1);
    }
    buf_put (array, "\"", 1);
}

void pg_array_int (struct buf *array, int64_t value)
{
    begin_element (array);
    buf_printf (array, "%lld", (long long)value);
}
