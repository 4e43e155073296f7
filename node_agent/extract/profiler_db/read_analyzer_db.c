/* node_agent/extract/profiler_db/read_analyzer_db.c - read
 * communication_analyzer.db
 *
 * The analysis of CANN writes it, and MindSpore copies it.  It has the tables
 * of an analysis.db without step, type and op_name, and its matrix has a row
 * for each op and link.  See doc/formats.md, "communication_analyzer.db".
 */
#include "extract/profiler_db/db_table.h"
#include "extract/profiler_db/read_profiler_db.h"
#include "extract/rows/comm_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "communication_analyzer.db"
#define LINK_MAX 64             // bytes of "<src>-<dst>"

struct reader {
    struct source *src;
    struct profiler_db *db;
    struct matrix_room room;
    struct matrix_fold *folds[2];       // p2p, and the others
    const char *type;                   // type of the rows that are folded
};

/* Columns that this database lacks, whatever a viewer may have added. */
static unsigned optional_columns (enum table_id table)
{
    return table == TABLE_TIME        ? 1u << TIME_STEP | 1u << TIME_TYPE
           : table == TABLE_BANDWIDTH ? 1u << BW_STEP | 1u << BW_TYPE
                                      : 1u << MATRIX_STEP | 1u << MATRIX_TYPE |
                                            1u << MATRIX_OP_NAME;
}

static const char *text_at (const struct batch *b, unsigned column)
{
    size_t n;
    const char *s = batch_text_at (b, b->text[column][b->nrows], &n);

    return s ? s : "";
}

/* Keep a row of CommAnalyzerTime or CommAnalyzerBandwidth, whose first columns
 * are the same.
 */
static enum reading keep_op (void *arg, struct batch *b, struct err *err)
{
    struct reader *r = arg;
    const char *op = text_at (b, TIME_OP);
    bool time = b->table == TABLE_TIME;

    if (comm_op_is_total (op, strlen (op)))
        return READING_WHOLE;
    b->text[time ? TIME_TYPE : BW_TYPE][b->nrows] =
        batch_string (b, comm_type (comm_op_is_p2p (op)));
    b->text[time ? TIME_STEP : BW_STEP][b->nrows] =
        batch_string (b, COMM_NO_STEP);
    b->nrows++;
    return !batch_full (b) || source_flush (r->src, b, err) ? READING_WHOLE
                                                            : READING_STOPPED;
}

static enum reading read_analyzer_db_damaged (const struct reader *r,
                                              const char *op,
                                              const char *what, struct err *err)
{
    (void)err_set (err, EBADMSG, "%s: %s of %.80s %s", r->db->file.name,
                   schema_table (TABLE_MATRIX)->name, op, what);
    return READING_DAMAGED;
}

static enum reading fold_row (struct reader *r, const struct batch *b,
                              struct err *err)
{
    const char *op = text_at (b, MATRIX_OP);
    char key[COMM_NAME_MAX], link[LINK_MAX];
    struct matrix_record rec = {
        .op = key, .link = link,
        .size_mb = b->real[MATRIX_SIZE][b->nrows],
        .time_ms = b->real[MATRIX_TIME][b->nrows],
        .bandwidth = b->real[MATRIX_BANDWIDTH][b->nrows],
    };
    size_t n;
    int rc;

    if (comm_op_is_total (op, strlen (op)))
        return READING_WHOLE;
    if (isnan (rec.size_mb) || isnan (rec.time_ms) || isnan (rec.bandwidth))
        return read_analyzer_db_damaged (
            r, op, "lacks a size, time or bandwidth", err);
    rec.transport = batch_text_at (b, b->text[MATRIX_TRANSPORT][b->nrows], &n);
    if (snprintf (key, sizeof (key), "%s@%s", op,
                  text_at (b, MATRIX_GROUP)) >= (int)sizeof (key) ||
        snprintf (link, sizeof (link), "%s-%s", text_at (b, MATRIX_SRC),
                  text_at (b, MATRIX_DST)) >= (int)sizeof (link))
        return read_analyzer_db_damaged (r, op, "has a name that is too long",
                                         err);
    rc = matrix_fold_add (r->folds[comm_op_is_p2p (op) ? 0 : 1], &rec);
    if (rc == -E2BIG)
        return read_analyzer_db_damaged (r, op, "is one of too many links",
                                         err);
    if (rc == 0)
        return READING_WHOLE;
    r->src->stopped = err_set (err, -rc, "no memory to read " FILE_NAME);
    return READING_STOPPED;
}

