/* node_agent/extract/profiler_db/db_table.c - read rows of the profiler's own
 * tables
 *
 * This folder: databases that contain our tables.
 */
#include "extract/profiler_db/db_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define SQL_MAX 2048

/* Limits, since columns may have long defaults.  Valid rows take more than 4
 * bytes each, and have at most 4 times their bytes as text.
 */
#define ROW_BYTES_LEAST 4
#define TEXT_OF_BYTE 4

enum reading db_table_prepare (struct profiler_db *db, enum table_id table,
                               unsigned optional, sqlite3_stmt **ret,
                               struct err *err)
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
        if (!have[c] && !(optional >> c & 1)) {
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

/* One row into the batch; false if a number is a text, or infinite. */
static bool take_row (struct profiler_db *db, sqlite3_stmt *st,
                      const struct table *t, struct batch *b, struct err *err)
{
    for (unsigned c = 0; c < t->ncolumns; c++) {
        sqlite3_value *v = sqlite3_column_value (st, (int)c);
        int type = sqlite3_value_type (v);

        if (b->text[c]) {
            b->text[c][b->nrows] = profiler_db_text (db, v, b);
        } else if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) &&
                   isfinite (sqlite3_value_double (v))) {
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

enum reading db_table_rows (struct profiler_db *db, struct source *src,
                            sqlite3_stmt *st, struct batch *b,
                            const struct db_table_keep *keep, struct err *err)
{
    const struct table *t = schema_table (b->table);
    enum reading kept;
    int rc;

    while ((rc = sqlite3_step (st)) == SQLITE_ROW) {
        if (!take_row (db, st, t, b, err))
            return source_flush (src, b, err) ? READING_DAMAGED
                                              : READING_STOPPED;
        if (++db->rows > db->size / ROW_BYTES_LEAST ||
            db->text > TEXT_OF_BYTE * db->size)
            return source_flush (src, b, err) ? profiler_db_endless (db, err)
                                              : READING_STOPPED;
        kept = keep->row (keep->arg, b, err);
        if (kept != READING_WHOLE)
            return kept;
    }
    if (rc != SQLITE_DONE)
        (void)profiler_db_damaged (db, err);
    if (!source_flush (src, b, rc == SQLITE_DONE ? err : NULL))
        return READING_STOPPED;
    if (rc != SQLITE_DONE)
        return READING_DAMAGED;
    return profiler_db_verdict (db, t->name, err);
}
