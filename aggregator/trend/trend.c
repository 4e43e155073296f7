/* aggregator/trend/trend.c - sums of many jobs, from the catalogue */
#include "trend/trend.h"

#include "base/vec.h"
#include "findings/median.h"
#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const trend_by_names[TREND_KEYS] = {
    "day", "week", "month", "tag", "user", "host",
};

#define DATE(form) "strftime('" form "', at_ns/1000000000, 'unixepoch')"

/* The keys of jobs: (id, key, step_ms, comm_percent, computing_percent). */
static const char *const member_sql[TREND_KEYS] = {
    "SELECT id, " DATE ("%Y-%m-%d") " AS key, step_ms, comm_percent,"
    " computing_percent FROM point",
    "SELECT id, date(at_ns/1000000000, 'unixepoch', 'weekday 0', '-6 days'),"
    " step_ms, comm_percent, computing_percent FROM point",
    "SELECT id, " DATE ("%Y-%m") ", step_ms, comm_percent, computing_percent"
    " FROM point",
    "SELECT p.id, ifnull(t.tag, '-'), step_ms, comm_percent, computing_percent"
    " FROM point p LEFT JOIN tag t ON t.job=p.id",
    "SELECT id, ifnull(user, '-'), step_ms, comm_percent, computing_percent"
    " FROM point",
    // what its own ranks take; nothing says how much of that is communication
    "SELECT p.id, h.host, h.step_us/1000, comm_percent,"
    " 100*h.computing_us/nullif(h.step_us, 0) FROM point p JOIN host h ON"
    " h.job=p.id",
};

static const char point_sql[] =
    "DROP TABLE IF EXISTS temp.point;"
    "CREATE TEMP TABLE point (id INTEGER PRIMARY KEY, job TEXT, user TEXT,"
    " tags TEXT, at_ns INTEGER, ranks INTEGER, high INTEGER, step_ms REAL,"
    " comm_percent REAL, computing_percent REAL);"
    "INSERT INTO temp.point SELECT row_id, job, user, tags, at_ns, ranks, high,"
    " step_ms, comm_percent, computing_percent FROM temp.chosen c JOIN job ON"
    " job.row_id=c.id;"
    "DROP TABLE IF EXISTS temp.member;"
    "CREATE TEMP TABLE member (id INTEGER, key TEXT, step_ms REAL,"
    " comm_percent REAL, computing_percent REAL);";

static double real_or_nan (sqlite3_stmt *st, int i)
{
    return sqlite3_column_type (st, i) == SQLITE_NULL
               ? (double)NAN : sqlite3_column_double (st, i);
}

static char *text_of (sqlite3_stmt *st, int i)
{
    return strdup (db_text (st, i));
}

static int no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory for the trend of jobs");
}

/* ---- all jobs ---- */

static int read_all (sqlite3 *db, struct trend *t, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT transport FROM link WHERE job "
                                "IN (SELECT id FROM point) GROUP BY 1 ORDER BY "
                                "sum(mb) DESC, transport LIMIT 6");
    int rc = db_one (db_rows (db, err, "SELECT count(*), count(step_ms), "
                              "count(DISTINCT user), ifnull(min(at_ns), 0), "
                              "ifnull(max(at_ns), 0) FROM point"),
                     t->jobs, t->with_result, t->users, t->first_ns,
                     t->last_ns);

    while (t->ntransports < TREND_TRANSPORTS && db_step (&r)) {
        if (!(t->transports[t->ntransports++] = text_of (r.st, 0)))
            r.rc = no_memory (err);
    }
    return rc < 0 ? ((void)db_end (&r), rc) : db_end (&r);
}

static size_t transport_at (const struct trend *t, const char *name)
{
    size_t i = 0;

    while (i < t->ntransports && strcmp (t->transports[i], name) != 0)
        i++;
    return i;
}

static void no_gbps (double gbps[TREND_TRANSPORTS])
{
    for (size_t i = 0; i < TREND_TRANSPORTS; i++)
        gbps[i] = (double)NAN;
}

/* ---- rows ---- */

