/* aggregator/publish/part_tables.c - tables that lie in parts, for statements
 *
 * Virtual tables that need no CREATE: SQLite finds a module by the name of a
 * table that the file lacks.  They read leaves in the order of rowids.  Their
 * estimates are those that SQLite has for a table with an index on rank, so
 * that it chooses the same plans, and prints rows in the same order.
 */
#include "publish/result_parts.h"

#include "model/schema.h"
#include "publish/rows_digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DDL_MAX 1024
#define ROWS_DEFAULT 1048576    // of a table, as SQLite assumes
#define RANK_ROWS 10            // with one value of an index
#define ROWID_COST 10.0
#define ROW_COST 3.0
#define RANK_TOP (INT64_C (1) << 30)    // above all ranks

/* What a connection has, until it is closed. */
struct tables {
    struct page_source *source;
    unsigned users;             // modules
};

struct module {
    struct tables *all;
    unsigned table;
};

struct table_of_parts {
    sqlite3_vtab base;
    const struct tables *all;
    uint32_t root;
    int rank;                   // the column; -1: there is none
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct page_scan scan;
    bool open, end;
};

/* The statement fails with this sentence. */
static int refuse (sqlite3_vtab *t, int rc, const struct err *err)
{
    sqlite3_free (t->zErrMsg);
    t->zErrMsg = sqlite3_mprintf ("%s", err->text);
    return rc == -ENOMEM    ? SQLITE_NOMEM
           : rc == -EBADMSG ? SQLITE_CORRUPT_VTAB : SQLITE_ERROR;
}

static int connect_table (sqlite3 *db, void *arg, int argc,
                          const char *const *argv, sqlite3_vtab **ret,
                          char **message)
{
    const struct module *m = arg;
    struct table_of_parts *t = sqlite3_malloc (sizeof (*t));
    char columns[DDL_MAX], sql[DDL_MAX + 32];
    struct err err = { "" };
    int code;

    (void)argc;
    (void)argv;
    if (!t)
        return SQLITE_NOMEM;
    memset (t, 0, sizeof (*t));
    t->all = m->all;
    t->rank = m->table < PARTS_TABLES - 1
                  ? (int)schema_table (m->table)->ncolumns : -1;
    if (page_source_root (m->all->source, parts_tables[m->table], &t->root,
                          &err) < 0) {
        *message = sqlite3_mprintf ("%s", err.text);
        sqlite3_free (t);
        return SQLITE_ERROR;
    }
    parts_columns (m->table, columns, sizeof (columns));
    PRINT (sql, "CREATE TABLE x (%s)", columns);
    code = sqlite3_declare_vtab (db, sql);
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config (db, SQLITE_VTAB_INNOCUOUS);
    if (code == SQLITE_OK)
        *ret = &t->base;
    else
        sqlite3_free (t);
    return code;
}

static int disconnect_table (sqlite3_vtab *t)
{
    sqlite3_free (t);
    return SQLITE_OK;
}

/* ---- which rows ---- */

static const unsigned char ops[] = {
    SQLITE_INDEX_CONSTRAINT_EQ, SQLITE_INDEX_CONSTRAINT_GT,
    SQLITE_INDEX_CONSTRAINT_GE, SQLITE_INDEX_CONSTRAINT_LT,
    SQLITE_INDEX_CONSTRAINT_LE,
};

#define OPS ((int)(sizeof (ops) / sizeof (ops[0])))
#define LOWER 0x7               // of the bits: =, >, >=
#define UPPER 0x19              // =, <, <=

/* The bits of a plan: comparisons of the rowid, then those of the rank. */
static int bit_of (const struct table_of_parts *t,
                   const struct sqlite3_index_constraint *c)
{
    for (int i = 0; i < OPS && c->usable; i++) {
        if (c->op == ops[i] && c->iColumn < 0)
            return i;
        if (c->op == ops[i] && c->iColumn == t->rank)
            return OPS + i;
    }
    return -1;
}

