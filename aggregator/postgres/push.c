/* aggregator/postgres/push.c - which jobs have changed, and in which batches
 *
 * PostgreSQL has a checksum of each job as it was pushed; a job with another
 * one has changed.  So nothing about it has to be remembered here.
 */
#include "postgres/push_private.h"

#include "base/utf8.h"
#include "postgres/facts.h"
#include "postgres/schema.h"
#include "store/db_rows.h"
#include "store/row_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES (1 << 30)  // of results, whose ops are not pushed

static const char tables_sql[] =
    "DROP TABLE IF EXISTS temp.pushed;"
    "CREATE TEMP TABLE pushed (name TEXT PRIMARY KEY, sum INTEGER) WITHOUT"
    " ROWID;"
    "DROP TABLE IF EXISTS temp.todo;"
    "CREATE TEMP TABLE todo (id INTEGER PRIMARY KEY, name TEXT, sum INTEGER,"
    " at_ns INTEGER, changed_ns INTEGER, bytes INTEGER);"
    "DELETE FROM temp.claim;DELETE FROM temp.clock";

struct push {
    struct pg *p;
    struct catalogue *c;
    struct ledger *l;
    const struct push_options *opt;
    struct push_sums *sums;
    struct push_batch *batch;
    struct err *err;
    int64_t job, seq;           // whose claims are read, and how many there were
};

/* ---- what only the ledger knows ---- */

static int take_claim (void *arg, const struct size_claim *w)
{
    struct push *x = arg;
    int by = (int)w->by;

    return db_finish (db_rows_kept (catalogue_db (x->c), x->err, "INSERT INTO "
                                    "temp.claim VALUES (?1,?2,?3,?4,?5,?6)",
                                    x->job, x->seq++, by,
                                    (const char *)w->who,
                                    (const char *)w->host, w->world_size));
}

static int take_clock (void *arg, const struct ledger_clock *k)
{
    struct push *x = arg;

    return db_finish (db_rows_kept (catalogue_db (x->c), x->err, "INSERT INTO "
                                    "temp.clock VALUES (?1,?2,?3,?4,?5,?6)",
                                    x->job, x->seq++,
                                    (const char *)k->host_key,
                                    (const char *)k->host, k->offset_ns,
                                    k->error_ns));
}

static int read_ledger (struct push *x)
{
    struct db_rows r = db_rows (catalogue_db (x->c), x->err, "SELECT id, name "
                                "FROM job_row WHERE ?1 IS NULL OR name=?1",
                                x->opt->job);
    const char *name;

    while (db_row (&r, x->job, name)) {
        x->seq = 0;
        r.rc = ledger_each_claim (x->l, name, take_claim, x, x->err);
        x->seq = 0;
        if (r.rc == 0)
            r.rc = ledger_each_clock (x->l, name, take_clock, x, x->err);
    }
    return db_end (&r);
}

/* ---- whose cluster it is ---- */

static int bind_cluster (struct push *x)
{
    const char *const values[] = { x->opt->cluster, x->opt->root_id };
    bool known;
    int rc = push_check_owner (x->p, x->opt, &known, x->err);

    if (rc == -EEXIST ? !x->opt->rebind : rc < 0 || known)
        return rc;
    // whoever has the name ends a batch first
    if ((rc = push_lock (x->p, x->opt->cluster, x->err)) == 0)
        rc = pg_each (x->p, x->opt->rebind
                                ? "INSERT INTO cluster VALUES ($1, $2) ON "
                                  "CONFLICT (name) DO UPDATE SET root=$2"
                                : "INSERT INTO cluster VALUES ($1, $2) ON "
                                  "CONFLICT DO NOTHING", 2, values, NULL, NULL,
                      x->err);
    rc = push_end (x->p, rc, x->err);
    return rc < 0 ? rc : push_check_owner (x->p, x->opt, &known, x->err);
}

/* ---- what has changed ---- */

static int take_pushed (void *arg, const struct pg_row *row)
{
    struct push *x = arg;
    int64_t sum = pg_int (row, 1);

    return db_finish (db_rows_kept (catalogue_db (x->c), x->err, "INSERT INTO "
                                    "temp.pushed VALUES (?1,?2)",
                                    pg_text (row, 0), sum));
}