static int add_row (struct trend *t, sqlite3_stmt *st)
{
    struct trend_row *row = vec_add (&t->rows, &t->nrows, sizeof (*row));

    if (!row || !(row->key = text_of (st, 0)))
        return -ENOMEM;
    row->jobs = sqlite3_column_int64 (st, 1);
    row->first_ns = sqlite3_column_int64 (st, 2);
    row->last_ns = sqlite3_column_int64 (st, 3);
    row->step_ms = real_or_nan (st, 4);
    row->comm_percent = real_or_nan (st, 5);
    row->computing_percent = real_or_nan (st, 6);
    row->high = sqlite3_column_int64 (st, 7);
    no_gbps (row->gbps);
    return 0;
}

static int read_rows (sqlite3 *db, struct trend *t, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT m.key, count(*), min(p.at_ns),"
                                " max(p.at_ns), median(m.step_ms), "
                                "median(m.comm_percent), "
                                "median(m.computing_percent), total(p.high) "
                                "FROM member m JOIN point p ON p.id=m.id GROUP "
                                "BY m.key ORDER BY m.key");

    while (db_step (&r)) {
        if (add_row (t, r.st) < 0)
            r.rc = no_memory (err);
    }
    return db_end (&r);
}

/* Rows of both have one order.  The last digits of a sum depend on the order of what
 * is added: that of the values is the same in each catalogue.
 */
static int read_row_links (sqlite3 *db, struct trend *t, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT key, transport, "
                                "sum(mb)/sum(ms) FROM (SELECT m.key, "
                                "l.transport, l.mb, l.ms FROM member m JOIN link"
                                " l ON l.job=m.id ORDER BY 3, 4 LIMIT -1) "
                                "GROUP BY 1, 2 ORDER BY 1");
    size_t i = 0;

    while (db_step (&r)) {
        size_t k = transport_at (t, db_text (r.st, 1));

        while (i < t->nrows && strcmp (t->rows[i].key, db_text (r.st, 0)) != 0)
            i++;
        if (i < t->nrows && k < t->ntransports)
            t->rows[i].gbps[k] = real_or_nan (r.st, 2);
    }
    return db_end (&r);
}

/* ---- what comes back ---- */

#define DEVICE(host, device) "ifnull(" host ", '?')||ifnull(' device '||" \
    device ", '')"

static const char back_sql[] =
    "WITH s AS MATERIALIZED (SELECT DISTINCT s.job, s.kind, s.host,"
    " CASE WHEN s.kind IN ('slow_host', 'slow_port') THEN s.host ELSE "
    DEVICE ("s.host", "s.device") "||iif(s.kind='slow_link', ' > '||"
    DEVICE ("s.peer_host", "s.peer_device") ", '') END AS what, s.percent"
    " FROM slow s JOIN point p ON p.id=s.job),"
    " b AS (SELECT kind, what, host, count(DISTINCT s.job) AS n,"
    "  min(at_ns) AS first_ns, max(at_ns) AS last_ns, avg(percent) AS pc"
    "  FROM (SELECT s.*, p.at_ns FROM s JOIN point p ON p.id=s.job"
    "   ORDER BY percent LIMIT -1) s GROUP BY 1, 2 HAVING n>1"
    "  ORDER BY n DESC, pc DESC, what LIMIT 100)"
    " SELECT kind, what, n, (SELECT count(*) FROM host h JOIN point p ON"
    "  p.id=h.job WHERE h.host=b.host), first_ns, last_ns, pc,"
    " (SELECT p.job FROM s JOIN point p ON p.id=s.job WHERE s.kind=b.kind AND"
    "  s.what=b.what ORDER BY p.at_ns DESC, p.job LIMIT 1) FROM b"
    " ORDER BY n DESC, pc DESC, what";

static int add_back (struct trend *t, sqlite3_stmt *st)
{
    struct trend_back *b = vec_add (&t->back, &t->nback, sizeof (*b));

    if (!b)
        return -ENOMEM;
    b->kind = text_of (st, 0);
    b->what = text_of (st, 1);
    b->jobs = sqlite3_column_int64 (st, 2);
    b->of = sqlite3_column_int64 (st, 3);
    b->first_ns = sqlite3_column_int64 (st, 4);
    b->last_ns = sqlite3_column_int64 (st, 5);
    b->percent = real_or_nan (st, 6);
    b->latest = text_of (st, 7);
    return b->kind && b->what && b->latest ? 0 : -ENOMEM;
}