static bool is_in_order (const struct table_of_parts *t,
                         const sqlite3_index_info *x, int plan)
{
    bool by_rank = (plan >> OPS) & LOWER;       // NULL is last here
    int i = 0;

    if (x->nOrderBy > 0 && by_rank && x->aOrderBy[0].iColumn == t->rank &&
        !x->aOrderBy[0].desc)
        i++;
    if (i < x->nOrderBy && x->aOrderBy[i].iColumn < 0 && !x->aOrderBy[i].desc)
        i++;
    return i == x->nOrderBy;
}

static void estimate (sqlite3_index_info *x, int plan)
{
    int rank = plan >> OPS;
    sqlite3_int64 rows = ROWS_DEFAULT;

    if (plan & 1) {
        x->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        x->estimatedRows = 1;
        x->estimatedCost = ROWID_COST;
        return;
    }
    if (rank & 1)
        rows = RANK_ROWS;
    else if ((rank & LOWER) || (plan & LOWER))
        rows /= 4;
    if ((rank & ~1 & UPPER) || (plan & ~1 & UPPER))
        rows = rows > RANK_ROWS ? rows / 4 : rows;
    x->estimatedRows = rows;
    x->estimatedCost = ROWID_COST + (double)rows * ROW_COST;
}

static int best_index (sqlite3_vtab *base, sqlite3_index_info *x)
{
    const struct table_of_parts *t = (const struct table_of_parts *)base;
    int plan = 0, n = 0;

    for (int i = 0; i < x->nConstraint; i++) {
        int bit = bit_of (t, &x->aConstraint[i]);

        if (bit >= 0)
            plan |= 1 << bit;
    }
    for (int bit = 0; bit < 2 * OPS; bit++) {
        for (int i = 0; i < x->nConstraint; i++) {
            if (bit_of (t, &x->aConstraint[i]) == bit) {
                x->aConstraintUsage[i].argvIndex = ++n;
                break;
            }
        }
    }
    x->idxNum = plan;
    x->orderByConsumed = x->nOrderBy > 0 && is_in_order (t, x, plan);
    estimate (x, plan);
    return SQLITE_OK;
}

static int64_t first_of_rank (int64_t rank)
{
    rank = rank < -1 ? -1 : rank > RANK_TOP ? RANK_TOP : rank;
    return (rank + 1) << ROWS_BLOCK_BITS;
}

/* Narrow the rowids; SQLite compares again, by its own rules. */
static void narrow (int bit, sqlite3_value *v, int64_t *first, int64_t *last)
{
    bool by_rank = bit >= OPS;
    int64_t x = sqlite3_value_int64 (v), low, high;
    unsigned char op = ops[bit % OPS];

    if (sqlite3_value_type (v) != SQLITE_INTEGER)
        return;
    low = by_rank ? first_of_rank (x) : x;
    high = by_rank ? first_of_rank (x + (x < RANK_TOP)) - 1 : x;
    if (op == SQLITE_INDEX_CONSTRAINT_GT && by_rank)
        low = high + 1;
    if (op == SQLITE_INDEX_CONSTRAINT_LT && by_rank)
        high = low - 1;
    if ((1 << bit % OPS & LOWER) && low > *first)
        *first = low;
    if ((1 << bit % OPS & UPPER) && high < *last)
        *last = high;
}

/* ---- reading ---- */

static int open_cursor (sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
    struct cursor *c = calloc (1, sizeof (*c));

    (void)t;
    if (!c)
        return SQLITE_NOMEM;
    *ret = &c->base;
    return SQLITE_OK;
}

static void end_scan (struct cursor *c)
{
    if (c->open)
        page_scan_end (&c->scan);
    c->open = false;
}

static int close_cursor (sqlite3_vtab_cursor *base)
{
    struct cursor *c = (struct cursor *)base;

    end_scan (c);
    free (c);
    return SQLITE_OK;
}