/* PostgreSQL takes nothing else as a text, and a job with another name must not
 * keep those of all others from it.
 */
static bool is_utf8 (const char *name)
{
    size_t n;

    while ((n = utf8_size (name)) > 0 && *name)
        name += n;
    return !*name;
}

static int leave_out_unnamed (struct push *x)
{
    sqlite3 *db = catalogue_db (x->c);
    struct db_rows r = db_rows (db, x->err, "SELECT id, name FROM temp.todo");
    const char *name;
    int64_t id;

    while (db_row (&r, id, name)) {
        if (is_utf8 (name))
            continue;
        x->sums->unnamed++;
        r.rc = db_finish (db_rows_kept (db, x->err, "DELETE FROM temp.todo "
                                                    "WHERE id=?1", id));
    }
    return db_end (&r);
}

static int list_changed (struct push *x)
{
    sqlite3 *db = catalogue_db (x->c);
    int rc = db_execf (db, x->err, "INSERT INTO temp.todo SELECT j.id, j.name, "
                       "j.sum, ifnull(j.at_ns, 0), j.changed_ns, j.bytes FROM "
                       "(SELECT id, name, %s AS sum, ifnull(began_ns, first_ns)"
                       " AS at_ns, max(ifnull(file_ns, 0), ifnull(last_ns, 0)) "
                       "AS changed_ns, ifnull(file_bytes, 0) AS bytes FROM "
                       "job_row WHERE %Q IS NULL OR name=%Q) j LEFT JOIN "
                       "temp.pushed p ON p.name=j.name WHERE j.sum IS NOT "
                       "p.sum", facts_sum, x->opt->job, x->opt->job);
    struct db_rows r;
    const char *name;
    int64_t changed_ns;

    if (rc == 0)
        rc = leave_out_unnamed (x);
    r = db_rows (db, x->err, "SELECT name, changed_ns FROM temp.todo ORDER BY "
                             "changed_ns, name");
    while (rc == 0 && x->opt->behind && db_row (&r, name, changed_ns))
        x->opt->behind (x->opt->arg, name, changed_ns);
    return rc < 0 ? ((void)db_end (&r), rc) : db_end (&r);
}

static int find_changed (struct push *x)
{
    sqlite3 *db = catalogue_db (x->c);
    const char *values[] = { x->opt->cluster, x->opt->job };
    int rc = facts_make_temp (db, x->err);

    if (rc == 0 && row_sum_register (db) != SQLITE_OK)
        rc = db_error (db, "row_sum", x->err);
    if (rc == 0)
        rc = db_exec (db, tables_sql, x->err);
    if (rc == 0 && x->opt->job && !is_utf8 (x->opt->job))
        rc = err_set (x->err, ENOENT, "the name of that job is not UTF-8");
    if (rc == 0 && x->opt->job &&
        db_number (db_rows (db, NULL, "SELECT count(*) FROM job_row WHERE "
                                      "name=?1", x->opt->job), 0) == 0)
        rc = err_set (x->err, ENOENT, "there is no job %s in this root: "
                                      "rollcall jobs lists its jobs", x->opt->job);
    if (rc == 0)
        rc = read_ledger (x);
    if (rc == 0)
        rc = pg_each (x->p, "SELECT name, sum FROM job WHERE cluster=$1 AND "
                            "($2::text IS NULL OR name=$2)", 2, values,
                      take_pushed, x, x->err);
    return rc < 0 ? rc : list_changed (x);
}

static int make_months (struct push *x)
{
    struct db_rows r = db_rows (catalogue_db (x->c), x->err, "SELECT DISTINCT "
                                "strftime('%Y-%m-01 00:00:00Z', "
                                "at_ns/1000000000-(at_ns%1000000000<0), "
                                "'unixepoch') FROM temp.todo");
    const char *month;

    while (db_row (&r, month))
        r.rc = schema_make_month (x->p, month, x->err);
    return db_end (&r);
}

/* ---- batches ---- */

