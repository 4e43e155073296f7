/* aggregator/postgres/push_batch.c - some jobs, in one transaction */
#include "postgres/push_private.h"

#include "base/thread.h"
#include "postgres/copy_rows.h"
#include "postgres/facts.h"
#include "postgres/sum_rows.h"
#include "store/db_rows.h"

#include <errno.h>
#include <string.h>

#define ARRAY_MAX (1u << 20)    // of the names of a batch
#define READERS 2               // threads that read results, beside the one that sends

/* ---- what is there ---- */

struct known {
    struct push_batch *b;
    struct buf ids, times;      // arrays of those that are there
};

static int take_known (void *arg, const struct pg_row *row)
{
    struct known *k = arg;

    for (size_t i = 0; i < k->b->n; i++) {
        struct push_job *j = &k->b->jobs[i];

        if (strcmp (j->name, pg_text (row, 0)) == 0)
            j->there = pg_int (row, 1);
    }
    pg_array_int (&k->ids, pg_int (row, 1));
    pg_array_text (&k->times, pg_text (row, 2));
    return 0;
}

static int find_known (struct pg *p, const char *cluster, struct known *k,
                       struct err *err)
{
    struct buf names;
    int rc;

    buf_init (&names, ARRAY_MAX);
    for (size_t i = 0; i < k->b->n; i++) {
        k->b->jobs[i].there = 0;
        pg_array_text (&names, k->b->jobs[i].name);
    }
    buf_put (&names, "}", 1);
    rc = pg_each (p, "SELECT name, id, at FROM job WHERE cluster=$1 AND "
                     "name=ANY($2::text[])", 2,
                  (const char *const[]){ cluster, buf_text (&names) },
                  take_known, k, err);
    buf_fini (&names);
    buf_put (&k->ids, "}", 1);
    buf_put (&k->times, "}", 1);
    return rc;
}

/* By the index of the job, in the parts of its month only. */
static int delete_known (struct pg *p, struct known *k, struct err *err)
{
    const char *values[] = { buf_text (&k->ids), buf_text (&k->times) };
    char sql[160];
    int rc = pg_each (p, "DELETE FROM job WHERE id=ANY($1::bigint[])", 1,
                      values, NULL, NULL, err);

    for (size_t i = 1; i < FACTS_TABLES && rc == 0; i++) {
        PRINT (sql, "DELETE FROM %s WHERE job=ANY($1::bigint[]) AND "
               "at=ANY($2::timestamptz[])", facts_tables[i].name);
        rc = pg_each (p, sql, 2, values, NULL, NULL, err);
    }
    return rc;
}

static int take_id (void *arg, const struct pg_row *row)
{
    struct push_batch *b = arg;
    size_t i = 0;

    while (i < b->n && b->jobs[i].there)
        i++;
    if (i < b->n)
        b->jobs[i].there = pg_int (row, 0);
    return 0;
}

static int number_new (struct pg *p, struct push_batch *b, struct err *err)
{
    char number[24];
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += b->jobs[i].there == 0;
    PRINT (number, "%zu", n);
    return n == 0 ? 0
                  : pg_each (p, "SELECT nextval('job_id') FROM "
                                "generate_series(1, $1::bigint)", 1,
                             (const char *const[]){ number }, take_id, b, err);
}

static int replace_known (struct pg *p, const char *cluster,
                          struct push_batch *b, struct err *err)
{
    struct known k = { .b = b };
    int rc;

    buf_init (&k.ids, ARRAY_MAX);
    buf_init (&k.times, ARRAY_MAX);
    rc = find_known (p, cluster, &k, err);
    if (rc == 0 && k.ids.size > 1)
        rc = delete_known (p, &k, err);
    buf_fini (&k.ids);
    buf_fini (&k.times);
    return rc < 0 ? rc : number_new (p, b, err);
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
        rc = copy_rows_flush (out);
    }
    sum_rows_fini (&s);
    return rc;
}

static int put_each (struct copy_rows *out, const struct facts_table *t,
                     struct db_rows *r, const struct push_job *j,
                     const char *cluster)
{
    const size_t n = strlen (t->types);
    int rc = 0;

    while (rc == 0 && db_step (r)) {
        put_head (out, t, j, cluster);
        copy_rows_columns (out, r->st, t->types, n);
        rc = copy_rows_flush (out);
    }
    return rc;
}

/* The rows of a job.  '*unreadable': its result could not be read to the end. */
static int put_rows (struct copy_rows *out, const struct facts_table *t,
                     sqlite3 *db, const struct push_job *j,
                     const char *cluster, bool *unreadable, struct err *err)
{
    const char *path = *j->path ? j->path : NULL;
    char sql[FACTS_QUERY_MAX];
    struct err why;
    struct db_rows r;
    int rc, failed;

    PRINT (sql, "SELECT %s FROM %s", t->select, t->from);
    r = t->source == FACTS_RESULT ? db_rows (db, &why, sql)
        : t == facts_tables       ? db_rows (db, err, sql, j->id, path)
                                  : db_rows (db, err, sql, j->id);
    rc = t->keys > 0 ? put_sums (out, t, &r, j, err)
                    : put_each (out, t, &r, j, cluster);
    failed = db_end (&r);
    if (t->source == FACTS_CATALOGUE)
        return rc < 0 ? rc : failed;
    *unreadable |= failed < 0;
    return rc;
}