static int next_row (sqlite3_vtab_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    struct err err = { "" };
    int rc = page_scan_next (&c->scan, &err);

    c->end = rc != 1;
    return rc < 0 ? refuse (base->pVtab, rc, &err) : SQLITE_OK;
}

static int filter (sqlite3_vtab_cursor *base, int plan, const char *text,
                   int argc, sqlite3_value **argv)
{
    const struct table_of_parts *t =
        (const struct table_of_parts *)base->pVtab;
    struct cursor *c = (struct cursor *)base;
    int64_t first = INT64_MIN, last = INT64_MAX;
    struct err err = { "" };
    int rc;

    (void)text;
    for (int bit = 0, i = 0; bit < 2 * OPS && i < argc; bit++) {
        if (plan & 1 << bit)
            narrow (bit, argv[i++], &first, &last);
    }
    end_scan (c);
    c->end = first > last;
    if (c->end)
        return SQLITE_OK;
    c->open = true;
    if ((rc = page_scan_begin (&c->scan, t->all->source, t->root, first, last,
                               &err)) < 0)
        return refuse (base->pVtab, rc, &err);
    return next_row (base);
}

static int is_at_end (sqlite3_vtab_cursor *base)
{
    return ((struct cursor *)base)->end;
}

static int row_id (sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    *ret = ((struct cursor *)base)->scan.rowid;
    return SQLITE_OK;
}

static int column (sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
    const struct cursor *c = (const struct cursor *)base;
    struct page_value v = page_scan_value (&c->scan, (unsigned)i);

    if (v.kind == PAGE_INT)
        sqlite3_result_int64 (ctx, v.number);
    else if (v.kind == PAGE_REAL)
        sqlite3_result_double (ctx, v.real);
    else if (v.kind == PAGE_TEXT)
        sqlite3_result_text (ctx, v.bytes, (int)v.size, SQLITE_TRANSIENT);
    else if (v.kind == PAGE_BLOB)
        sqlite3_result_blob (ctx, v.bytes, (int)v.size, SQLITE_TRANSIENT);
    return SQLITE_OK;           // else NULL
}

/* That there is one lets the authorizer refuse, as for other tables. */
static int update (sqlite3_vtab *t, int argc, sqlite3_value **argv,
                   sqlite3_int64 *rowid)
{
    (void)t;
    (void)argc;
    (void)argv;
    (void)rowid;
    return SQLITE_READONLY;
}

static const sqlite3_module functions = {
    .xConnect = connect_table, .xDisconnect = disconnect_table,
    .xBestIndex = best_index, .xOpen = open_cursor, .xClose = close_cursor,
    .xFilter = filter, .xNext = next_row, .xEof = is_at_end,
    .xColumn = column, .xRowid = row_id, .xUpdate = update,
};

static void drop_module (void *arg)
{
    struct module *m = arg;

    if (--m->all->users == 0) {
        page_source_close (m->all->source);
        free (m->all);
    }
    free (m);
}

int part_tables_add (sqlite3 *db, struct err *err)
{
    struct tables *all;
    int rc = 0;

    if (!parts_are_beside (db))
        return 0;
    if (!(all = calloc (1, sizeof (*all))))
        return err_set (err, ENOMEM, "no memory for parts");
    if ((rc = parts_source_of (db, NULL, &all->source, err)) < 0) {
        free (all);
        return rc;
    }
    all->users = 1;             // this function, until it is done
    for (unsigned i = 0; i < PARTS_TABLES && rc == 0; i++) {
        struct module *m = malloc (sizeof (*m));

        if (!m) {
            rc = err_set (err, ENOMEM, "no memory for parts");
            break;
        }
        *m = (struct module){ all, i };
        all->users++;
        if (sqlite3_create_module_v2 (db, parts_tables[i], &functions, m,
                                      drop_module) != SQLITE_OK)
            rc = db_error (db, "cannot read parts", err);
    }
    if (--all->users == 0) {
        page_source_close (all->source);
        free (all);
    }
    return rc;
}
