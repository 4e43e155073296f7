/* aggregator/cluster_db/cluster.c - make cluster_analysis.db from a finished
 * analysis.db
 *
 * SQLite makes the file with its big tables, all empty.  Threads fill these and
 * their indexes with pages, some ranks at a time.  Then SQLite adds what is
 * small.
 *
 * This folder: cluster_analysis.db, table by table.
 */
#include "cluster_db/cluster.h"

#include "base/thread.h"
#include "base/vec.h"
#include "cluster_db/cluster_rows.h"
#include "cluster_db/cluster_steps.h"
#include "model/capture.h"
#include "publish/result_parts.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest table comes first. */
static const struct cluster_table *const tables[] = {
    &cluster_bandwidth, &cluster_matrix, &cluster_time,
};

#define PARTS (sizeof (tables) / sizeof (tables[0]))
#define URI_MAX (3 * PATH_MAX + 64)

// ranks that a thread writes one after the other, at least: the last page of
// them is not full
#define PIECE_MIN 16u
#define PIECES 8u               // for each thread and table

// rows of each index that ANALYZE reads for the planner's statistics
#define ANALYZE_ROWS "4000"

struct worker {
    struct cluster_rows rows;
    struct maker *maker;
};

struct maker {
    const char *analysis_db;
    char path[PATH_MAX];        // of the file that is made
    struct publish *out;
    unsigned threads;
    const atomic_bool *cancel;
    struct page_source *source; // analysis.db
    struct cluster_groups *groups;
    struct texts steps;         // of StepTraceTime
    struct cluster_part parts[PARTS];
    struct page_file *file;
    struct worker *workers;     // one for each thread
};

/* ---- files ---- */

/* Write a path as a URI, with special characters escaped.  Nobody writes the
 * file, so it is opened without locks, which remote file systems may lack.
 */
static void write_uri (char out[URI_MAX], const char *path)
{
    bool held = tree_is_held (path);
    size_t n = (size_t)sprintf (out, "file:");

    for (; *path; path++) {
        if (isalnum ((unsigned char)*path) || strchr ("/._-", *path))
            out[n++] = *path;
        else
            n += (size_t)sprintf (out + n, "%%%02X", (unsigned char)*path);
    }
    n += (size_t)sprintf (out + n, "?immutable=1&mode=ro");
    if (held)                   // else it is opened as the main file is
        (void)sprintf (out + n, "&vfs=%s", db_held_vfs ());
}

static int open_result (const struct maker *m, sqlite3 **ret, struct err *err)
{
    if (db_open (m->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                              SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
                 ret) != SQLITE_OK)
        return db_error (*ret, m->path, err);
    db_cancel (*ret, m->cancel);
    return db_exec (*ret, "PRAGMA page_size=32768;PRAGMA auto_vacuum=NONE;"
                          "PRAGMA encoding='UTF-8';PRAGMA journal_mode=OFF;"
                          "PRAGMA synchronous=OFF;PRAGMA locking_mode="
                          "EXCLUSIVE;PRAGMA secure_delete=OFF", err);
}

static int create_file (struct maker *m, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = publish_temp (m->out, CLUSTER_DB_NAME, 0, m->path, err);

    if (rc == 0)
        rc = open_result (m, &db, err);
    for (size_t i = 0; i < PARTS && rc == 0; i++)
        rc = db_exec (db, tables[i]->create, err);
    (void)sqlite3_close (db);
    return rc < 0 ? rc : page_file_open (m->path, &m->file, err);
}

/* ---- what is read first ---- */

static int read_steps (struct maker *m, sqlite3 *db, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT DISTINCT ifnull(step,'') FROM "
                                         "StepTraceTime");

    while (db_step (&r)) {
        const char *step = db_text (r.st, 0);

        if (texts_intern (&m->steps, step, strlen (step)) == TEXTS_NONE)
            r.rc = err_set (err, ENOMEM, "no memory for steps");
    }
    return db_end (&r);
}

static int note_rank (void *arg, const struct rank_rows *rows, struct err *err)
{
    struct cluster_part *p = arg;

    return vec_push (&p->ranks, &p->nranks, rows, sizeof (*rows)) < 0
               ? err_set (err, ENOMEM, "no memory for ranks") : 0;
}

static int prepare_part (struct maker *m, size_t i, sqlite3 *db,
                         struct err *err)
{
    struct cluster_part *p = &m->parts[i];
    const char *source = schema_table (tables[i]->source)->name;
    char temp[PATH_MAX];
    int rc = publish_temp (m->out, CLUSTER_DB_NAME, 1 + (unsigned)i, temp, err);

