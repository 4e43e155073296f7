/* aggregator/builder/row_file.c - write a result's tables of rows as pages */
#include "builder/row_file.h"

#include "base/thread.h"
#include "store/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DDL_MAX 1024
#define INDEX_NAME "%s_rank"

struct row_file {
    struct page_file *pages;
    struct page_tree *tables[TABLE_COUNT], *indexes[ROW_FILE_INDEXED];
    struct page_tree *sums[SUMS_COUNT];
};

/* ---- the empty tables ---- */

/* "name TYPE, ...", followed by rank and capture. */
static void column_list (const struct table *t, char *out, size_t max)
{
    size_t used = 0;

    for (unsigned c = 0; c < t->ncolumns; c++)
        used += (size_t)snprintf (out + used, max - used, "%s %s, ",
                                  t->columns[c].name,
                                  schema_affinity (&t->columns[c]));
    (void)snprintf (out + used, max - used, "rank INTEGER, capture INTEGER");
}

/* Readers mostly select one rank, whose rows are adjacent. */
static int make_tables (sqlite3 *db, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < TABLE_COUNT && rc == 0; i++) {
        const char *name = schema_table (i)->name;
        char columns[DDL_MAX];

        column_list (schema_table (i), columns, sizeof (columns));
        rc = db_execf (db, err, "CREATE TABLE %s (%s)", name, columns);
        if (rc == 0 && i < ROW_FILE_INDEXED)
            rc = db_execf (db, err, "CREATE INDEX " INDEX_NAME " ON %s(rank)",
                           name, name);
    }
    for (unsigned i = 0; i < SUMS_COUNT && rc == 0; i++)
        rc = db_execf (db, err, "CREATE TABLE %s (%s)", capture_sums_name (i),
                       capture_sums_columns (i));
    return rc;
}

static int make_file (const char *path, struct err *err)
{
    sqlite3 *db = NULL;
    int rc;

    if (db_open (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                           SQLITE_OPEN_NOMUTEX, &db) != SQLITE_OK)
        rc = db_error (db, path, err);
    else
        rc = db_execf (db, err, "PRAGMA page_size=%u;PRAGMA auto_vacuum=NONE;"
                       "PRAGMA encoding='UTF-8';PRAGMA journal_mode=OFF;"
                       "PRAGMA synchronous=OFF;BEGIN", ROW_FILE_PAGE_SIZE);
    if (rc == 0)
        rc = make_tables (db, err);
    if (rc == 0)
        rc = db_exec (db, "COMMIT", err);
    (void)sqlite3_close (db);
    return rc;
}

static int find_indexes (struct row_file *f, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < ROW_FILE_INDEXED && rc == 0; i++) {
        char index[80];

        (void)snprintf (index, sizeof (index), INDEX_NAME,
                        schema_table (i)->name);
        rc = page_file_tree (f->pages, index, &f->indexes[i], err);
    }
    return rc;
}

static int find_tables (struct row_file *f, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < TABLE_COUNT && rc == 0; i++)
        rc = page_file_tree (f->pages, schema_table (i)->name, &f->tables[i],
                             err);
    for (unsigned i = 0; i < SUMS_COUNT && rc == 0; i++)
        rc = page_file_tree (f->pages, capture_sums_name (i), &f->sums[i],
                             err);
    return rc;
}

int row_file_create (const char *path, struct row_file **ret, struct err *err)
{
    struct row_file *f = calloc (1, sizeof (*f));
    int rc;

    if (!f)
        return err_set (err, ENOMEM, "no memory for %s", path);
    rc = make_file (path, err);
    if (rc == 0)
        rc = page_file_open (path, &f->pages, err);
    if (rc == 0)
        rc = find_tables (f, err);
    if (rc == 0)
        rc = find_indexes (f, err);
    if (rc < 0) {
        row_file_close (f);
        return rc;
    }
    *ret = f;
    return 0;
}

int row_file_share (const char *path, uint32_t page_size,
                    const struct page_port *port, struct row_file **ret,
                    struct err *err)
{
    struct row_file *f = calloc (1, sizeof (*f));
    int rc;

    if (!f)
        return err_set (err, ENOMEM, "no memory for the result");
    rc = page_file_share (path, page_size, port, &f->pages, err);
    if (rc == 0)
        rc = find_tables (f, err);
    if (rc < 0) {
        row_file_close (f);
        return rc;
    }
    *ret = f;
    return 0;
}

struct page_file *row_file_pages (const struct row_file *f)
{
    return f->pages;
}

struct page_tree *row_file_at (const struct row_file *f, unsigned i)
{
    return i < TABLE_COUNT ? f->tables[i] : f->sums[i - TABLE_COUNT];
}

void row_file_close (struct row_file *f)
{
    if (f)
        page_file_close (f->pages);
    free (f);
}

struct page_tree *row_file_table (const struct row_file *f, enum table_id id)
{
    return f->tables[id];
}

struct page_tree *row_file_sums (const struct row_file *f, enum sums_id id)
{
    return f->sums[id];
}

/* ---- indexes ---- */

/* Captures without a rank come first, like NULL. */
static int compare_spans (const void *pa, const void *pb)
{
    const struct row_span *a = pa, *b = pb;
    int64_t x = a->rank < 0 ? -1 : a->rank, y = b->rank < 0 ? -1 : b->rank;

    if (x != y)
        return x < y ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

struct indexing {
    struct row_file *file;
    const struct row_span *spans;
    size_t n;
    const atomic_bool *cancel;
};

static int add_keys (struct page_writer *x, const struct row_span *span,
                     uint64_t rows, struct err *err)
{
    struct page_value rank = span->rank < 0 ? page_null ()
                                            : page_int (span->rank);

    return page_writer_keys (x, span->first, rows, &rank, 1, err);
}

/* The rows of a capture are in order already, so no sorting is needed. */
static int write_index (void *state, size_t piece, struct err *err)
{
    const struct indexing *w = state;
    struct page_writer *x = NULL;
    int rc = page_writer_open (w->file->indexes[piece], &x, err), end;

    for (size_t i = 0; i < w->n && rc == 0; i++)
        rc = atomic_load (w->cancel)
                 ? err_set (err, EINTR, "interrupted")
                 : add_keys (x, &w->spans[i], w->spans[i].rows[piece], err);
    end = page_writer_close (x, rc < 0 ? NULL : err);
    return rc < 0 ? rc : end;
}

int row_file_finish (struct row_file *f, struct row_span *spans, size_t n,
                     unsigned threads, const atomic_bool *cancel,
                     struct err *err)
{
    static const struct thread_pieces pieces = { ROW_FILE_INDEXED, write_index,
                                                 NULL };
    struct indexing w = { f, spans, n, cancel };
    void *states[ROW_FILE_INDEXED] = { &w, &w, &w };
    int rc;

    if (n > 0)
        qsort (spans, n, sizeof (*spans), compare_spans);
    rc = thread_each (&pieces, states, threads < ROW_FILE_INDEXED
                                           ? threads : ROW_FILE_INDEXED, err);
    return rc < 0 ? rc : page_file_finish (f->pages, false, err);
}