static int send_batch (struct push *x)
{
    struct push_batch *b = x->batch;
    int rc = 0;

    if (b->n > 0)
        rc = push_batch (x->p, x->c, x->opt, b, x->sums, x->err);
    for (size_t i = 0; i < b->n; i++) {
        catalogue_result_close (&b->jobs[i].result);
        if (rc == 0 && x->opt->pushed)
            x->opt->pushed (x->opt->arg, b->jobs[i].name);
    }
    b->n = 0;
    return rc;
}

static void add_job (struct push *x, const struct push_job *values,
                     const char *name)
{
    struct push_job *j = &x->batch->jobs[x->batch->n++];

    *j = *values;
    PRINT (j->name, "%s", name);
    if (!catalogue_result_path (x->c, j->name, j->path))
        j->path[0] = '\0';
    if (*j->path)
        j->failed = catalogue_result_open (x->c, j->name, &j->result);
}

static int send_all (struct push *x)
{
    struct db_rows r = db_rows (catalogue_db (x->c), x->err, "SELECT id, name,"
                                " sum, at_ns, bytes FROM temp.todo ORDER BY "
                                "at_ns, name");
    struct push_job *j = calloc (1, sizeof (*j));
    int64_t bytes, sent = 0;
    const char *name;
    int rc;

    if (!j)
        r.rc = err_set (x->err, ENOMEM, "no memory for a job");
    while (j && db_row (&r, j->id, name, j->sum, j->at_ns, bytes)) {
        if (x->batch->n == BATCH_JOBS ||
            (x->batch->n > 0 && sent + bytes > BATCH_BYTES)) {
            r.rc = send_batch (x);
            sent = 0;
        }
        if (r.rc == 0)
            add_job (x, j, name);
        sent += bytes;
    }
    free (j);
    rc = db_end (&r);
    if (rc == 0)
        rc = send_batch (x);
    for (size_t i = 0; i < x->batch->n; i++)    // after a failure
        catalogue_result_close (&x->batch->jobs[i].result);
    return rc;
}

/* ---- jobs that are gone ---- */

static int remove_some (struct push *x, struct buf *names, size_t n)
{
    int rc = push_begin (x->p, x->opt, x->err);

    if (rc == 0)
        rc = push_remove (x->p, x->opt->cluster, names, x->err);
    rc = push_end (x->p, rc, x->err);
    x->sums->pruned += rc < 0 ? 0 : (int64_t)n;
    buf_clear (names);
    return rc;
}

static int prune (struct push *x)
{
    sqlite3 *db = catalogue_db (x->c);
    // no question about the catalogue is open while the database is waited for
    int rc = db_exec (db, "DELETE FROM temp.pushed WHERE name IN (SELECT name "
                          "FROM job_row)", x->err);
    struct db_rows r;
    struct buf names;
    const char *name;
    size_t n = 0;

    if (rc < 0)
        return rc;
    r = db_rows (db, x->err, "SELECT name FROM temp.pushed");
    buf_init (&names, ARRAY_MAX);
    while (db_row (&r, name)) {
        pg_array_text (&names, name);
        if (++n < BATCH_JOBS)
            continue;
        r.rc = remove_some (x, &names, n);
        n = 0;
    }
    rc = db_end (&r);
    if (rc == 0 && n > 0)
        rc = remove_some (x, &names, n);
    buf_fini (&names);
    return rc;
}

int push_jobs (struct pg *p, struct catalogue *c, struct ledger *l,
               const struct push_options *opt, struct push_sums *sums,
               struct err *err)
{
    struct push x = { .p = p, .c = c, .l = l, .opt = opt, .sums = sums,
                      .err = err };
    int rc;

    *sums = (struct push_sums){ .jobs = 0 };
    if (!(x.batch = calloc (1, sizeof (*x.batch))))
        return err_set (err, ENOMEM, "no memory for jobs");
    if ((rc = bind_cluster (&x)) == 0)
        rc = find_changed (&x);
    if (rc == 0)
        rc = make_months (&x);
    if (rc == 0)
        rc = send_all (&x);
    if (rc == 0 && opt->prune && !opt->job)
        rc = prune (&x);
    free (x.batch);
    return rc;
}
