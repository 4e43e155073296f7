/* aggregator/postgres/push.c - bring PostgreSQL up to date with a root
 *
 * PostgreSQL has a checksum of each job as it was pushed; a job with another
 * one has changed.  So nothing about it has to be remembered here.  Functions of
 * sql/003_push.sql do what is done there.
 */
#include "postgres/push.h"

#include "postgres/copy_rows.h"
#include "postgres/facts.h"
#include "postgres/result_rows.h"
#include "postgres/schema.h"
#include "store/db_rows.h"
#include "store/row_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_JOBS 64           // in a transaction, whose results are open; as
                                // many numbers has one value of job_id
#define BATCH_BYTES (1 << 30)   // of results, whose ops are not pushed
#define SQL_MAX 4096
#define NAMES_MAX (64u << 20)   // bytes of an array of names
#define BEGINS_MAX (64u << 10)  // of a row, with the name of a cluster

static const char tables_sql[] =
    "DROP TABLE IF EXISTS temp.pushed;"
    "CREATE TEMP TABLE pushed (name TEXT PRIMARY KEY, sum INTEGER) WITHOUT"
    " ROWID;"
    "DROP TABLE IF EXISTS temp.todo;"
    "CREATE TEMP TABLE todo (id INTEGER PRIMARY KEY, name TEXT, sum INTEGER,"
    " at_ns INTEGER, changed_ns INTEGER, bytes INTEGER, month TEXT);"
    "DELETE FROM temp.claim;DELETE FROM temp.clock;DELETE FROM temp.rest";

struct push_job {
    char name[MESSAGE_NAME_MAX];
    int64_t id, sum, at_ns;     // of the catalogue
    char path[PATH_MAX];        // of its result, or ""
    struct result result;       // its pages NULL: there is none, or it failed
    bool gone;                  // its row of the catalogue is
    int failed;                 // why its result could not be read to the end, or 0
};

struct push {
    struct pg *p;
    sqlite3 *db;                // of the catalogue
    struct catalogue *c;
    struct ledger *l;
    const struct push_options *opt;
    struct push_sums *sums;
    struct err *err;
    int64_t job, seq;           // whose claims are read, and how many there were
    struct push_job jobs[BATCH_JOBS + 1];       // the last one: the next
    size_t n;
    int64_t bytes;              // of their results
};

/* ---- what only the ledger knows ---- */

static int take_claim (void *arg, const struct size_claim *w)
{
    struct push *x = arg;
    int by = (int)w->by;

    return db_finish (db_rows_kept (x->db, x->err, "INSERT INTO temp.claim "
                                    "VALUES (?1,?2,?3,?4,?5,?6)", x->job,
                                    x->seq++, by, (const char *)w->who,
                                    (const char *)w->host, w->world_size));
}

static int take_clock (void *arg, const struct ledger_clock *k)
{
    struct push *x = arg;

    return db_finish (db_rows_kept (x->db, x->err, "INSERT INTO temp.clock "
                                    "VALUES (?1,?2,?3,?4,?5,?6)", x->job,
                                    x->seq++, (const char *)k->host_key,
                                    (const char *)k->host, k->offset_ns,
                                    k->error_ns));
}

static int take_rest (void *arg, const struct ledger_fact *f)
{
    struct push *x = arg;

    return !facts_is_rest (f)
               ? 0 : db_finish (db_rows_kept (x->db, x->err, "INSERT INTO "
                                              "temp.rest VALUES (?1,?2,?3,?4)",
                                              x->job, x->seq++,
                                              (const char *)f->key,
                                              (const char *)f->value));
}

static int read_ledger (struct push *x)
{
    struct db_rows r = db_rows (x->db, x->err, "SELECT id, name FROM job_row "
                                "WHERE ?1 IS NULL OR name=?1", x->opt->job);
    const char *name;

    while (db_row (&r, x->job, name)) {
        x->seq = 0;
        r.rc = ledger_each_claim (x->l, name, take_claim, x, x->err);
        x->seq = 0;
        if (r.rc == 0)
            r.rc = ledger_each_clock (x->l, name, take_clock, x, x->err);
        x->seq = 0;
        if (r.rc == 0)
            r.rc = ledger_each_fact (x->l, name, 0, take_rest, x, x->err);
    }
    return db_end (&r);
}

