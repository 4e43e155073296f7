/* aggregator/postgres/push_batch.c - some jobs, in one transaction */
#include "postgres/push_private.h"

#include "base/thread.h"
#include "postgres/copy_rows.h"
#include "postgres/facts.h"
#include "postgres/sum_rows.h"
#include "store/db_rows.h"

#include <errno.h>
#include <string.h>

#define READERS 2               // threads that read results, and send

/* ---- whose cluster it is ---- */

struct owner {
    const char *root_id;
    bool known, other;
};

static int take_owner (void *arg, const struct pg_row *row)
{
    struct owner *o = arg;

    o->known = true;
    o->other = strcmp (pg_text (row, 0), o->root_id) != 0;
    return 0;
}

/* Two roots of one name would overwrite each other's jobs. */
int push_check_owner (struct pg *p, const struct push_options *opt,
                      bool *known, struct err *err)
{
    struct owner o = { .root_id = opt->root_id };
    int rc = pg_each (p, "SELECT root FROM cluster WHERE name=$1", 1,
                      &opt->cluster, take_owner, &o, err);

    *known = o.known;
    return rc < 0 || !o.other
               ? rc : err_set (err, EEXIST, "%s: cluster %s is another root: "
                               "give this one a name of its own with --cluster, "
                               "or --rebind that name to it", pg_name (p),
                               opt->cluster);
}

/* ---- the transaction ---- */

int push_lock (struct pg *p, const char *cluster, struct err *err)
{
    int rc = pg_do (p, "BEGIN", err);

    // another one may have much to push
    if (rc == 0)
        rc = pg_do (p, "SET LOCAL lock_timeout='10min'", err);
    if (rc == 0)
        rc = pg_each (p, "SELECT pg_advisory_xact_lock(hashtextextended("
                         "'rollcall '||$1, 0))", 1, &cluster, NULL, NULL, err);
    return rc < 0 ? rc : pg_do (p, "SET LOCAL lock_timeout='10s'", err);
}

int push_begin (struct pg *p, const struct push_options *opt, struct err *err)
{
    bool known;
    int rc = push_lock (p, opt->cluster, err);

    return rc < 0 ? rc : push_check_owner (p, opt, &known, err);
}

int push_end (struct pg *p, int rc, struct err *err)
{
    if (rc == 0)
        rc = pg_do (p, "COMMIT", err);
    if (rc < 0)
        (void)pg_do (p, "ROLLBACK", NULL);
    return rc;
}

/* ---- what is there ---- */

struct gone {
    struct buf ids, times;      // arrays
};

static int take_gone (void *arg, const struct pg_row *row)
{
    struct gone *g = arg;

    pg_array_int (&g->ids, pg_int (row, 0));
    pg_array_text (&g->times, pg_text (row, 1));
    return 0;
}

/* By the index of the job, in the parts of its month only. */
static int remove_rows (struct pg *p, struct gone *g, struct err *err)
{
    const char *values[2];
    char sql[160];
    int rc = 0;

    buf_put (&g->ids, "}", 1);
    buf_put (&g->times, "}", 1);
    values[0] = buf_text (&g->ids);
    values[1] = buf_text (&g->times);
    for (size_t i = 1; i < FACTS_TABLES && rc == 0; i++) {
        PRINT (sql, "DELETE FROM %s WHERE job=ANY($1::bigint[]) AND "
               "at=ANY($2::timestamptz[])", facts_tables[i].name);
        rc = pg_each (p, sql, 2, values, NULL, NULL, err);
    }
    return rc;
}

int push_remove (struct pg *p, const char *cluster, struct buf *names,
                 struct err *err)
{
    struct gone g;
    int rc;

    buf_init (&g.ids, ARRAY_MAX);
    buf_init (&g.times, ARRAY_MAX);
    buf_put (names, "}", 1);
    rc = pg_each (p, "DELETE FROM job WHERE cluster=$1 AND "
                     "name=ANY($2::text[]) RETURNING id, at", 2,
                  (const char *const[]){ cluster, buf_text (names) }, take_gone,
                  &g, err);
    if (rc == 0 && g.ids.size > 0)
        rc = remove_rows (p, &g, err);
    buf_fini (&g.ids);
    buf_fini (&g.times);
    return rc;
}