    p->table = tables[i];
    p->source = m->source;
    if (rc == 0)
        rc = page_source_root (m->source, source, &p->root, err);
    if (rc == 0)
        rc = rank_rows_each (db, source, note_rank, p, err);
    if (rc == 0)
        rc = page_file_tree (m->file, p->table->name, &p->rows, err);
    if (rc == 0)
        rc = page_file_tree (m->file, p->table->index, &p->index, err);
    return rc < 0 ? rc : cluster_keys_create (&p->keys, temp, m->groups,
                                              p->table->has_rank, err);
}

static int prepare_workers (struct maker *m, struct err *err)
{
    int rc = 0;

    m->workers = calloc (m->threads, sizeof (*m->workers));
    if (!m->workers)
        return err_set (err, ENOMEM, "no memory for " CLUSTER_DB_NAME);
    for (unsigned i = 0; i < m->threads && rc == 0; i++) {
        m->workers[i].maker = m;
        rc = cluster_rows_init (&m->workers[i].rows, m->groups, &m->steps, err);
    }
    return rc;
}

static int cluster_prepare (struct maker *m, struct err *err)
{
    char uri[URI_MAX];
    sqlite3 *db = NULL;
    int rc = create_file (m, err);

    write_uri (uri, m->analysis_db);
    if (rc == 0 && db_open (uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX |
                                     SQLITE_OPEN_URI, &db) != SQLITE_OK)
        rc = db_error (db, m->analysis_db, err);
    if (rc == 0)
        db_cancel (db, m->cancel);
    if (rc == 0)
        rc = parts_source_of (db, m->cancel, &m->source, err);
    if (rc == 0)
        rc = part_tables_add (db, err);
    if (rc == 0)
        rc = cluster_groups_read (db, m->source, &m->groups, err);
    if (rc == 0)
        rc = read_steps (m, db, err);
    for (size_t i = 0; i < PARTS && rc == 0; i++)
        rc = prepare_part (m, i, db, err);
    (void)sqlite3_close (db);
    return rc < 0 ? rc : prepare_workers (m, err);
}

/* ---- the big tables ---- */

static size_t piece_of (const struct maker *m, const struct cluster_part *p)
{
    size_t n = p->nranks / (PIECES * m->threads);

    return n > PIECE_MIN ? n : PIECE_MIN;
}

static size_t count_pieces (const struct maker *m, const struct cluster_part *p)
{
    size_t n = piece_of (m, p);

    return (p->nranks + n - 1) / n;
}

/* Pieces are numbered table by table, so a thread is done with a table when it
 * gets a piece of the next one.
 */
static int fill_piece (void *state, size_t piece, struct err *err)
{
    struct worker *w = state;
    struct cluster_part *p = w->maker->parts;
    size_t first, n;
    int rc = 0;

    for (; piece >= count_pieces (w->maker, p); p++)
        piece -= count_pieces (w->maker, p);
    n = piece_of (w->maker, p);
    first = piece * n;
    if (n > p->nranks - first)
        n = p->nranks - first;
    if (w->rows.part != p)
        rc = cluster_rows_switch (&w->rows, p, err);
    return rc < 0 ? rc : cluster_rows_write (&w->rows, first, n, err);
}

static int end_worker (void *state, size_t i, struct err *err)
{
    const struct worker *w = state;

    return cluster_rows_switch (&w->maker->workers[i].rows, NULL, err);
}

static int write_index (void *state, size_t i, struct err *err)
{
    const struct worker *w = state;
    const struct cluster_part *p = &w->maker->parts[i];
    struct page_writer *x = NULL;
    int rc = page_writer_open (p->index, &x, err), end;

    if (rc == 0)
        rc = cluster_keys_write (&p->keys, x, w->maker->cancel, err);
    end = page_writer_close (x, rc < 0 ? NULL : err);
    return rc < 0 ? rc : end;
}

static int fill_tables (struct maker *m, struct err *err)
{
    struct thread_pieces fill = { 0, fill_piece, NULL };
    const struct thread_pieces end = { m->threads, end_worker, NULL };
    const struct thread_pieces indexes = { PARTS, write_index, NULL };
    void **states = calloc (m->threads, sizeof (*states));
    int rc;

    if (!states)
        return err_set (err, ENOMEM, "no memory for " CLUSTER_DB_NAME);
    for (unsigned i = 0; i < m->threads; i++)
        states[i] = &m->workers[i];
    for (size_t i = 0; i < PARTS; i++)
        fill.n += count_pieces (m, &m->parts[i]);
    rc = thread_each (&fill, states, m->threads, err);
    if (rc == 0)
        rc = thread_each (&end, states, m->threads, err);
    if (rc == 0)
        rc = thread_each (&indexes, states, m->threads, err);
    if (rc == 0)
        rc = page_file_finish (m->file, false, err);
    free (states);
    return rc;
}

/* ---- what is small ---- */

