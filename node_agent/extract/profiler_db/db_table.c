/* node_agent/extract/profiler_db/db_table.c - read rows of the profiler's own
 * tables
 *
 * This folder: databases that contain our tables.
 */
#include "extract/profiler_db/db_table.h"

#include "base/cmp.h"
#include "extract/input/db_pages.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_MAX 2048

/* Limits, since columns may have long defaults.  Valid rows take more than 4
 * bytes each, and have at most 4 times their bytes as text.
 */
#define ROW_BYTES_LEAST 4
#define TEXT_OF_BYTE 4

struct db_table {
    struct profiler_db *db;
    const struct table *t;
    unsigned optional;
    struct db_pages *pages;     // NULL: the query is used
    sqlite3_stmt *st;
    int64_t given;              // rows from the pages
    struct db_row row;
};

_Static_assert (TABLE_COLUMNS_MAX <= DB_ROW_COLUMNS, "a row fits");

static uint32_t columns (const struct table *t, const char **names)
{
    uint32_t texts = 0;

    for (unsigned c = 0; c < t->ncolumns; c++) {
        names[c] = t->columns[c].name;
        texts |= (uint32_t)schema_is_text (&t->columns[c]) << c;
    }
    return texts;
}

/* Prepare a query for the rows after those that were given. */
static enum reading prepare (struct db_table *x, struct err *err)
{
    const struct table *t = x->t;
    const char *names[TABLE_COLUMNS_MAX];
    bool have[TABLE_COLUMNS_MAX] = { false };
    char sql[SQL_MAX];
    size_t used = (size_t)snprintf (sql, sizeof (sql), "SELECT ");
    enum reading how;

    (void)columns (t, names);
    how = profiler_db_columns (x->db, t->name, names, t->ncolumns, have, err);
    if (how != READING_WHOLE)
        return how;
    for (unsigned c = 0; c < t->ncolumns; c++) {
        if (!have[c] && !(x->optional >> c & 1)) {
            err_set (err, EBADMSG, "%s: table %s has no column %s",
                     x->db->file.name, t->name, names[c]);
            return READING_DAMAGED;
        }
        used += (size_t)snprintf (sql + used, sizeof (sql) - used, "%s%s%s%s",
                                  c ? "," : "", have[c] ? "\"" : "",
                                  have[c] ? names[c] : "NULL",
                                  have[c] ? "\"" : "");
    }
    (void)snprintf (sql + used, sizeof (sql) - used, " FROM \"%s\" NOT INDEXED "
                    "LIMIT -1 OFFSET ?1", t->name);
    if (sqlite3_prepare_v2 (x->db->sql, sql, -1, &x->st, NULL) != SQLITE_OK)
        return profiler_db_damaged (x->db, err);
    (void)sqlite3_bind_int64 (x->st, 1, x->given);
    return READING_WHOLE;
}

static struct db_pages *open_pages (struct db_table *x)
{
    const char *names[TABLE_COLUMNS_MAX];
    uint32_t texts = columns (x->t, names);
    struct db_pages *p = db_pages_plain (x->db, x->t->name, names,
                                         x->t->ncolumns, texts);
    uint32_t all = (1u << x->t->ncolumns) - 1;

    if (!p || (db_pages_columns (p) | x->optional) == all)
        return p;
    db_pages_close (p);
    return NULL;
}

enum reading db_table_open (struct profiler_db *db, struct source *src,
                            enum table_id table, unsigned optional,
                            struct db_table **ret, struct err *err)
{
    struct db_table *x = calloc (1, sizeof (*x));

    if (!x) {
        src->stopped = err_set (err, ENOMEM, "no memory to read %s",
                                db->file.name);
        return READING_STOPPED;
    }
    x->db = db;
    x->t = schema_table (table);
    x->optional = optional;
    for (unsigned c = 0; c < x->t->ncolumns; c++)
        x->row.real[c] = (double)NAN;           // if the table lacks it
    *ret = x;
    x->pages = open_pages (x);
    return x->pages ? READING_WHOLE : prepare (x, err);
}

void db_table_close (struct db_table *x)
{
    if (!x)
        return;
    db_pages_close (x->pages);
    (void)sqlite3_finalize (x->st);
    free (x);
}

/* ---- rows ---- */