struct numbers {
    struct push_batch *b;
    size_t n;
};

static int take_number (void *arg, const struct pg_row *row)
{
    struct numbers *x = arg;

    if (x->n < x->b->n)
        x->b->jobs[x->n++].there = pg_int (row, 0);
    return 0;
}

static int replace_known (struct pg *p, const char *cluster,
                          struct push_batch *b, struct err *err)
{
    struct numbers numbers = { .b = b };
    struct buf names;
    char n[24];
    int rc;

    buf_init (&names, ARRAY_MAX);
    for (size_t i = 0; i < b->n; i++)
        pg_array_text (&names, b->jobs[i].name);
    PRINT (n, "%zu", b->n);
    rc = push_remove (p, cluster, &names, err);
    if (rc == 0)
        rc = pg_each (p, "SELECT nextval('job_id') FROM "
                         "generate_series(1, $1::bigint)", 1,
                      (const char *const[]){ n }, take_number, &numbers, err);
    buf_fini (&names);
    return rc;
}

/* ---- rows ---- */

static void put_head (struct copy_rows *out, const struct facts_table *t,
                      const struct push_job *j, const char *cluster)
{
    const bool is_job = t == facts_tables;

    copy_rows_new (out, strlen (t->types) + (is_job ? 4 : 2));
    copy_rows_int (out, j->there);
    if (is_job)
        copy_rows_text (out, cluster, strlen (cluster));
    copy_rows_time (out, j->at_ns);
    if (is_job)
        copy_rows_int (out, j->sum);
}

/* Rows whose sums are pushed. */
static int put_sums (struct copy_rows *out, const struct facts_table *t,
                     struct db_rows *r, const struct push_job *j,
                     struct err *err)
{
    struct sum_rows s;
    int rc = 0;

    sum_rows_init (&s, t->keys, strlen (t->types) - t->keys);
    while (rc == 0 && db_step (r)) {
        if (sum_rows_add (&s, r->st, t->types) < 0)
            rc = err_set (err, ENOMEM, "no memory for sums");
    }
    for (size_t i = 0; rc == 0 && i < sum_rows_count (&s); i++) {
        put_head (out, t, j, NULL);
        sum_rows_put (&s, i, out);
        rc = copy_rows_flush (out, err);
    }
    sum_rows_fini (&s);
    return rc;
}

static int put_each (struct copy_rows *out, const struct facts_table *t,
                     struct db_rows *r, const struct push_job *j,
                     const char *cluster, struct err *err)
{
    const size_t n = strlen (t->types);
    int rc = 0;

    while (rc == 0 && db_step (r)) {
        put_head (out, t, j, cluster);
        copy_rows_columns (out, r->st, t->types, n);
        rc = copy_rows_flush (out, err);
    }
    return rc;
}

/* The rows of a job.  A result that cannot be read to its end fails no push; a
 * job that was removed after it was found to have changed has no rows.
 */
static int put_rows (struct copy_rows *out, const struct facts_table *t,
                     sqlite3 *db, struct push_job *j, const char *cluster,
                     struct err *err)
{
    const char *path = *j->path ? j->path : NULL, *name = j->name;
    char sql[FACTS_QUERY_MAX];
    struct err why;
    struct db_rows r;
    int64_t before;
    int rc, failed;

    PRINT (sql, "SELECT %s FROM %s", t->select, t->from);
    r = t->source == FACTS_RESULT ? db_rows (db, &why, sql)
        : t == facts_tables       ? db_rows (db, err, sql, j->id, path, name)
                                  : db_rows (db, err, sql, j->id);
    before = out->rows;
    rc = t->keys > 0 ? put_sums (out, t, &r, j, err)
                    : put_each (out, t, &r, j, cluster, err);
    failed = db_end (&r);
    if (t == facts_tables)
        j->gone = out->rows == before;
    if (t->source == FACTS_RESULT) {
        j->failed = failed;
        failed = 0;
    }
    return rc < 0 ? rc : failed;
}

