/* aggregator/cluster_db/cluster.c - make cluster_analysis.db from a finished
 * analysis.db
 *
 * This folder: cluster_analysis.db, table by table.
 */
#include "cluster_db/cluster.h"

#include "base/thread.h"
#include "cluster_db/cluster_part.h"
#include "cluster_db/cluster_steps.h"
#include "model/capture.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest table comes first: its file becomes the result. */
static const struct cluster_table *const tables[] = {
    &cluster_bandwidth, &cluster_matrix, &cluster_time,
};

#define PARTS ((unsigned)(sizeof (tables) / sizeof (tables[0])))

// rows of each index that ANALYZE reads for the planner's statistics
#define ANALYZE_ROWS "4000"

struct worker {
    struct maker *maker;
    pthread_t thread;
    bool started;
    int rc;
    struct err err;
};

struct maker {
    const char *analysis_db;
    struct publish *out;
    struct cluster_groups *groups;
    struct texts steps;         // of StepTraceTime
    struct cluster_part parts[PARTS];
    char paths[PARTS][PATH_MAX];
    atomic_uint next;
    atomic_bool failed;
    const atomic_bool *cancel;
};

/* ---- the big tables, side by side ---- */

static void *cluster_work (void *arg)
{
    struct worker *w = arg;
    struct maker *m = w->maker;
    unsigned i;

    while (w->rc == 0 && !atomic_load (&m->failed) &&
           (i = atomic_fetch_add (&m->next, 1)) < PARTS)
        w->rc = cluster_part_make (&m->parts[i], m->paths[i], m->analysis_db,
                                   m->cancel, &w->err);
    if (w->rc < 0)
        atomic_store (&m->failed, true);
    return NULL;
}

static int make_parts (struct maker *m, unsigned threads, struct err *err)
{
    struct worker all[PARTS];
    unsigned n = threads < 1 ? 1 : threads < PARTS ? threads : PARTS;
    int rc = 0;

    for (unsigned t = 0; t < n; t++) {
        all[t] = (struct worker){ .maker = m };
        // the calling thread works, too, so a failure to start one is harmless
        all[t].started = t > 0 && thread_start (&all[t].thread, cluster_work,
                                                &all[t]) == 0;
    }
    (void)cluster_work (&all[0]);
    for (unsigned t = 0; t < n; t++) {
        if (all[t].started)
            (void)pthread_join (all[t].thread, NULL);
        if (rc == 0 && (rc = all[t].rc) < 0 && err)
            *err = all[t].err;
    }
    return rc;
}

/* ---- one database of all ---- */

/* Copy rows and index entries unchanged: both tables are declared in exactly
 * the same words.
 */
static int merge (struct maker *m, unsigned i, struct err *err)
{
    const struct cluster_table *t = tables[i];
    sqlite3 *db = m->parts[0].db;
    int rc;

    cluster_part_close (&m->parts[i]);          // its lock was exclusive
    rc = db_execf (db, err, "ATTACH %Q AS part", m->paths[i]);
    if (rc == 0)
        rc = db_execf (db, err, "BEGIN;%s;%s;INSERT INTO main.%s SELECT * FROM "
                       "part.%s;COMMIT;DETACH part", t->create, t->index,
                       t->name, t->name);
    if (rc == 0)
        (void)unlink (m->paths[i]);
    return rc;
}

static int write_groups (struct maker *m, struct err *err)
{
    uint8_t *used = m->parts[0].used, *strays = m->parts[0].strays;
    sqlite3 *db = m->parts[0].db;
    int rc;

    for (unsigned i = 1; i < PARTS; i++) {
        for (size_t g = 0; g < cluster_groups_count (m->groups); g++)
            used[g] |= m->parts[i].used[g];
        for (size_t b = 0; b < CAPTURE_WORLD_MAX / 8; b++)
            strays[b] |= m->parts[i].strays[b];
    }
    rc = db_exec (db, "CREATE TABLE CommunicationGroupMapping (\"type\" TEXT, "
                      "\"rank_set\" TEXT, \"group_name\" TEXT, \"group_id\" "
                      "TEXT, \"pg_name\" TEXT)", err);
    if (rc == 0)
        rc = cluster_groups_write (m->groups, db, used, strays, err);
    return rc < 0 ? rc
                  : db_exec (db, "CREATE INDEX CommunicationGroupMapping_name "
                                 "ON CommunicationGroupMapping (group_name)",
                             err);
}