static enum reading keep_link (void *arg, struct batch *b, struct err *err)
{
    enum reading how = fold_row (arg, b, err);

    if (batch_full (b))         // it is full of texts, which the fold has
                                // copied
        batch_clear (b);
    return how;
}

struct folded {
    struct reader *r;
    struct batch *b;
    struct err *err;
};

static int put_folded (void *arg, const struct matrix_row *m)
{
    const struct folded *f = arg;
    struct batch *b = f->b;

    if (!comm_link_put (b, m, COMM_NO_STEP, f->r->type))
        return -EINVAL;
    return !batch_full (b) || source_flush (f->r->src, b, f->err)
               ? 0 : -ECANCELED;
}

/* Send the folded rows, p2p first, also those before damage. */
static enum reading put_links (struct reader *r, struct batch *b,
                               enum reading how, struct err *err)
{
    struct folded f = { r, b, err };

    batch_clear (b);
    for (int i = 0; i < 2 && how != READING_STOPPED; i++) {
        r->type = comm_type (i == 0);
        if (matrix_fold_rows (r->folds[i], put_folded, &f) < 0 ||
            !source_flush (r->src, b, err))
            how = READING_STOPPED;
    }
    return how;
}

static enum reading read_table (struct reader *r, enum table_id table,
                                struct err *err)
{
    const struct db_table_keep keep = {
        table == TABLE_MATRIX ? keep_link : keep_op, r };
    struct db_table *x = NULL;
    struct batch b;
    enum reading how;
    int rc = batch_init (&b, table, err);

    if (rc < 0) {
        r->src->stopped = rc;
        return READING_STOPPED;
    }
    r->db->bad_utf8 = r->db->long_texts = 0;
    how = db_table_open (r->db, r->src, table, optional_columns (table), &x,
                         err);
    if (how == READING_WHOLE &&
        source_wants (r->src, 1u << table, COMM_NO_STEP,
                      strlen (COMM_NO_STEP)))
        how = db_table_rows (x, r->src, &b, &keep, err);
    if (table == TABLE_MATRIX && how != READING_ABSENT)
        how = put_links (r, &b, how, err);
    db_table_close (x);
    batch_fini (&b);
    return how;
}

void read_analyzer_db (struct source *src, unsigned want, struct verdict *v,
                       struct err *err)
{
    struct reader r = { .src = src, .room = { MATRIX_ROOM } };
    struct err why = { "" };
    enum reading how = profiler_db_open_file (src, source_comm_dir (src),
                                              FILE_NAME, &r.db, &why);

    r.folds[0] = matrix_fold_create (&r.room);
    r.folds[1] = matrix_fold_create (&r.room);
    if (how == READING_WHOLE && (!r.folds[0] || !r.folds[1])) {
        src->stopped = err_set (&why, ENOMEM, "no memory to read " FILE_NAME);
        how = READING_STOPPED;
    }
    if (how != READING_WHOLE)
        verdict_for_tables (v, want, how, &why, err);
    for (unsigned t = 0; t < TABLE_COUNT && r.db && !src->stopped; t++) {
        if (want >> t & 1)
            v[t].how = read_table (&r, t, &v[t].why);
        if (src->stopped)
            *err = v[t].why;
    }
    matrix_fold_destroy (r.folds[0]);
    matrix_fold_destroy (r.folds[1]);
    profiler_db_close (r.db);
}
