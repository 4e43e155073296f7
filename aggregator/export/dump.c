/* aggregator/export/dump.c - write a result as CSV files, one per table
 *
 * This folder: a result as CSV files or as a trace.
 */
#include "export/dump.h"

#include "export/outfile.h"
#include "json/json.h"
#include "publish/result_parts.h"
#include "query/query.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN(type) (1u << (type))       // SQLite's types are 1 to 5

struct dump {
    sqlite3 *db;
    const struct tree *dir;
    enum grid_format format;
    const atomic_bool *cancel;
    struct json *tables;        // rows written
};

static int check_empty (const struct tree *dir, struct err *err)
{
    DIR *d = fileio_list (dir->fd, ".");
    int rc;

    if (!d)
        return err_sys (err, errno, "cannot read %s", dir->path);
    if (fileio_next_entry (d, &rc))
        rc = err_set (err, ENOTEMPTY, "%s is not empty: choose a new "
                      "directory", dir->path);
    else if (rc < 0)
        (void)err_sys (err, -rc, "cannot read %s", dir->path);
    (void)closedir (d);
    return rc;
}

static int open_empty (struct tree *t, const char *dir, bool foreign,
                       struct err *err)
{
    int rc = tree_make_out (dir, FILEIO_DIR_MODE, foreign, err);

    if (rc < 0 || (rc = tree_open (t, dir, err)) < 0)
        return rc;
    if ((rc = tree_check_owner (t, foreign, err)) == 0)
        rc = check_empty (t, err);
    if (rc < 0)
        tree_close (t);
    return rc;
}

/* The narrowest type that fits all values.  Columns declared NUMERIC are double
 * even if all values are whole, since the next job's values may not be.
 */
static const char *type_of (sqlite3_stmt *st, int i, unsigned seen)
{
    const char *declared = sqlite3_column_decltype (st, i);

    if (seen & (SEEN (SQLITE_TEXT) | SEEN (SQLITE_BLOB)))
        return "string";
    if (declared && strcmp (declared, "INTEGER") == 0)
        return seen & SEEN (SQLITE_FLOAT) ? "double" : "int64";
    if (declared && strcmp (declared, "TEXT") == 0)
        return "string";
    return "double";
}

/* The unit, from the table of units or the column's name; "" if there is none.
 */
static void unit_of (sqlite3 *db, const char *table, const char *column,
                     char out[64])
{
    static const char *const units[] = { "ms", "us", "ns", "bytes", "percent" };
    const char *suffix = strrchr (column, '_');
    struct db_rows r = db_rows (db, NULL, "SELECT value FROM Job WHERE key="
                                "'unit.'||?1||'.'||?2", table, column);
    const char *unit;

    out[0] = '\0';
    if (db_row (&r, unit) && unit)
        (void)snprintf (out, 64, "%s", unit);
    (void)db_end (&r);
    for (size_t i = 0; i < sizeof (units) / sizeof (units[0]); i++) {
        if (!*out && suffix && strcmp (suffix + 1, units[i]) == 0)
            (void)snprintf (out, 64, "%s", units[i]);
    }
}

static void describe (sqlite3 *db, sqlite3_stmt *st, const char *table,
                      const unsigned *seen, int64_t rows, struct json *tables)
{
    struct json *o = json_push_object (tables), *columns;
    char file[256], unit[64];

    PRINT (file, "%s.csv", table);
    json_add_text (o, "table", table);
    json_add_text (o, "file", file);
    json_add_int (o, "rows", rows);
    columns = json_add_array (o, "columns");
    for (int i = 0; i < sqlite3_column_count (st); i++) {
        struct json *c = json_push_object (columns);
        const char *name = sqlite3_column_name (st, i);

        unit_of (db, table, name, unit);
        json_add_text (c, "name", name);
        json_add_text (c, "type", type_of (st, i, seen[i]));
        json_add_nonempty (c, "unit", unit);
    }
}

/* Write all rows into 'g'; seen[i] collects the types of column i. */
static int copy_rows (struct db_rows *r, struct grid *g, FILE *f,
                      unsigned *seen, int64_t *rows, struct err *err)
{
    int n = sqlite3_column_count (r->st);

    if (query_head (r->st, g) < 0)
        return err_set (err, ENOMEM, "no memory for a table");
    while (!ferror (f) && db_step (r)) {
        for (int i = 0; i < n; i++) {
            seen[i] |= SEEN (sqlite3_column_type (r->st, i));
            query_cell (r->st, i, g);
        }
        (*rows)++;
    }
    return r->rc;
}

