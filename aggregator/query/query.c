/* aggregator/query/query.c - run queries on a result */
#include "query/query.h"

#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct query *query_find (const char *name)
{
    for (unsigned i = 0; i < query_count; i++) {
        if (strcmp (queries[i].name, name) == 0)
            return &queries[i];
    }
    return NULL;
}

/* Bind a value to the parameter of that name; -EINVAL if there is none. */
/* For queries that sort no more rows than are printed. */
static void bind_limit (sqlite3_stmt *st, int64_t rows_max)
{
    int i = sqlite3_bind_parameter_index (st, ":limit");

    if (i > 0 && rows_max > 0)
        (void)sqlite3_bind_int64 (st, i, rows_max);
}

static int query_bind (sqlite3_stmt *st, const char *name, int64_t number,
                       const char *text, struct err *err)
{
    int i = sqlite3_bind_parameter_index (st, name);

    if (i == 0)
        return err_set (err, EINVAL, "this query does not depend on a %s: "
                        "it has no parameter %s", name + 1, name);
    if (text)
        (void)sqlite3_bind_text (st, i, text, -1, SQLITE_TRANSIENT);
    else
        (void)sqlite3_bind_int64 (st, i, number);
    return 0;
}

/* Whether more than blanks, comments and semicolons is left. */
static bool has_more (sqlite3 *db, const char *tail)
{
    sqlite3_stmt *st = NULL;
    bool more;

    do {
        if (sqlite3_prepare_v2 (db, tail, -1, &st, &tail) != SQLITE_OK)
            return true;
        more = st != NULL;
        (void)sqlite3_finalize (st);
    } while (!more && *tail);
    return more;
}

int query_prepare (sqlite3 *db, const char *sql, const struct query_values *v,
                   sqlite3_stmt **ret, struct err *err)
{
    const char *tail = "";
    int rc = 0;

    *ret = NULL;
    if (sqlite3_prepare_v2 (db, sql, -1, ret, &tail) != SQLITE_OK)
        return err_set (err, EINVAL, "%s%s%s",
                        sqlite3_error_offset (db) < 0 &&
                                strcmp (sqlite3_errmsg (db),
                                        "incomplete input") == 0
                            ? "the statement ends too early: " : "",
                        sqlite3_errmsg (db),
                        sqlite3_errcode (db) == SQLITE_AUTH
                            ? ": a query may only read" : "");
    if (!*ret || !sqlite3_stmt_readonly (*ret) ||
        sqlite3_column_count (*ret) == 0)
        rc = err_set (err, EINVAL, "this is not a query: it has no columns");
    else if (has_more (db, tail))
        rc = err_set (err, EINVAL, "one statement at a time");
    if (rc == 0 && v->rank >= 0)
        rc = query_bind (*ret, ":rank", v->rank, NULL, err);
    if (rc == 0 && v->peer >= 0)
        rc = query_bind (*ret, ":peer", v->peer, NULL, err);
    if (rc == 0 && v->step)
        rc = query_bind (*ret, ":step", 0, v->step, err);
    if (rc == 0)
        bind_limit (*ret, v->rows_max);
    if (rc < 0) {
        (void)sqlite3_finalize (*ret);
        *ret = NULL;
    }
    return rc;
}

int query_head (sqlite3_stmt *st, struct grid *g)
{
    int n = sqlite3_column_count (st);
    const char **names = calloc ((size_t)n, sizeof (*names));

    if (!names)
        return -ENOMEM;
    for (int i = 0; i < n; i++) {
        names[i] = sqlite3_column_name (st, i);
        if (!names[i])
            names[i] = "";
    }
    grid_head (g, names, (unsigned)n);
    free (names);
    return 0;
}

void query_cell (sqlite3_stmt *st, int i, struct grid *g)
{
    const char *text;

    switch (sqlite3_column_type (st, i)) {
    case SQLITE_NULL:
        grid_null (g);
        break;
    case SQLITE_INTEGER:
        grid_int (g, sqlite3_column_int64 (st, i));
        break;
    case SQLITE_FLOAT:
        grid_real (g, sqlite3_column_double (st, i));
        break;
    case SQLITE_BLOB:
        grid_blob (g, sqlite3_column_blob (st, i),
                   (size_t)sqlite3_column_bytes (st, i));
        break;
    default:
        text = (const char *)sqlite3_column_text (st, i);
        grid_text (g, text ? text : "",
                   text ? (size_t)sqlite3_column_bytes (st, i) : 0);
    }
}

int query_print (sqlite3_stmt *st, const struct query_values *v,
                 struct grid *g, struct err *err)
{
    int n = sqlite3_column_count (st), code = SQLITE_DONE;
    int rc = query_head (st, g);

    for (int64_t rows = 0; rc == 0 && (!v->rows_max || rows < v->rows_max);
         rows++) {
        if ((code = sqlite3_step (st)) != SQLITE_ROW)
            break;
        for (int i = 0; i < n; i++)
            query_cell (st, i, g);
    }
    if (rc == 0 && code != SQLITE_DONE && code != SQLITE_ROW)
        rc = db_error (sqlite3_db_handle (st), "the query failed", err);
    if (rc < 0)
        return code == SQLITE_CORRUPT ? -EBADMSG : rc;
    if ((rc = grid_finish_why (g, v->none)) < 0)
        return err_set (err, -rc, rc == -ENOMEM ? "no memory for a row"
                                                : "cannot print the rows");
    return 0;
}