/* One of the threads that read results. */
struct reader {
    struct copy_rows out;
    const struct facts_table *t;
    struct push_batch *b;
    bool *unreadable;           // of each job
};

static int read_result (void *state, size_t i, struct err *err)
{
    struct reader *r = state;

    return !r->b->jobs[i].result.db || r->unreadable[i]
               ? 0 : put_rows (&r->out, r->t, r->b->jobs[i].result.db,
                               &r->b->jobs[i], NULL, &r->unreadable[i], err);
}

static int read_results (struct copy_queue *q, const struct facts_table *t,
                         struct push_batch *b, bool unreadable[BATCH_JOBS],
                         int64_t *rows, struct err *err)
{
    const struct thread_pieces pieces = { .n = b->n, .work = read_result };
    struct reader readers[READERS];
    void *states[READERS];
    int rc;

    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader){ .t = t, .b = b,
                                      .unreadable = unreadable };
        copy_rows_join (&readers[i].out, q);
        states[i] = &readers[i];
    }
    rc = thread_each (&pieces, states, READERS, err);
    for (size_t i = 0; i < READERS; i++) {
        rc = copy_rows_leave (&readers[i].out, rc);
        *rows += readers[i].out.rows;
    }
    return rc;
}

static int read_catalogue (struct copy_rows *out, const struct facts_table *t,
                           struct catalogue *c, const char *cluster,
                           const struct push_batch *b, struct err *err)
{
    bool none;
    int rc = 0;

    for (size_t i = 0; i < b->n && rc == 0; i++)
        rc = put_rows (out, t, catalogue_db (c), &b->jobs[i], cluster, &none,
                       err);
    return rc;
}

static int copy_table (struct copy_queue *q, const struct facts_table *t,
                       struct catalogue *c, const char *cluster,
                       struct push_batch *b, bool unreadable[BATCH_JOBS],
                       int64_t *rows, struct err *err)
{
    struct copy_rows out;
    char sql[FACTS_QUERY_MAX];
    int rc;

    PRINT (sql, "COPY %s (%s, %s) FROM STDIN (FORMAT binary)", t->name,
           t == facts_tables ? "id, cluster, at, sum" : "job, at", t->columns);
    rc = copy_rows_begin (&out, q, sql);
    if (rc == 0)
        rc = t->source == FACTS_RESULT
                 ? read_results (q, t, b, unreadable, rows, err)
                 : read_catalogue (&out, t, c, cluster, b, err);
    rc = copy_rows_end (&out, rc);
    *rows += out.rows;
    return rc;
}

/* ---- the transaction ---- */

static int begin (struct pg *p, const char *cluster, struct err *err)
{
    int rc = pg_do (p, "BEGIN", err);

    // two who push the same job, one after the other
    return rc < 0 ? rc
                  : pg_each (p, "SELECT pg_advisory_xact_lock("
                                "hashtextextended('rollcall '||$1, 0))", 1,
                             &cluster, NULL, NULL, err);
}

static int copy_all (struct pg *p, struct catalogue *c, const char *cluster,
                     struct push_batch *b, bool unreadable[BATCH_JOBS],
                     int64_t *rows, struct err *err)
{
    struct copy_queue *q;
    int rc = copy_queue_start (p, &q, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < FACTS_TABLES && rc == 0; i++)
        rc = copy_table (q, &facts_tables[i], c, cluster, b, unreadable, rows,
                         err);
    if (rc == -ENOMEM)
        (void)err_set (err, ENOMEM, "no memory for rows");
    // what was canceled has failed there
    if (rc < 0 && rc != -ECANCELED) {
        (void)copy_queue_finish (q, NULL);
        return rc;
    }
    return copy_queue_finish (q, err);
}

int push_batch (struct pg *p, struct catalogue *c, const char *cluster,
                struct push_batch *b, struct push_sums *sums, struct err *err)
{
    bool unreadable[BATCH_JOBS] = { false };
    int64_t rows = 0;
    int rc = begin (p, cluster, err);

    if (rc == 0)
        rc = replace_known (p, cluster, b, err);
    if (rc == 0)
        rc = copy_all (p, c, cluster, b, unreadable, &rows, err);
    if (rc == 0)
        rc = pg_do (p, "COMMIT", err);
    if (rc < 0) {
        (void)pg_do (p, "ROLLBACK", NULL);
        return rc;
    }
    sums->jobs += (int64_t)b->n;
    sums->rows += rows;
    sums->transactions++;
    for (size_t i = 0; i < b->n; i++)
        sums->unreadable += unreadable[i] ||
                            (*b->jobs[i].path && !b->jobs[i].result.db);
    return 0;
}
