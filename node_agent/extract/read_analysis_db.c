/* node_agent/extract/read_analysis_db.c - analysis.db of a capture
 *
 * The profiler's own four tables, as they are; see doc/formats.md,
 * "analysis.db of a capture".
 */
#include "extract/extractor.h"
#include "extract/profiler_db.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define FILE_NAME "analysis.db"
#define SQL_MAX 2048

/* Columns may have long defaults.  True rows take more than 4 bytes each, and
 * give at most 4 times their bytes as text.
 */
#define ROW_BYTES_LEAST 4
#define TEXT_OF_BYTE 4

static bool column_optional (enum table_id table, unsigned column)
{
    return table == TABLE_STEP &&
           (column == STEP_DEVICE || column == STEP_PREPARING);
}

static enum reading prepare (struct profiler_db *db, enum table_id table,
                             sqlite3_stmt **ret, struct err *err)
{
    const struct table *t = schema_table (table);
    const char *names[TABLE_COLUMNS_MAX];
    bool have[TABLE_COLUMNS_MAX] = { false };
    char sql[SQL_MAX];
    size_t used = (size_t)snprintf (sql, sizeof (sql), "SELECT ");
    enum reading how;

    for (unsigned c = 0; c < t->ncolumns; c++)
        names[c] = t->columns[c].name;
    how = profiler_db_columns (db, t->name, names, t->ncolumns, have, err);

    if (how != READING_WHOLE)
        return how;
    for (unsigned c = 0; c < t->ncolumns; c++) {
        if (!have[c] && !column_optional (table, c)) {
            err_set (err, EBADMSG, "%s: table %s has no column %s",
                     db->file.name, t->name, t->columns[c].name);
            return READING_DAMAGED;
        }
        used += (size_t)snprintf (sql + used, sizeof (sql) - used, "%s%s%s%s",
                                  c ? "," : "", have[c] ? "\"" : "",
                                  have[c] ? t->columns[c].name : "NULL",
                                  have[c] ? "\"" : "");
    }
    (void)snprintf (sql + used, sizeof (sql) - used, " FROM \"%s\"", t->name);
    if (sqlite3_prepare_v2 (db->sql, sql, -1, ret, NULL) != SQLITE_OK)
        return profiler_db_damaged (db, err);
    return READING_WHOLE;
}

/* One row into the batch; false if a number is a text. */
static bool take_row (struct profiler_db *db, sqlite3_stmt *st,
                      const struct table *t, struct batch *b, struct err *err)
{
    for (unsigned c = 0; c < t->ncolumns; c++) {
        sqlite3_value *v = sqlite3_column_value (st, (int)c);
        int type = sqlite3_value_type (v);

        if (b->text[c]) {
            b->text[c][b->nrows] = profiler_db_text (db, v, b);
        } else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
            b->real[c][b->nrows] = sqlite3_value_double (v);
        } else if (type == SQLITE_NULL) {
            b->real[c][b->nrows] = NAN;
        } else {
            err_set (err, EBADMSG, "%s: %s.%s is not a number: \"%.40s\"",
                     db->file.name, t->name, t->columns[c].name,
                     (const char *)sqlite3_value_text (v));
            return false;
        }
    }
    return true;
}

/* Keep the row that was just taken if its step is wanted. */
static bool keep_row (struct source *src, struct batch *b, struct err *err)
{
    const uint32_t *refs = b->text[schema_table (b->table)->step];
    size_t n = 0;
    const char *step = batch_text_at (b, refs[b->nrows], &n);

    if (!steps_wanted (src->steps, step, n))
        return true;
    b->nrows++;
    return !batch_full (b) || source_flush (src, b, err);
}

static enum reading read_rows (struct profiler_db *db, struct source *src,
                               sqlite3_stmt *st, struct batch *b,
                               struct err *err)
{
    const struct table *t = schema_table (b->table);
    int rc;

    while ((rc = sqlite3_step (st)) == SQLITE_ROW) {
        if (!take_row (db, st, t, b, err))
            return source_flush (src, b, err) ? READING_DAMAGED
                                              : READING_STOPPED;
        if (++db->rows > db->size / ROW_BYTES_LEAST ||
            db->text > TEXT_OF_BYTE * db->size)
            return source_flush (src, b, err) ? profiler_db_endless (db, err)
                                              : READING_STOPPED;
        if (!keep_row (src, b, err))
            return READING_STOPPED;
    }
    if (rc != SQLITE_DONE)
        (void)profiler_db_damaged (db, err);
    if (!source_flush (src, b, rc == SQLITE_DONE ? err : NULL))
        return READING_STOPPED;
    if (rc != SQLITE_DONE)
        return READING_DAMAGED;
    return profiler_db_verdict (db, src, t->name, err);
}

static enum reading read_table (struct profiler_db *db, struct source *src,
                                enum table_id table, struct err *err)
{
    sqlite3_stmt *st = NULL;
    struct batch b;
    enum reading how;
    int rc = batch_init (&b, table, err);

    if (rc < 0) {
        src->stopped = rc;
        return READING_STOPPED;
    }
    db->bad_utf8 = db->long_texts = 0;
    how = prepare (db, table, &st, err);
    if (how == READING_WHOLE)
        how = read_rows (db, src, st, &b, err);
    (void)sqlite3_finalize (st);
    batch_fini (&b);
    return how;
}

void read_analysis_db (struct source *src, unsigned want, struct verdict *v,
                       struct err *err)
{
    struct profiler_db *db = NULL;
    struct err why = { "" };
    enum reading how = profiler_db_open (src, src->out, FILE_NAME, &db, &why);

    if (how != READING_WHOLE)
        verdict_all (v, want, how, &why, err);
    for (unsigned t = 0; t < TABLE_COUNT && db && !src->stopped; t++) {
        if (want >> t & 1)
            v[t].how = read_table (db, src, t, &v[t].why);
        if (src->stopped)
            *err = v[t].why;
    }
    profiler_db_close (db);
}
