/* node_agent/extract/profiler_db/read_analysis_db.c - read analysis.db of a
 * capture
 *
 * It has the four tables of the profiler; see doc/formats.md, "analysis.db of a
 * capture".
 */
#include "extract/profiler_db/db_table.h"
#include "extract/profiler_db/read_profiler_db.h"

#define FILE_NAME "analysis.db"

/* Columns that old files lack. */
static unsigned optional_columns (enum table_id table)
{
    return table == TABLE_STEP ? 1u << STEP_DEVICE | 1u << STEP_PREPARING : 0;
}

/* Keep the row if its step is wanted. */
static enum reading keep_row (void *arg, struct batch *b, struct err *err)
{
    const uint32_t *refs = b->text[schema_table (b->table)->step];
    struct source *src = arg;
    size_t n = 0;
    const char *step = batch_text_at (b, refs[b->nrows], &n);
    bool as_before = b->nrows > 0 && refs[b->nrows] == refs[b->nrows - 1];

    if (!as_before && !source_wants (src, 1u << b->table, step, n))
        return READING_WHOLE;
    b->nrows++;
    return !batch_full (b) || source_flush (src, b, err) ? READING_WHOLE
                                                         : READING_STOPPED;
}

static enum reading read_table (struct profiler_db *db, struct source *src,
                                enum table_id table, struct err *err)
{
    const struct db_table_keep keep = { keep_row, src };
    struct db_table *x = NULL;
    struct batch b;
    enum reading how;
    int rc = batch_init (&b, table, err);

    if (rc < 0) {
        src->stopped = rc;
        return READING_STOPPED;
    }
    db->bad_utf8 = db->long_texts = 0;
    how = db_table_open (db, src, table, optional_columns (table), &x, err);
    if (how == READING_WHOLE)
        how = db_table_rows (x, src, &b, &keep, err);
    db_table_close (x);
    batch_fini (&b);
    return how;
}

void read_analysis_db (struct source *src, unsigned want, struct verdict *v,
                       struct err *err)
{
    struct profiler_db *db = NULL;
    struct err why = { "" };
    enum reading how = profiler_db_open_file (src, src->out, FILE_NAME, &db,
                                              &why);

    if (how != READING_WHOLE)
        verdict_for_tables (v, want, how, &why, err);
    for (unsigned t = 0; t < TABLE_COUNT && db && !src->stopped; t++) {
        if (want >> t & 1)
            v[t].how = read_table (db, src, t, &v[t].why);
        if (src->stopped)
            *err = v[t].why;
    }
    profiler_db_close (db);
}