static int write_table (const struct dump *d, struct db_rows *r,
                        const char *name, unsigned *seen, int64_t *rows,
                        struct err *err)
{
    struct grid *g = NULL;
    struct outfile o;
    int rc = outfile_open_in (&o, d->dir, name, d->cancel, err), closed;

    if (rc < 0)
        return rc;
    if (!(g = grid_create (o.f, d->format, 0)))
        rc = err_set (err, ENOMEM, "no memory for a table");
    else
        rc = copy_rows (r, g, o.f, seen, rows, err);
    if (rc == 0 && grid_finish (g) == -ENOMEM)
        rc = err_set (err, ENOMEM, "no memory for a row");
    grid_destroy (g);
    closed = outfile_close (&o, rc == 0, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

static int dump_table (const struct dump *d, const char *table, int64_t *rows,
                       struct err *err)
{
    char *sql = sqlite3_mprintf ("SELECT * FROM \"%w\"", table);
    char name[256];
    struct db_rows r;
    unsigned *seen;
    int rc;

    *rows = 0;
    PRINT (name, "%s.csv", table);
    if (!sql)
        return err_set (err, ENOMEM, "no memory for a statement");
    if (strchr (table, '/') || *table == '.') {
        sqlite3_free (sql);
        return err_set (err, EBADMSG, "a table cannot be a file's name: %s",
                        table);
    }
    r = db_rows (d->db, err, sql);
    seen = calloc ((size_t)sqlite3_column_count (r.st) + 1, sizeof (*seen));
    if (r.rc == 0 && !seen)
        r.rc = err_set (err, ENOMEM, "no memory for a table");
    if (r.rc == 0)
        r.rc = write_table (d, &r, name, seen, rows, err);
    if (r.rc == 0)
        describe (d->db, r.st, table, seen, *rows, d->tables);
    rc = db_end (&r);
    free (seen);
    sqlite3_free (sql);
    return rc;
}

static int write_schema (const struct dump *d, struct json *schema,
                         struct err *err)
{
    char *text = json_print (schema, true);
    struct outfile o;
    int rc;

    if (!text)
        return err_set (err, ENOMEM, "no memory for " DUMP_SCHEMA);
    rc = outfile_open_in (&o, d->dir, DUMP_SCHEMA, d->cancel, err);
    if (rc == 0) {
        (void)fputs (text, o.f);
        rc = outfile_close (&o, true, err);
    }
    free (text);
    return rc;
}

static int dump_tables (const struct dump *d, struct dump_counts *counts,
                        struct err *err)
{
    struct db_rows r = db_rows (d->db, err, "SELECT name FROM " PARTS_SCHEMA_SQL
                                " WHERE type='table' AND name NOT LIKE "
                                "'sqlite\\_%' ESCAPE '\\' ORDER BY place");
    const char *name;
    int64_t rows;

    while (db_row (&r, name)) {
        r.rc = dump_table (d, name, &rows, err);
        counts->tables++;
        counts->rows += rows;
    }
    return db_end (&r);
}

/* Remove the finished files, so that the user can try again; the unfinished one
 * is gone already.
 */
static void take_back (const struct dump *d, bool made)
{
    const struct json *t = json_first (d->tables);

    for (; t; t = json_next (t))
        (void)unlinkat (d->dir->fd, json_text (json_get (t, "file"), ""), 0);
    if (made)
        (void)rmdir (d->dir->path);
}

int dump_write (sqlite3 *db, const char *dir, unsigned how,
                const atomic_bool *cancel, struct dump_counts *ret,
                struct err *err)
{
    bool made = access (dir, F_OK) != 0;
    struct json *schema = json_object ();
    struct tree tree;
    struct dump d = { db, &tree, how & DUMP_RAW ? GRID_RAW_CSV : GRID_CSV,
                      cancel, json_add_array (schema, "tables") };
    int rc = open_empty (&tree, dir, how & DUMP_FOREIGN, err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0) {
        db_cancel (db, cancel);
        rc = dump_tables (&d, ret, err);
        db_cancel (db, NULL);
        if (rc == 0)
            rc = write_schema (&d, schema, err);
        if (rc < 0)
            take_back (&d, made);
        tree_close (&tree);
    }
    json_free (schema);
    return rc;
}