/* ---- what has changed ---- */

static int take_pushed (void *arg, const char *const row[])
{
    struct push *x = arg;

    return db_finish (db_rows_kept (x->db, x->err, "INSERT INTO temp.pushed "
                                    "VALUES (?1,?2)", row[0], pg_int (row[1])));
}

/* A job whose name is no text must not keep all others from it. */
static int leave_unnamed (struct push *x)
{
    struct db_rows r = db_rows (x->db, x->err, "SELECT id, name FROM temp.todo "
                                               "ORDER BY changed_ns");
    const char *name;
    int64_t id;

    while (db_row (&r, id, name)) {
        if (pg_is_text (name))
            continue;
        x->sums->unnamed++;
        r.rc = db_do (x->db, x->err, "DELETE FROM temp.todo WHERE id=?1", id);
    }
    return db_end (&r);
}

static int list_changed (struct push *x)
{
    int rc = db_execf (x->db, x->err, "INSERT INTO temp.todo SELECT j.id, j.name,"
                       " j.sum, ifnull(j.at_ns, 0), j.changed_ns, j.bytes,"
                       " strftime('%%Y-%%m', ifnull(j.at_ns, 0)/1000000000-("
                       "ifnull(j.at_ns, 0)%%1000000000<0), 'unixepoch') FROM "
                       "(SELECT id, name, %s AS sum, ifnull(began_ns, first_ns)"
                       " AS at_ns, max(ifnull(file_ns, 0), ifnull(last_ns, 0)) "
                       "AS changed_ns, ifnull(file_bytes, 0)+ifnull(part_bytes, "
                       "0) AS bytes FROM job_row WHERE %Q IS NULL OR name=%Q) j "
                       "LEFT JOIN temp.pushed p ON p.name=j.name WHERE j.sum IS "
                       "NOT p.sum", facts_sum, x->opt->job, x->opt->job);

    return rc < 0 ? rc : leave_unnamed (x);
}

static int tell_behind (struct push *x)
{
    struct db_rows r = db_rows (x->db, x->err, "SELECT name, changed_ns FROM "
                                "temp.todo ORDER BY changed_ns, name");
    const char *name;
    int64_t changed_ns;

    while (db_row (&r, name, changed_ns)) {
        if (x->opt->behind)
            x->opt->behind (x->opt->arg, name, changed_ns);
    }
    return db_end (&r);
}

/* ---- months ---- */

static int take_made (void *arg, const char *const row[])
{
    *(bool *)arg = row[0] && *row[0] == 't';
    return 0;
}

struct no_part {
    bool there;                 // a part for its time
    char why[ERR_TEXT_MAX];
    const char *month;
};

/* 'row[0]': what lacks_part returns. */
static int take_lack (void *arg, const char *const row[])
{
    struct no_part *n = arg;

    n->there = !row[0];
    if (row[0] && *row[0])
        PRINT (n->why, "%s has only some days of its month, %s: make a default "
               "part, or detach that one and put its rows into the part of the "
               "month that the next push makes", row[0], n->month);
    else
        PRINT (n->why, "the tables have no part for its month, %s, which "
               "somebody has detached: attach it again, drop it, or make a "
               "default part", n->month);
    return 0;
}

static int leave_one (struct push *x, int64_t id, const char *name,
                      const char *why)
{
    x->sums->no_part++;
    if (x->opt->no_part)
        x->opt->no_part (x->opt->arg, name, why);
    return db_do (x->db, x->err, "DELETE FROM temp.todo WHERE id=?1", id);
}

/* Nor must a job for whose time there is no part: 'month' is not whole. */
static int leave_some (struct push *x, const char *month)
{
    struct db_rows r = db_rows (x->db, x->err, "SELECT id, name, at_ns/1000000000"
                                "-(at_ns%1000000000<0) FROM temp.todo WHERE "
                                "month=?1 ORDER BY at_ns, name", month);
    const char *name, *at;
    int64_t id;

    while (db_row (&r, id, name, at)) {
        struct no_part n = { .there = true, .month = month };

        r.rc = pg_each (x->p, "SELECT lacks_part(to_timestamp($1))", 1, &at,
                        take_lack, &n, x->err);
        if (r.rc == 0 && !n.there)
            r.rc = leave_one (x, id, name, n.why);
    }
    return db_end (&r);
}

