/* tests/bench/bench_rows.c - rows in memory, and the fastest way into SQLite
 *
 * The virtual table is much like that of aggregator/builder/part.c, which is
 * measured against it.  It is written again on purpose: a floor that used
 * part.c would sink with it, and nobody would see that it got slower.
 */
#include "bench_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_FIRST (1u << 20)   // bytes; grows as needed

struct vtab {
    sqlite3_vtab base;
    const struct rows *rows;
};

struct cursor {
    sqlite3_vtab_cursor base;
    const struct rows *rows;
    int row;
};

/* ---- filling ---- */

bool rows_init (struct rows *r, const char *ddl, int ncolumns)
{
    bool good = ncolumns <= ROWS_COLUMNS_MAX;

    memset (r, 0, sizeof (*r));
    (void)snprintf (r->ddl, sizeof (r->ddl), "%s", ddl);
    r->ncolumns = ncolumns;
    r->text_max = TEXT_FIRST;
    r->text = malloc (r->text_max);
    for (int c = 0; c < ncolumns && good; c++) {
        r->type[c] = calloc (ROWS_SLICE, sizeof (*r->type[c]));
        r->number[c] = calloc (ROWS_SLICE, sizeof (*r->number[c]));
        r->real[c] = calloc (ROWS_SLICE, sizeof (*r->real[c]));
        r->size[c] = calloc (ROWS_SLICE, sizeof (*r->size[c]));
        good = r->type[c] && r->number[c] && r->real[c] && r->size[c];
    }
    return good && r->text;
}

void rows_fini (struct rows *r)
{
    for (int c = 0; c < ROWS_COLUMNS_MAX; c++) {
        free (r->type[c]);
        free (r->number[c]);
        free (r->real[c]);
        free (r->size[c]);
    }
    free (r->text);
}

static bool keep_text (struct rows *r, const void *s, int n)
{
    while (r->text_used + (size_t)n > r->text_max) {
        char *more = realloc (r->text, 2 * r->text_max);

        if (!more)
            return false;
        r->text = more;
        r->text_max *= 2;
    }
    memcpy (r->text + r->text_used, s, (size_t)n);
    r->text_used += (size_t)n;
    return true;
}

/* A text that the row before had, too, is kept once. */
static bool take_text (struct rows *r, int c, const void *s, int n)
{
    int i = r->nrows;
    sqlite3_int64 at = (sqlite3_int64)r->text_used;

    r->size[c][i] = n;
    if (i > 0 && r->type[c][i - 1] == SQLITE_TEXT &&
        r->size[c][i - 1] == n &&
        memcmp (r->text + r->number[c][i - 1], s, (size_t)n) == 0) {
        r->number[c][i] = r->number[c][i - 1];
        return true;
    }
    r->number[c][i] = at;
    return keep_text (r, s, n);
}

bool rows_take (struct rows *r, sqlite3_stmt *select)
{
    r->nrows = 0;
    r->text_used = 0;
    while (!r->ended && r->nrows < ROWS_SLICE) {
        int i = r->nrows;

        if (sqlite3_step (select) != SQLITE_ROW) {
            r->ended = true;    // another step would begin again
            break;
        }
        for (int c = 0; c < r->ncolumns; c++) {
            int type = sqlite3_column_type (select, c);

            r->type[c][i] = (unsigned char)type;
            if (type == SQLITE_INTEGER)
                r->number[c][i] = sqlite3_column_int64 (select, c);
            else if (type == SQLITE_FLOAT)
                r->real[c][i] = sqlite3_column_double (select, c);
            else if (type == SQLITE_TEXT &&
                     !take_text (r, c, sqlite3_column_text (select, c),
                                 sqlite3_column_bytes (select, c)))
                return false;
        }
        r->nrows++;
    }
    return r->nrows > 0;
}

/* ---- the virtual table ---- */

static int vtab_connect (sqlite3 *db, void *aux, int argc,
                         const char *const *argv, sqlite3_vtab **ret,
                         char **errmsg)
{
    const struct rows *rows = aux;
    int code = sqlite3_declare_vtab (db, rows->ddl);
    struct vtab *v;

    (void)argc;
    (void)argv;
    (void)errmsg;
    if (code != SQLITE_OK)
        return code;
    if (!(v = sqlite3_malloc (sizeof (*v))))
        return SQLITE_NOMEM;
    *v = (struct vtab){ .rows = rows };
    *ret = &v->base;
    return SQLITE_OK;
}

static int vtab_disconnect (sqlite3_vtab *v)
{
    sqlite3_free (v);
    return SQLITE_OK;
}

static int vtab_best_index (sqlite3_vtab *v, sqlite3_index_info *info)
{
    (void)v;
    info->estimatedCost = ROWS_SLICE;
    return SQLITE_OK;
}

static int vtab_open (sqlite3_vtab *v, sqlite3_vtab_cursor **ret)
{
    struct cursor *c = sqlite3_malloc (sizeof (*c));

    if (!c)
        return SQLITE_NOMEM;
    *c = (struct cursor){ .rows = ((const struct vtab *)v)->rows };
    *ret = &c->base;
    return SQLITE_OK;
}

static int vtab_close (sqlite3_vtab_cursor *c)
{
    sqlite3_free (c);
    return SQLITE_OK;
}

static int vtab_filter (sqlite3_vtab_cursor *c, int index, const char *text,
                        int argc, sqlite3_value **argv)
{
    (void)index;
    (void)text;
    (void)argc;
    (void)argv;
    ((struct cursor *)c)->row = 0;
    return SQLITE_OK;
}

static int vtab_next (sqlite3_vtab_cursor *c)
{
    ((struct cursor *)c)->row++;
    return SQLITE_OK;
}

static int vtab_eof (sqlite3_vtab_cursor *base)
{
    const struct cursor *c = (const struct cursor *)base;

    return c->row >= c->rows->nrows;
}

static int vtab_column (sqlite3_vtab_cursor *base, sqlite3_context *ctx,
                        int i)
{
    const struct cursor *c = (const struct cursor *)base;
    const struct rows *r = c->rows;

    switch (r->type[i][c->row]) {
    case SQLITE_INTEGER:
        sqlite3_result_int64 (ctx, r->number[i][c->row]);
        break;
    case SQLITE_FLOAT:
        sqlite3_result_double (ctx, r->real[i][c->row]);
        break;
    case SQLITE_TEXT:
        sqlite3_result_text (ctx, r->text + r->number[i][c->row],
                             r->size[i][c->row], SQLITE_STATIC);
        break;
    default:
        break;
    }
    return SQLITE_OK;
}

static int vtab_rowid (sqlite3_vtab_cursor *c, sqlite3_int64 *ret)
{
    *ret = ((const struct cursor *)c)->row;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = vtab_connect,
    .xBestIndex = vtab_best_index,
    .xDisconnect = vtab_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = vtab_filter,
    .xNext = vtab_next,
    .xEof = vtab_eof,
    .xColumn = vtab_column,
    .xRowid = vtab_rowid,
};

int rows_register (sqlite3 *db, struct rows *r)
{
    return sqlite3_create_module (db, "slice", &module, r);
}