static int read_back (sqlite3 *db, struct trend *t, struct err *err)
{
    struct db_rows r = db_rows (db, err, back_sql);

    while (db_step (&r)) {
        if (add_back (t, r.st) < 0)
            r.rc = no_memory (err);
    }
    return db_end (&r);
}

/* ---- single jobs ---- */

static int add_point (struct trend *t, sqlite3_stmt *st)
{
    struct trend_point *p = vec_add (&t->points, &t->npoints, sizeof (*p));

    if (!p)
        return -ENOMEM;
    p->job = text_of (st, 0);
    p->user = text_of (st, 1);
    p->tags = text_of (st, 2);
    p->at_ns = sqlite3_column_int64 (st, 3);
    p->ranks = sqlite3_column_int64 (st, 4);
    p->high = sqlite3_column_int64 (st, 5);
    p->step_ms = real_or_nan (st, 6);
    p->comm_percent = real_or_nan (st, 7);
    no_gbps (p->gbps);
    return p->job && p->user && p->tags ? 0 : -ENOMEM;
}

static int read_point_links (sqlite3 *db, struct trend_point *p, int64_t id,
                             const struct trend *t, struct err *err)
{
    struct db_rows r = db_rows_kept (db, err, "SELECT transport, mb/ms FROM "
                                              "link WHERE job=?1", id);

    while (db_step (&r)) {
        size_t k = transport_at (t, db_text (r.st, 0));

        if (k < t->ntransports)
            p->gbps[k] = real_or_nan (r.st, 1);
    }
    return db_end (&r);
}

static int read_points (sqlite3 *db, struct trend *t, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT * FROM (SELECT job, user, "
                                "tags, at_ns, ranks, high, step_ms, "
                                "comm_percent, id FROM point ORDER BY at_ns "
                                "DESC, job LIMIT 2000) ORDER BY at_ns, job");

    while (db_step (&r)) {
        if (add_point (t, r.st) < 0)
            r.rc = no_memory (err);
        else
            r.rc = read_point_links (db, &t->points[t->npoints - 1],
                                     sqlite3_column_int64 (r.st, 8), t, err);
    }
    return db_end (&r);
}

/* ---- all of it ---- */

static int collect (sqlite3 *db, enum trend_by by, bool points,
                    struct trend *t, struct err *err)
{
    int rc = db_exec (db, point_sql, err);

    if (rc == 0)
        rc = db_execf (db, err, "INSERT INTO temp.member %s", member_sql[by]);
    if (rc == 0)
        rc = read_all (db, t, err);
    if (rc == 0)
        rc = read_rows (db, t, err);
    if (rc == 0)
        rc = read_row_links (db, t, err);
    if (rc == 0)
        rc = read_back (db, t, err);
    return rc < 0 || !points ? rc : read_points (db, t, err);
}

int trend_read (struct catalogue *c, const struct catalogue_filter *f,
                enum trend_by by, bool points, struct trend *ret,
                struct err *err)
{
    sqlite3 *db = catalogue_db (c);
    int rc = median_register (db, err);

    *ret = (struct trend){ .jobs = 0 };
    if (rc == 0)
        rc = catalogue_choose (c, f, err);
    if (rc == 0)
        rc = collect (db, by, points, ret, err);
    if (rc < 0)
        trend_fini (ret);
    return rc;
}

void trend_fini (struct trend *t)
{
    for (size_t i = 0; i < t->ntransports; i++)
        free (t->transports[i]);
    for (size_t i = 0; i < t->nrows; i++)
        free (t->rows[i].key);
    for (size_t i = 0; i < t->nback; i++) {
        free (t->back[i].kind);
        free (t->back[i].what);
        free (t->back[i].latest);
    }
    for (size_t i = 0; i < t->npoints; i++) {
        free (t->points[i].job);
        free (t->points[i].user);
        free (t->points[i].tags);
    }
    free (t->rows);
    free (t->back);
    free (t->points);
    *t = (struct trend){ .jobs = 0 };
}