static int make_months (struct push *x)
{
    struct db_rows r = db_rows (x->db, x->err, "SELECT DISTINCT month, month||"
                                "'-01 00:00:00Z' FROM temp.todo ORDER BY month");
    const char *month, *first;

    while (db_row (&r, month, first)) {
        bool whole = true;

        r.rc = pg_each (x->p, "SELECT make_month($1)", 1, &first, take_made,
                        &whole, x->err);
        if (r.rc == 0 && !whole)
            r.rc = leave_some (x, month);
    }
    return db_end (&r);
}

static int read_root (struct push *x)
{
    const char *job = x->opt->job;
    int rc = facts_make_temp (x->db, x->err);

    if (rc == 0 && row_sum_register (x->db) != SQLITE_OK)
        rc = db_error (x->db, "row_sum", x->err);
    if (rc == 0)
        rc = db_exec (x->db, tables_sql, x->err);
    if (rc == 0 && job && !pg_is_text (job))
        rc = err_set (x->err, ESRCH, "the name of that job is not UTF-8");
    if (rc == 0 && job &&
        db_number (db_rows (x->db, NULL, "SELECT count(*) FROM job_row WHERE "
                                         "name=?1", job), 0) == 0)
        rc = err_set (x->err, ESRCH, "there is no job %s in this root: "
                                     "rollcall jobs lists its jobs", job);
    return rc < 0 ? rc : read_ledger (x);
}

/* ---- transactions ---- */

/* In the first one the tables are checked, and the name may become this root's. */
static int begin (struct push *x, bool first)
{
    const char *const values[] = { x->opt->cluster, x->opt->root_id,
                                   first && x->opt->rebind ? "t" : "f" };
    int rc = pg_begin (x->p, PG_WRITE, x->err);

    if (rc == 0 && first)
        rc = schema_check (x->p, x->err);
    return rc < 0 ? rc : pg_each (x->p, "SELECT begin_push($1, $2, $3)", 3,
                                  values, NULL, NULL, x->err);
}

static int find_changed (struct push *x)
{
    const char *values[] = { x->opt->cluster, x->opt->job };
    int rc = read_root (x);

    if (rc < 0)
        return rc;
    if ((rc = begin (x, true)) == 0)
        rc = pg_each (x->p, "SELECT name, sum FROM job WHERE cluster=$1 AND "
                            "($2::text IS NULL OR name=$2)", 2, values,
                      take_pushed, x, x->err);
    if (rc == 0)
        rc = list_changed (x);
    if (rc == 0)
        rc = make_months (x);
    if (rc == 0)
        rc = tell_behind (x);
    return pg_end (x->p, rc, x->err);
}

/* Remove jobs: 'names' is an array, which this ends. */
static int remove_jobs (struct push *x, struct buf *names)
{
    buf_put (names, "}", 1);
    return names->failed
               ? err_set (x->err, ENOMEM, "no memory for names")
               : pg_each (x->p, "SELECT remove_jobs($1, $2)", 2,
                          (const char *const[]){ x->opt->cluster,
                                                 buf_text (names) },
                          NULL, NULL, x->err);
}

/* ---- rows ---- */

struct rows {
    struct push *x;
    const struct facts_table *t;
    char sql[FACTS_QUERY_MAX];  // of the catalogue
    struct copy_rows out;
    struct copy_rows begins;    // of each row of a job
    int64_t first;              // the number there of the first job
};

static void begin_rows (struct rows *to, const struct push_job *j)
{
    struct copy_rows *out = &to->begins;
    const bool is_job = to->t == facts_tables;
    const char *cluster = to->x->opt->cluster;

    buf_clear (&out->buf);
    copy_rows_new (out, strlen (to->t->types) + (is_job ? 4 : 2));
    copy_rows_int (out, to->first + (j - to->x->jobs));
    if (is_job)
        copy_rows_text (out, cluster, strlen (cluster));
    copy_rows_time (out, j->at_ns);
    if (is_job)
        copy_rows_int (out, j->sum);
}