/* One of the threads that read: the catalogue in one, results in several. */
struct reader {
    struct copy_rows out;
    const struct facts_table *t;
    sqlite3 *catalogue;
    const char *cluster;
    struct push_batch *b;
};

static int read_job (void *state, size_t i, struct err *err)
{
    struct reader *r = state;
    struct push_job *j = &r->b->jobs[i];
    sqlite3 *db = r->t->source == FACTS_CATALOGUE ? r->catalogue
                  : j->failed < 0                 ? NULL
                                                  : j->result.db;

    return db && !j->gone ? put_rows (&r->out, r->t, db, j, r->cluster, err) : 0;
}

static int copy_table (struct pg *p, const struct facts_table *t,
                       struct catalogue *c, const char *cluster,
                       struct push_batch *b, int64_t *rows, struct err *err)
{
    const struct thread_pieces pieces = { .n = b->n, .work = read_job };
    const unsigned n = t->source == FACTS_RESULT ? READERS : 1;
    struct reader readers[READERS];
    void *states[READERS];
    char sql[FACTS_QUERY_MAX];
    struct copy copy;
    int rc;

    PRINT (sql, "COPY %s (%s, %s) FROM STDIN (FORMAT binary)", t->name,
           t == facts_tables ? "id, cluster, at, sum" : "job, at", t->columns);
    rc = copy_begin (&copy, p, sql, err);
    for (unsigned i = 0; i < n; i++) {
        readers[i] = (struct reader){ .t = t, .catalogue = catalogue_db (c),
                                      .cluster = cluster, .b = b };
        copy_rows_init (&readers[i].out, &copy);
        states[i] = &readers[i];
    }
    if (rc == 0)
        rc = thread_each (&pieces, states, n, err);
    for (unsigned i = 0; i < n; i++) {
        rc = copy_rows_fini (&readers[i].out, rc, err);
        *rows += readers[i].out.rows;
    }
    return copy_end (&copy, rc, err);
}

/* ---- all of them ---- */

/* Results that another try may read: their jobs are pushed again. */
static int note_unread (struct pg *p, const struct push_batch *b,
                        struct push_sums *sums, struct err *err)
{
    struct buf ids;
    int rc = 0;

    buf_init (&ids, ARRAY_MAX);
    for (size_t i = 0; i < b->n; i++) {
        if (b->jobs[i].gone)
            continue;
        sums->unreadable += b->jobs[i].failed < 0;
        if (!catalogue_result_later (b->jobs[i].failed))
            continue;
        sums->later++;
        pg_array_int (&ids, b->jobs[i].there);
    }
    if (ids.size > 0) {
        buf_put (&ids, "}", 1);
        rc = pg_each (p, "UPDATE job SET sum=0 WHERE id=ANY($1::bigint[])", 1,
                      (const char *const[]){ buf_text (&ids) }, NULL, NULL,
                      err);
    }
    buf_fini (&ids);
    return rc;
}

int push_batch (struct pg *p, struct catalogue *c,
                const struct push_options *opt, struct push_batch *b,
                struct push_sums *sums, struct err *err)
{
    const char *cluster = opt->cluster;
    int64_t rows = 0;
    int rc = push_begin (p, opt, err);

    if (rc == 0)
        rc = replace_known (p, cluster, b, err);
    for (size_t i = 0; i < FACTS_TABLES && rc == 0; i++)
        rc = copy_table (p, &facts_tables[i], c, cluster, b, &rows, err);
    if (rc == 0)
        rc = note_unread (p, b, sums, err);
    if ((rc = push_end (p, rc, err)) < 0)
        return rc;
    for (size_t i = 0; i < b->n; i++)
        sums->jobs += !b->jobs[i].gone;
    sums->rows += rows;
    sums->transactions++;
    return 0;
}