/* Add what the other threads saw to what the first one did. */
static struct cluster_rows *gather (const struct maker *m)
{
    struct cluster_rows *all = &m->workers[0].rows;

    for (unsigned i = 1; i < m->threads; i++) {
        const struct cluster_rows *r = &m->workers[i].rows;

        for (size_t g = 0; g < cluster_groups_count (m->groups); g++)
            all->used[g] |= r->used[g];
        for (size_t b = 0; b <= CAPTURE_WORLD_LIMIT / 8; b++)
            all->strays[b] |= r->strays[b];
        all->left_out += r->left_out;
        all->again = all->again || r->again;
    }
    return all;
}

static int write_groups (const struct maker *m, const struct cluster_rows *all,
                         sqlite3 *db, struct err *err)
{
    int rc = db_exec (db, "CREATE TABLE CommunicationGroupMapping (\"type\" "
                          "TEXT, \"rank_set\" TEXT, \"group_name\" TEXT, "
                          "\"group_id\" TEXT, \"pg_name\" TEXT)", err);

    if (rc == 0)
        rc = cluster_groups_write (m->groups, db, all->used, all->strays, err);
    return rc < 0 ? rc
                  : db_exec (db, "CREATE INDEX CommunicationGroupMapping_name "
                                 "ON CommunicationGroupMapping (group_name)",
                             err);
}

/* user_version stays 0: viewers set their own when they open the file. */
static int write_rest (const struct maker *m, const struct cluster_rows *all,
                       struct err *err)
{
    char uri[URI_MAX];
    sqlite3 *db = NULL;
    int rc = open_result (m, &db, err);

    write_uri (uri, m->analysis_db);
    if (rc == 0)
        rc = db_execf (db, err, "ATTACH %Q AS a;PRAGMA application_id=%d;BEGIN",
                       uri, PUBLISH_APPLICATION_ID);
    if (rc == 0 && all->again)
        rc = db_exec (db, cluster_matrix_merge, err);
    if (rc == 0)
        rc = write_groups (m, all, db, err);
    if (rc == 0)
        rc = cluster_steps_write (db, m->groups, err);
    if (rc == 0)
        rc = db_exec (db, "PRAGMA analysis_limit=" ANALYZE_ROWS ";ANALYZE main;"
                          "COMMIT", err);
    (void)sqlite3_close (db);
    return rc;
}

/* ---- all of it ---- */

/* SQLite opens the file next, so it must be closed here. */
static void end_pages (struct maker *m)
{
    for (unsigned i = 0; i < m->threads && m->workers; i++)
        cluster_rows_stop (&m->workers[i].rows);
    for (size_t i = 0; i < PARTS; i++) {
        cluster_keys_fini (&m->parts[i].keys);
        free (m->parts[i].ranks);
        m->parts[i].ranks = NULL;
    }
    page_source_close (m->source);
    page_file_close (m->file);
    m->source = NULL;
    m->file = NULL;
}

static int make (struct maker *m, struct cluster_result *ret, struct err *err)
{
    int rc = cluster_prepare (m, err);

    if (rc == 0)
        rc = fill_tables (m, err);
    end_pages (m);
    if (rc == 0)
        rc = write_rest (m, gather (m), err);
    if (rc == 0)
        rc = publish_check_db (m->path, m->threads, NULL, err);
    if (m->cancel && atomic_load (m->cancel))
        rc = err_set (err, EINTR, "interrupted");
    if (rc == 0 && !fileio_join (ret->path, sizeof (ret->path), m->out->dir.path,
                                 CLUSTER_DB_NAME))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", m->out->dir.path);
    if (rc == 0)
        ret->links_left_out = m->workers[0].rows.left_out;
    return rc < 0 ? rc : publish_finish (m->out, m->path, CLUSTER_DB_NAME,
                                         publish_is_our_db, m->cancel,
                                         ret->kept, err);
}

int cluster_make (struct publish *out, const char *analysis_db,
                  unsigned threads, const atomic_bool *cancel,
                  struct cluster_result *ret, struct err *err)
{
    struct maker *m = calloc (1, sizeof (*m));
    int rc;

    memset (ret, 0, sizeof (*ret));
    if (!m)
        return err_set (err, ENOMEM, "no memory for " CLUSTER_DB_NAME);
    m->analysis_db = analysis_db;
    m->out = out;
    m->threads = threads > 0 ? threads : 1;
    m->cancel = cancel;
    rc = make (m, ret, err);
    publish_tell (out, err);
    for (unsigned i = 0; i < m->threads && m->workers; i++)
        cluster_rows_fini (&m->workers[i].rows);
    if (rc < 0 && m->path[0])
        (void)unlink (m->path);
    cluster_groups_destroy (m->groups);
    texts_fini (&m->steps);
    free (m->workers);
    free (m);
    return rc;
}