static int put_each (struct rows *to, struct db_rows r)
{
    while (db_step (&r)) {
        copy_rows_again (&to->out, &to->begins.buf);
        copy_rows_columns (&to->out, r.st, to->t->types,
                           (size_t)sqlite3_column_count (r.st));
        r.rc = copy_rows_flush (&to->out, to->x->err);
    }
    return db_end (&r);
}

/* Of the catalogue.  A job that was removed after it was found to have changed
 * has no rows.
 */
static int put_known (struct rows *to, struct push_job *j)
{
    const char *path = *j->path ? j->path : NULL, *name = j->name;
    struct push *x = to->x;
    const bool is_job = to->t == facts_tables;
    const int64_t before = to->out.rows;
    int rc;

    if (!is_job)
        return put_each (to, db_rows_kept (x->db, x->err, to->sql, j->id));
    rc = put_each (to, db_rows_kept (x->db, x->err, to->sql, j->id, path, name));
    j->gone = to->out.rows == before;
    return rc;
}

/* A result that cannot be read to its end fails no push. */
static int put_rows (struct rows *to, struct push_job *j)
{
    if (j->gone)
        return 0;
    begin_rows (to, j);
    if (to->t->source == FACTS_CATALOGUE)
        return put_known (to, j);
    return j->result.pages && j->failed == 0
               ? result_put (&j->result, to->t, &to->begins.buf, &to->out,
                             &j->failed, to->x->err) : 0;
}

static int copy_table (struct push *x, const struct facts_table *t,
                       int64_t first, int64_t *rows)
{
    struct rows to = { .x = x, .t = t, .first = first };
    int rc = 0;

    if (t->source == FACTS_CATALOGUE)
        PRINT (to.sql, "SELECT %s FROM %s", t->select, t->from);
    buf_init (&to.begins.buf, BEGINS_MAX);
    copy_rows_begin (&to.out, x->p);
    for (size_t i = 0; i < x->n && rc == 0; i++)
        rc = put_rows (&to, &x->jobs[i]);
    *rows += to.out.rows;
    buf_fini (&to.begins.buf);
    return copy_rows_end (&to.out, rc, x->err);
}

/* Columns of "job" that came later stand behind others there. */
static void put_copy (const struct facts_table *t, struct buf *sql)
{
    buf_printf (sql, "COPY %s", t->name);
    if (t == facts_tables)
        buf_printf (sql, " (id, cluster, at, sum, %s)", t->columns);
    buf_printf (sql, " FROM STDIN (FORMAT binary);");
}

/* One statement for all of them: an answer of the server less for each one. */
static int begin_copy (struct push *x)
{
    struct buf sql;
    int rc;

    buf_init (&sql, SQL_MAX);
    for (size_t i = 0; i < FACTS_TABLES; i++)
        put_copy (&facts_tables[i], &sql);
    rc = pg_copy_begin (x->p, buf_text (&sql), x->err);
    buf_fini (&sql);
    return rc;
}

/* Results that another try may read: their jobs are pushed again. */
static int note_unread (struct push *x, int64_t first)
{
    const char *id;
    char text[24];
    int rc = 0;

    for (size_t i = 0; i < x->n && rc == 0; i++) {
        const struct push_job *j = &x->jobs[i];

        if (j->gone)
            continue;
        x->sums->jobs++;
        x->sums->unreadable += j->failed < 0;
        if (!catalogue_result_later (j->failed))
            continue;
        x->sums->later++;
        PRINT (text, "%lld", (long long)first + (long long)i);
        id = text;
        rc = pg_each (x->p, "UPDATE job SET sum=0 WHERE id=$1", 1, &id, NULL,
                      NULL, x->err);
    }
    return rc;
}

/* ---- batches ---- */