/* Take the row at which the query is; numbers may be stored as texts. */
static void row_of_query (struct db_table *x)
{
    struct db_row *row = &x->row;

    row->integers = row->reals = row->texts = 0;
    for (unsigned c = 0; c < x->t->ncolumns; c++) {
        int type = sqlite3_column_type (x->st, (int)c);
        bool text = schema_is_text (&x->t->columns[c]) || type == SQLITE_TEXT ||
                    type == SQLITE_BLOB;

        row->real[c] = (double)NAN;
        if (type == SQLITE_NULL)
            continue;
        if (text) {
            row->text[c] = (const char *)sqlite3_column_text (x->st, (int)c);
            row->size[c] = (uint32_t)sqlite3_column_bytes (x->st, (int)c);
            row->texts |= (uint32_t)(row->text[c] != NULL) << c;
        } else {
            row->real[c] = sqlite3_column_double (x->st, (int)c);
            row->reals |= 1u << c;
        }
    }
}

/* Go to the next row: READING_WHOLE; READING_ABSENT after the last one. */
static enum reading next_row (struct db_table *x, struct err *err)
{
    int rc;

    if (x->pages) {
        if ((rc = db_pages_next (x->pages, &x->row)) >= 0) {
            x->given += rc;
            return rc ? READING_WHOLE : READING_ABSENT;
        }
        db_pages_close (x->pages);
        x->pages = NULL;
        if (prepare (x, err) != READING_WHOLE)
            return READING_DAMAGED;
    }
    if ((rc = sqlite3_step (x->st)) == SQLITE_ROW) {
        row_of_query (x);
        return READING_WHOLE;
    }
    return rc == SQLITE_DONE ? READING_ABSENT
                             : profiler_db_damaged (x->db, err);
}

/* Put a text into the batch; most are that of the row before. */
static inline uint32_t put_text (struct profiler_db *db, struct batch *b,
                                 const uint32_t *before, const char *s,
                                 uint32_t size)
{
    size_t n = 0;
    const char *known = before ? batch_text_at (b, *before, &n) : NULL;

    if (!known || n != size || !cmp_same (known, s, n))
        return profiler_db_text (db, s, size, b);
    db->text += n;
    return *before;
}

static bool put_failed (const struct db_table *x, unsigned c, struct err *err)
{
    err_set (err, EBADMSG, "%s: %s.%s is not a number: \"%.40s\"",
             x->db->file.name, x->t->name, x->t->columns[c].name,
             x->row.texts >> c & 1  ? x->row.text[c]
             : x->row.real[c] < 0 ? "-Inf"
                                  : "Inf");
    return false;
}

/* Put the row into the batch; false if a number is a text, or infinite. */
static bool put_row (struct db_table *x, struct batch *b, struct err *err)
{
    const struct db_row *row = &x->row;
    const unsigned n = x->t->ncolumns;
    const uint32_t at = b->nrows, texts = row->texts;

    for (unsigned c = 0; c < n; c++) {
        uint32_t *to = b->text[c];

        if (!to) {
            b->real[c][at] = row->real[c];
            if (texts >> c & 1 || isinf (row->real[c]))
                return put_failed (x, c, err);
        } else if (texts >> c & 1) {
            to[at] = put_text (x->db, b, at > 0 ? &to[at - 1] : NULL,
                               row->text[c], row->size[c]);
        } else {
            to[at] = BATCH_NULL_TEXT;
        }
    }
    return true;
}

/* The verdict on a row: whether there may be so many, and the caller's. */
static enum reading keep_row (struct db_table *x, struct batch *b,
                              const struct db_table_keep *keep,
                              struct err *err)
{
    struct profiler_db *db = x->db;

    if (!put_row (x, b, err))
        return READING_DAMAGED;
    if (++db->rows > db->size / ROW_BYTES_LEAST ||
        db->text > TEXT_OF_BYTE * db->size)
        return profiler_db_endless (db, err);
    return keep->row (keep->arg, b, err);
}

enum reading db_table_rows (struct db_table *x, struct source *src,
                            struct batch *b, const struct db_table_keep *keep,
                            struct err *err)
{
    enum reading how;

    while ((how = next_row (x, err)) == READING_WHOLE &&
           (how = keep_row (x, b, keep, err)) == READING_WHOLE)
        continue;
    if (how == READING_STOPPED || !source_flush (src, b, err))
        return READING_STOPPED;
    if (how == READING_DAMAGED)
        return how;
    return profiler_db_verdict (x->db, x->t->name, err);
}