/* user_version stays 0: viewers set their own when they open the file. */
static int put_together (struct maker *m, struct err *err)
{
    sqlite3 *db = m->parts[0].db;
    int rc = 0;

    for (unsigned i = 1; i < PARTS && rc == 0; i++)
        rc = merge (m, i, err);
    if (rc == 0)
        rc = db_execf (db, err, "PRAGMA application_id=%d;BEGIN",
                       PUBLISH_APPLICATION_ID);
    if (rc == 0)
        rc = write_groups (m, err);
    if (rc == 0)
        rc = cluster_steps_write (db, m->groups, err);
    if (rc == 0)
        rc = db_exec (db, "PRAGMA analysis_limit=" ANALYZE_ROWS ";ANALYZE main;"
                          "COMMIT", err);
    cluster_part_close (&m->parts[0]);
    return rc;
}

/* ---- all of it ---- */

static int read_steps (struct maker *m, sqlite3 *db, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT DISTINCT ifnull(step,'') FROM "
                                         "a.StepTraceTime");

    while (db_step (&r)) {
        const char *step = db_text (r.st, 0);

        if (texts_intern (&m->steps, step, strlen (step)) == TEXTS_NONE)
            r.rc = err_set (err, ENOMEM, "no memory for steps");
    }
    return db_end (&r);
}

static int cluster_prepare (struct maker *m, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = 0;

    for (unsigned i = 0; i < PARTS && rc == 0; i++) {
        m->parts[i].table = tables[i];
        rc = publish_temp (m->out, CLUSTER_DB_NAME, i, m->paths[i], err);
    }
    if (rc == 0)
        rc = cluster_part_open (":memory:", m->analysis_db, m->cancel, &db,
                                err);
    if (rc == 0)
        rc = cluster_groups_read (db, &m->groups, err);
    if (rc == 0)
        rc = read_steps (m, db, err);
    (void)sqlite3_close (db);
    for (unsigned i = 0; i < PARTS; i++) {
        m->parts[i].groups = m->groups;
        m->parts[i].known_steps = &m->steps;
    }
    return rc;
}

static bool is_cancelled (const struct maker *m)
{
    return m->cancel && atomic_load (m->cancel);
}

static int make (struct maker *m, unsigned threads, struct cluster_result *ret,
                 struct err *err)
{
    int rc = cluster_prepare (m, err);

    if (rc == 0)
        rc = make_parts (m, threads, err);
    for (unsigned i = 0; i < PARTS; i++)
        ret->links_left_out += m->parts[i].left_out;
    if (rc == 0)
        rc = put_together (m, err);
    if (rc == 0)
        rc = publish_check_db (m->paths[0], threads, err);
    if (is_cancelled (m))
        rc = err_set (err, EINTR, "interrupted");
    if (rc == 0 && !fileio_join (ret->path, sizeof (ret->path), m->out->dir.path,
                                 CLUSTER_DB_NAME))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", m->out->dir.path);
    return rc < 0 ? rc : publish_finish (m->out, m->paths[0], CLUSTER_DB_NAME,
                                         publish_is_our_db, ret->kept, err);
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
    m->cancel = cancel;
    rc = make (m, threads, ret, err);
    publish_tell (out, err);
    for (unsigned i = 0; i < PARTS; i++) {
        cluster_part_fini (&m->parts[i]);
        if (rc < 0 && m->paths[i][0])
            (void)unlink (m->paths[i]);
    }
    cluster_groups_destroy (m->groups);
    texts_fini (&m->steps);
    free (m);
    return rc;
}
