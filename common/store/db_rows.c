/* common/store/db_rows.c - bind values to statements and read rows of queries
 */
#include "store/db_rows.h"

#include <stdio.h>
#include <string.h>

struct db_value db_value_text (const char *text)
{
    return text ? (struct db_value){ .type = SQLITE_TEXT,
                                     .bytes = { text, strlen (text) } }
                : (struct db_value){ .type = SQLITE_NULL };
}

static int bind_one (sqlite3_stmt *st, int i, const struct db_value *v)
{
    switch (v->type) {
    case SQLITE_INTEGER:
        return sqlite3_bind_int64 (st, i, v->number);
    case SQLITE_FLOAT:
        return sqlite3_bind_double (st, i, v->real);
    case SQLITE_TEXT:
        return sqlite3_bind_text64 (st, i, v->bytes.data, v->bytes.size,
                                    SQLITE_TRANSIENT, SQLITE_UTF8);
    case SQLITE_BLOB:
        return sqlite3_bind_blob64 (st, i, v->bytes.data, v->bytes.size,
                                    SQLITE_TRANSIENT);
    default:
        return sqlite3_bind_null (st, i);
    }
}

int db_bind (sqlite3_stmt *st, const struct db_value *values)
{
    int code = SQLITE_OK;

    for (int i = 0; values[i].type != 0 && code == SQLITE_OK; i++)
        code = bind_one (st, i + 1, &values[i]);
    return code;
}

static void read_cell (sqlite3_stmt *st, int i, const struct db_cell *c)
{
    switch ((enum db_cell_kind)c->kind) {
    case DB_INT:
        *(int *)c->at = sqlite3_column_int (st, i);
        break;
    case DB_UINT:
        *(unsigned *)c->at = (unsigned)sqlite3_column_int (st, i);
        break;
    case DB_INT64:
        *(int64_t *)c->at = sqlite3_column_int64 (st, i);
        break;
    case DB_BOOL:
        *(bool *)c->at = sqlite3_column_int (st, i) != 0;
        break;
    case DB_REAL:
        *(double *)c->at = sqlite3_column_double (st, i);
        break;
    case DB_TEXT: {
        const char *text = (const char *)sqlite3_column_text (st, i);

        (void)snprintf (c->at, c->size, "%s", text ? text : "");
        break;
    }
    case DB_TEXT_AT:
        *(const char **)c->at = (const char *)sqlite3_column_text (st, i);
        break;
    case DB_DIGEST: {
        const void *bytes = sqlite3_column_blob (st, i);

        memset (c->at, 0, DIGEST_SIZE);
        if (bytes && sqlite3_column_bytes (st, i) == DIGEST_SIZE)
            memcpy (c->at, bytes, DIGEST_SIZE);
        break;
    }
    case DB_BLOB: {
        struct db_blob *blob = c->at;

        blob->data = sqlite3_column_blob (st, i);
        blob->size = (size_t)sqlite3_column_bytes (st, i);
        break;
    }
    case DB_LAST:
        break;
    }
}

void db_read (sqlite3_stmt *st, const struct db_cell *cells)
{
    for (int i = 0; cells[i].kind != DB_LAST; i++)
        read_cell (st, i, &cells[i]);
}

/* ---- rows ---- */

static int fail (struct db_rows *r, sqlite3 *db)
{
    return r->fail ? r->fail (r->arg, r->err)
                   : db_error (db, sqlite3_db_filename (db, "main"), r->err);
}

/* Find an unused statement of the connection by its text. */
static sqlite3_stmt *find_kept (sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st = NULL;

    while ((st = sqlite3_next_stmt (db, st))) {
        if (!sqlite3_stmt_busy (st) && strcmp (sqlite3_sql (st), sql) == 0)
            break;
    }
    return st;
}

void db_begin (struct db_rows *r, sqlite3 *db, const struct db_value *values)
{
    const char *sql = values[0].bytes.data;

    r->st = r->kept ? find_kept (db, sql) : NULL;
    if ((!r->st &&
         sqlite3_prepare_v3 (db, sql, -1,
                             r->kept ? SQLITE_PREPARE_PERSISTENT : 0, &r->st,
                             NULL) != SQLITE_OK) ||
        db_bind (r->st, values + 1) != SQLITE_OK)
        r->rc = fail (r, db);
}

struct db_rows db_rows_of (sqlite3 *db, struct err *err,
                           const struct db_value *values)
{
    struct db_rows r = { .err = err };

    db_begin (&r, db, values);
    return r;
}

struct db_rows db_rows_kept_of (sqlite3 *db, struct err *err,
                                const struct db_value *values)
{
    struct db_rows r = { .err = err, .kept = true };

    db_begin (&r, db, values);
    return r;
}

bool db_step (struct db_rows *r)
{
    int code;

    if (r->rc < 0)
        return false;
    if ((code = sqlite3_step (r->st)) != SQLITE_ROW && code != SQLITE_DONE)
        r->rc = fail (r, sqlite3_db_handle (r->st));
    return code == SQLITE_ROW;
}

int db_end (struct db_rows *r)
{
    if (!r->kept) {
        (void)sqlite3_finalize (r->st);
    } else if (r->st) {
        (void)sqlite3_reset (r->st);
        (void)sqlite3_clear_bindings (r->st);
    }
    r->st = NULL;
    return r->rc < 0 ? r->rc : 0;
}

int db_finish (struct db_rows r)
{
    while (db_step (&r))
        ;
    return db_end (&r);
}

int db_one_of (struct db_rows r, const struct db_cell *cells)
{
    bool found = db_step (&r);
    int rc;

    if (found)
        db_read (r.st, cells);
    rc = db_end (&r);
    return rc < 0 ? rc : found;
}

int64_t db_number (struct db_rows r, int64_t fallback)
{
    int64_t v;

    return db_one (r, v) > 0 ? v : fallback;
}

const char *db_text (sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text (st, column);

    return text ? text : "";
}

void db_close_kept (sqlite3 *db)
{
    sqlite3_stmt *st;

    while (db && (st = sqlite3_next_stmt (db, NULL)))
        (void)sqlite3_finalize (st);
}