static int replace_jobs (struct push *x)
{
    struct buf names;
    int64_t first;
    int rc;

    buf_init (&names, NAMES_MAX);
    for (size_t i = 0; i < x->n; i++)
        pg_array_text (&names, x->jobs[i].name);
    rc = remove_jobs (x, &names);
    buf_fini (&names);
    if (rc == 0)
        rc = pg_number (x->p, "SELECT nextval('job_id')", &first, x->err);
    if (rc == 0)
        rc = begin_copy (x);
    for (size_t i = 0; i < FACTS_TABLES && rc == 0; i++)
        rc = copy_table (x, &facts_tables[i], first, &x->sums->rows);
    return rc < 0 ? rc : note_unread (x, first);
}

/* Send the jobs, unless 'rc' is negative, which is returned then. */
static int send_batch (struct push *x, int rc)
{
    if (rc == 0 && x->n > 0) {
        rc = begin (x, false);
        rc = pg_end (x->p, rc < 0 ? rc : replace_jobs (x), x->err);
        x->sums->transactions += rc == 0;
    }
    for (size_t i = 0; i < x->n; i++) {
        result_close (&x->jobs[i].result);
        if (rc == 0 && x->opt->pushed)
            x->opt->pushed (x->opt->arg, x->jobs[i].name);
    }
    x->n = 0;
    x->bytes = 0;
    return rc;
}

/* Open its result: 0; -ENOENT: there is none, or why it cannot be read. */
static int open_result (struct push *x, struct push_job *j)
{
    struct page_source *pages;
    int rc = catalogue_result_path (x->c, j->name, j->path)
                 ? catalogue_result_open (x->c, j->name, &pages) : -ENOENT;

    return rc < 0 ? rc : result_open (&j->result, pages);
}

/* One whose result is gone by now has changed again. */
static void add_job (struct push *x, const struct push_job *next)
{
    struct push_job *j = &x->jobs[x->n++];

    *j = *next;
    j->failed = open_result (x, j);
    if (j->failed == -ENOENT) {
        j->path[0] = '\0';
        j->failed = 0;
    }
}

static int send_all (struct push *x)
{
    struct db_rows r = db_rows (x->db, x->err, "SELECT id, name, sum, at_ns,"
                                " bytes FROM temp.todo ORDER BY at_ns, name");
    struct push_job *j = &x->jobs[BATCH_JOBS];
    int64_t bytes;

    while (db_row (&r, j->id, j->name, j->sum, j->at_ns, bytes)) {
        if (x->n == BATCH_JOBS || x->bytes + bytes > BATCH_BYTES)
            r.rc = send_batch (x, 0);
        if (r.rc == 0)
            add_job (x, j);
        x->bytes += bytes;
    }
    return send_batch (x, db_end (&r));
}

/* ---- jobs that are gone ---- */

/* No question about the catalogue is open while the database is waited for. */
static int prune (struct push *x)
{
    struct db_rows r = db_rows (x->db, x->err, "SELECT name FROM temp.pushed "
                                "WHERE name NOT IN (SELECT name FROM job_row)");
    struct buf names;
    const char *name;
    int64_t n = 0;
    int rc;

    buf_init (&names, NAMES_MAX);
    for (; db_row (&r, name); n++)
        pg_array_text (&names, name);
    rc = db_end (&r);
    if (rc == 0 && n > 0) {
        rc = begin (x, false);
        rc = pg_end (x->p, rc < 0 ? rc : remove_jobs (x, &names), x->err);
        x->sums->pruned = rc < 0 ? 0 : n;
    }
    buf_fini (&names);
    return rc;
}

int push_jobs (struct pg *p, struct catalogue *c, struct ledger *l,
               const struct push_options *opt, struct push_sums *sums,
               struct err *err)
{
    struct push *x = calloc (1, sizeof (*x));
    int rc;

    *sums = (struct push_sums){ .jobs = 0 };
    if (!x)
        return err_set (err, ENOMEM, "no memory for jobs");
    x->p = p;
    x->db = catalogue_db (c);
    x->c = c;
    x->l = l;
    x->opt = opt;
    x->sums = sums;
    x->err = err;
    if ((rc = find_changed (x)) == 0)
        rc = send_all (x);
    if (rc == 0 && opt->prune && !opt->job)
        rc = prune (x);
    free (x);
    return rc;
}
