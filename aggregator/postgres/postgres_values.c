/* aggregator/postgres/postgres_values.c - what is said of a database, transactions,
 * and values
 */
#include "postgres/postgres.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>

/* It is in front of names, and in a line of status. */
static bool is_cluster (const char *name)
{
    const char *at = name;
    size_t n;

    while ((n = *at == '/' ? 0 : utf8_shown (at)) > 0)
        at += n;
    return at != name && !*at;
}

int pg_check_option (const char *uri, const char *cluster, struct err *err)
{
    bool password = false;
    int rc = pg_check (uri, &password, err);

    if (rc < 0)
        return rc;
    if (cluster && !is_cluster (cluster))
        return err_set (err, EINVAL, "--cluster is a name in UTF-8, without a "
                        "slash and control characters");
    return !password || uri == getenv (PG_VARIABLE)
               ? 0 : err_set (err, EINVAL, "a password on a command line is "
                              "seen by everybody in ps: put it into a password "
                              "file (~/.pgpass, PGPASSFILE)");
}

/* Nothing that is set for the user, the database or the session matters.  For a
 * lock: a long question of another keeps one at most so long.
 */
int pg_begin (struct pg *p, const char *how, struct err *err)
{
    char sql[512];

    PRINT (sql, "BEGIN ISOLATION LEVEL %s; SET LOCAL search_path=rollcall, "
           "pg_catalog; SET LOCAL timezone='UTC'; SET LOCAL datestyle='ISO, YMD'; "
           "SET LOCAL extra_float_digits=1; SET LOCAL quote_all_identifiers=off; "
           "SET LOCAL lock_timeout='10s'; SET LOCAL statement_timeout=0; "
           "SET LOCAL idle_in_transaction_session_timeout=0", how);
    return pg_do (p, sql, err);
}

int pg_end (struct pg *p, int rc, struct err *err)
{
    if (rc == 0)
        rc = pg_do (p, "COMMIT", err);
    if (rc < 0)
        (void)pg_do (p, "ROLLBACK", NULL);
    return rc;
}

int64_t pg_int (const char *text)
{
    return text ? strtoll (text, NULL, 10) : 0;
}

bool pg_is_text (const char *text)
{
    size_t n;

    while (*text && (n = utf8_size (text)) > 0)
        text += n;
    return !*text;
}

static int take_number (void *arg, const char *const row[])
{
    *(int64_t *)arg = pg_int (row[0]);
    return 0;
}

int pg_number (struct pg *p, const char *sql, int64_t *ret, struct err *err)
{
    *ret = 0;
    return pg_each (p, sql, 0, NULL, take_number, ret, err);
}

void pg_array_text (struct buf *array, const char *value)
{
    buf_put (array, array->size == 0 ? "{\"" : ",\"", 2);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            buf_put (array, "\\", 1);
        buf_put (array, value, 1);
    }
    buf_put (array, "\"", 1);
}
