/* aggregator/summary/summary.c - the questions, put to analysis.db */
#include "summary/summary.h"

#include "base/units.h"
#include "base/vec.h"
#include "query/finished.h"
#include "store/db_rows.h"
#include "store/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HOSTS_NAMED "4"
#define LINKS_MAX (1u << 20)    // 40 MB; a job of 10,000 ranks has 200,000

/* Run a query and give each row to 'row'. */
static int summary_each (sqlite3 *db, const char *sql,
                         int (*row) (struct summary *s, sqlite3_stmt *st),
                         struct summary *s, struct err *err)
{
    struct db_rows r = db_rows (db, err, sql);

    while (db_step (&r))
        r.rc = row (s, r.st) < 0
                   ? err_set (err, ENOMEM, "no memory for the summary") : 0;
    return db_end (&r);
}

static int add_text (char ***list, size_t *n, const char *text)
{
    char **p = vec_one_more (*list, *n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    *list = p;
    if (!(p[*n] = strdup (text)))
        return -ENOMEM;
    err_plain (p[(*n)++]);      // it goes to a terminal
    return 0;
}

static int row_rank (struct summary *s, sqlite3_stmt *st)
{
    bool expected = sqlite3_column_int (st, 2);
    const char *state = db_text (st, 3), *reason = db_text (st, 4);
    struct summary_rank *p;

    s->expected += expected;
    if (strcmp (state, "present") == 0) {
        s->present += expected;
        return 0;
    }
    p = vec_one_more (s->others, s->nothers, sizeof (*p));
    if (!p)
        return -ENOMEM;
    s->others = p;
    p += s->nothers++;
    memset (p, 0, sizeof (*p));
    db_columns (st, p->rank, p->host);
    (void)snprintf (p->state, sizeof (p->state), "%s", state);
    p->reason = *reason ? strdup (reason) : NULL;
    if (p->reason)
        err_plain (p->reason);
    return 0;
}

static int row_capture (struct summary *s, sqlite3_stmt *st)
{
    char text[2048];

    (void)snprintf (text, sizeof (text), "%s: %s: %s", db_text (st, 0),
                    db_text (st, 1), db_text (st, 2));
    return add_text (&s->captures, &s->ncaptures, text);
}

static int row_remark (struct summary *s, sqlite3_stmt *st)
{
    int64_t n = sqlite3_column_int64 (st, 0);
    char text[2048];

    if (n == 1)
        (void)snprintf (text, sizeof (text), "capture %s: %s", db_text (st, 1),
                        db_text (st, 2));
    else
        (void)snprintf (text, sizeof (text), "%lld captures, e.g. %s: %s",
                        (long long)n, db_text (st, 1), db_text (st, 2));
    return add_text (&s->remarks, &s->nremarks, text);
}

static int row_edges (struct summary *s, sqlite3_stmt *st)
{
    int64_t steps = sqlite3_column_int64 (st, 0);
    int64_t captures = sqlite3_column_int64 (st, 1);
    char text[512];

    if (steps == 0)
        return 0;
    (void)snprintf (text, sizeof (text), "step%s %.200s of %lld capture%s: "
                    "profiling itself lengthened %s, so means and findings "
                    "leave %s out (--all-steps keeps %s)",
                    steps > 1 ? "s" : "", db_text (st, 2),
                    (long long)captures, units_s ((uint64_t)captures),
                    steps > 1 ? "them" : "it", steps > 1 ? "them" : "it",
                    steps > 1 ? "them" : "it");
    return add_text (&s->remarks, &s->nremarks, text);
}

/* Sums by switch and rack are without these hosts; only a few are named. */
static const char topology_sql[] =
    "SELECT (SELECT count(DISTINCT host) FROM Roster), count(*),"
    " group_concat(host,', ') FILTER (WHERE n<=" HOSTS_NAMED ")||"
    " CASE WHEN count(*)>" HOSTS_NAMED " THEN ', ...' ELSE '' END FROM"
    " (SELECT host, row_number() OVER (ORDER BY length(host), host) AS n FROM"
    "  (SELECT DISTINCT host FROM Roster WHERE host IS NOT NULL AND"
    "   host NOT IN (SELECT host FROM Topology)))"
    " WHERE EXISTS (SELECT 1 FROM Topology)";

static int row_topology (struct summary *s, sqlite3_stmt *st)
{
    int64_t hosts = sqlite3_column_int64 (st, 0);
    int64_t unnamed = sqlite3_column_int64 (st, 1);
    char text[2048];

    if (unnamed == 0)
        return 0;
    if (unnamed == hosts)
        (void)snprintf (text, sizeof (text), "the topology names none of the "
                        "hosts, so nothing is summed by switch: %s",
                        db_text (st, 2));
    else
        (void)snprintf (text, sizeof (text), "the topology does not name %lld "
                        "of %lld host%s: %s", (long long)unnamed,
                        (long long)hosts, units_s ((uint64_t)hosts),
                        db_text (st, 2));
    return add_text (&s->remarks, &s->nremarks, text);
}

static int row_note (struct summary *s, sqlite3_stmt *st)
{
    return add_text (&s->remarks, &s->nremarks, db_text (st, 0));
}

static int row_known_by (struct summary *s, sqlite3_stmt *st)
{
    db_columns (st, s->known_by);
    return 0;
}

static int row_job (struct summary *s, sqlite3_stmt *st)
{
    const struct {
        const char *key;
        char *out;
        size_t size;
    } texts[] = {
        { "job", s->job_id, sizeof (s->job_id) },
        { "scheduler_id", s->about.scheduler_id, JOB_ORIGIN_TEXT_MAX },
        { "user", s->about.user, JOB_ORIGIN_TEXT_MAX },
        { "command", s->about.command, JOB_ORIGIN_COMMAND_MAX },
        { "other_jobs", s->other_jobs, sizeof (s->other_jobs) },
    };

    for (size_t i = 0; i < sizeof (texts) / sizeof (texts[0]); i++) {
        if (strcmp (db_text (st, 0), texts[i].key) == 0)
            (void)snprintf (texts[i].out, texts[i].size, "%s", db_text (st, 1));
    }
    if (strcmp (db_text (st, 0), "assumed") == 0)
        s->assumed = sqlite3_column_int (st, 1);
    return 0;
}

static int row_steps (struct summary *s, sqlite3_stmt *st)
{
    db_columns (st, s->steps, s->first_step, s->last_step, s->computing_us,
                s->communication_us, s->free_us);
    s->has_times = sqlite3_column_type (st, 3) != SQLITE_NULL;
    s->step_us = s->computing_us + s->communication_us + s->free_us;
    return 0;
}

/* ---- slowest rank and link ---- */

struct sample {
    double value;
    int64_t rank;
};

struct samples {
    struct sample *list;
    size_t n;
};

static int add_sample (struct samples *x, struct sample v)
{
    struct sample *p = vec_one_more (x->list, x->n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    x->list = p;
    x->list[x->n++] = v;
    return 0;
}

static int compare_samples (const void *pa, const void *pb)
{
    const struct sample *a = pa, *b = pb;

    if (a->value < b->value || a->value > b->value)
        return a->value < b->value ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static double summary_median (const struct sample *list, size_t n)
{
    return n % 2 ? list[n / 2].value
                 : (list[n / 2 - 1].value + list[n / 2].value) / 2;
}

static int find_slow_rank (sqlite3 *db, struct summary *s, struct err *err)
{
    struct samples x = { NULL, 0 };
    struct db_rows r = db_rows (db, err, "SELECT rank, avg(computing) FROM "
                                         "StepCounted GROUP BY rank");
    struct sample v;
    int rc;

    while (db_row (&r, v.rank, v.value))
        r.rc = add_sample (&x, v);
    rc = db_end (&r);
    if (rc == 0 && x.n > 1) {
        qsort (x.list, x.n, sizeof (*x.list), compare_samples);
        double m = summary_median (x.list, x.n);

        s->ranks_compared = x.n;
        if (x.list[x.n - 1].value > m * (1 + SUMMARY_RANK_PERCENT / 100.0)) {
            s->slow_rank.rank = x.list[x.n - 1].rank;
            s->slow_rank.computing_us = x.list[x.n - 1].value;
            s->slow_rank.median_us = m;
        }
    }
    free (x.list);
    return rc == -ENOMEM ? err_set (err, ENOMEM, "no memory for the summary")
                         : rc;
}

/* A link over one transport: MB and ms of all steps that count. */
struct use {
    int64_t src, dst;
    char transport[16];
    double mb, ms, want;        // ms that it should need
};

struct uses {
    struct use *list;
    size_t n;
};

static int add_use (struct uses *x, sqlite3_stmt *st)
{
    struct use *u;

    u = vec_one_more (x->list, x->n, sizeof (*u));
    if (!u)
        return -ENOMEM;
    x->list = u;
    u = &x->list[x->n++];
    memset (u, 0, sizeof (*u));
    db_columns (st, u->src, u->dst, u->transport, u->mb, u->ms);
    return 0;
}

static double bandwidth (const struct use *u)
{
    return u->mb / u->ms;       // MB per ms is GB/s
}

static int by_bandwidth (const void *pa, const void *pb)
{
    const struct use *a = pa, *b = pb;
    int order = strcmp (a->transport, b->transport);

    return order ? order : (bandwidth (a) > bandwidth (b)) -
                               (bandwidth (a) < bandwidth (b));
}

static int by_link (const void *pa, const void *pb)
{
    const struct use *a = pa, *b = pb;

    if (a->src != b->src)
        return a->src < b->src ? -1 : 1;
    if (a->dst != b->dst)
        return a->dst < b->dst ? -1 : 1;
    return strcmp (a->transport, b->transport);
}

/* What each needs at the median bandwidth of its transport. */
static void find_wants (struct uses *x)
{
    qsort (x->list, x->n, sizeof (*x->list), by_bandwidth);
    for (size_t i = 0, end; i < x->n; i = end) {
        double m;

        for (end = i; end < x->n && strcmp (x->list[end].transport,
                                            x->list[i].transport) == 0;)
            end++;
        m = (bandwidth (&x->list[(i + end - 1) / 2]) +
             bandwidth (&x->list[(i + end) / 2])) / 2;
        for (size_t k = i; k < end; k++)
            x->list[k].want = x->list[k].mb / m;
    }
}

/* The link that is slowest beside what it should need. */
static void pick_link (struct uses *x, struct summary *s)
{
    double worst = 1 - SUMMARY_LINK_PERCENT / 100.0;

    find_wants (x);
    qsort (x->list, x->n, sizeof (*x->list), by_link);
    for (size_t i = 0, end; i < x->n; i = end) {
        struct use sum = { .mb = 0 };
        char over[sizeof (s->slow_link.transport)] = "";
        size_t used = 0;

        for (end = i; end < x->n && x->list[end].src == x->list[i].src &&
                      x->list[end].dst == x->list[i].dst; end++) {
            const struct use *u = &x->list[end];

            sum.mb += u->mb;
            sum.ms += u->ms;
            sum.want += u->want;
            if (used < sizeof (over))
                used += (size_t)snprintf (over + used, sizeof (over) - used,
                                          "%s%s", used ? "," : "",
                                          u->transport);
        }
        s->links_compared++;
        if (sum.want / sum.ms >= worst)
            continue;
        worst = sum.want / sum.ms;
        s->slow_link.src = x->list[i].src;
        s->slow_link.dst = x->list[i].dst;
        s->slow_link.gbps = sum.mb / sum.ms;
        s->slow_link.median_gbps = sum.mb / sum.want;
        memcpy (s->slow_link.transport, over, sizeof (over));
    }
}

/* A finding's link is the one that is named, with the finding's numbers; its
 * median is of links of its like, which findings.md tells.
 */
static int row_found_link (struct summary *s, sqlite3_stmt *st)
{
    db_columns (st, s->slow_link.src, s->slow_link.dst, s->slow_link.gbps,
                s->slow_link.median_gbps, s->slow_link.transport);
    return 0;
}

// As the findings have it: transfers of 1 MB and more, of steps that count.
#define USES \
    " FROM Link l WHERE transit_size>=1 AND transit_time>0" \
    " AND transport_type IN ('HCCS', 'PCIE', 'RDMA', 'SIO')"

static int find_slow_link (sqlite3 *db, struct summary *s, struct err *err)
{
    static const char sql[] =
        "SELECT src_rank, dst_rank, transport_type, total(transit_size),"
        " total(transit_time)" USES " AND NOT EXISTS (SELECT 1 FROM LeftOut o"
        "  WHERE o.rank=l.src_rank AND 'step'||o.step=l.step)"
        " GROUP BY src_rank, dst_rank, transport_type";
    static const char found_sql[] =
        "SELECT rank, peer, value, baseline, (SELECT"
        "  group_concat(DISTINCT transport_type)" USES
        "  AND l.src_rank=f.rank AND l.dst_rank=f.peer) FROM Finding f WHERE"
        " kind='slow_link' ORDER BY effect_ms DESC LIMIT 1";
    struct uses x = { NULL, 0 };
    struct db_rows r = db_rows (db, err, sql);
    int rc;

    while (x.n < LINKS_MAX && db_step (&r))
        r.rc = add_use (&x, r.st);
    rc = db_end (&r);
    if (rc == 0 && x.n > 1)
        pick_link (&x, s);
    free (x.list);
    if (rc == -ENOMEM)
        return err_set (err, ENOMEM, "no memory for the summary");
    return rc == 0 ? summary_each (db, found_sql, row_found_link, s, err) : rc;
}

static int read_all (sqlite3 *db, struct summary *s, struct err *err)
{
    static const struct {
        const char *sql;
        int (*row) (struct summary *s, sqlite3_stmt *st);
    } queries[] = {
        { "SELECT rank, host, expected, state, reason FROM Roster "
          "ORDER BY rank", row_rank },
        { "SELECT name, state, ifnull(reason,'') FROM Capture "
          "WHERE rank IS NULL ORDER BY id", row_capture },
        { "SELECT count(*), min(name), reason FROM Capture WHERE state IN "
          "('complete','superseded') AND reason IS NOT NULL GROUP BY reason "
          "ORDER BY min(id) LIMIT 16", row_remark },
        { "SELECT value FROM Job WHERE key GLOB 'note.*' ORDER BY key",
          row_note },
        { topology_sql, row_topology },
        { "SELECT value FROM Job WHERE key='roster_known_by'", row_known_by },
        { "SELECT key, value FROM Job WHERE key IN ('job', 'assumed', "
          "'other_jobs', 'scheduler_id', 'user', 'command')",
          row_job },
        { "SELECT count(DISTINCT step), count(DISTINCT capture), "
          "group_concat(DISTINCT step) FROM LeftOut WHERE "
          "reason='profiler edge'", row_edges },
        { "SELECT s.*, m.* FROM (SELECT count(DISTINCT step), "
          "min(CAST(step AS INTEGER)), max(CAST(step AS INTEGER)) FROM "
          "StepTraceTime WHERE rank IS NOT NULL) s, (SELECT avg(computing), "
          "avg(communication_not_overlapped), avg(free) FROM StepCounted) m",
          row_steps },
    };
    int rc = finished_fill_in (db, err);

    for (size_t i = 0; i < sizeof (queries) / sizeof (queries[0]) && rc == 0;
         i++)
        rc = summary_each (db, queries[i].sql, queries[i].row, s, err);
    if (rc < 0)
        return rc;
    // not max(rowid): rows of captures that newer ones replace were deleted
    s->rows = db_int (db, "SELECT (SELECT count(*) FROM CommAnalyzerTime)+"
                          "(SELECT count(*) FROM CommAnalyzerBandwidth)+"
                          "(SELECT count(*) FROM CommAnalyzerMatrix)+"
                          "(SELECT count(*) FROM StepTraceTime)", 0);
    if (find_slow_rank (db, s, err) < 0)
        return -EIO;
    return find_slow_link (db, s, err);
}

int summary_read (const char *path, const char *shown, struct summary *ret,
                  struct err *err)
{
    sqlite3 *db = NULL;
    struct stat st;
    int rc;

    memset (ret, 0, sizeof (*ret));
    ret->slow_rank.rank = ret->slow_link.src = ret->slow_link.dst = -1;
    (void)snprintf (ret->path, sizeof (ret->path), "%s", shown);
    if (stat (path, &st) == 0)
        ret->bytes = st.st_size;
    if (db_open (path, SQLITE_OPEN_READONLY, &db) != SQLITE_OK)
        rc = db_error (db, path, err);
    else
        rc = read_all (db, ret, err);
    (void)sqlite3_close (db);
    if (rc < 0)
        summary_fini (ret);
    return rc;
}

int summary_read_back (const char *path, struct summary *ret, struct err *err)
{
    const char *slash = strrchr (path, '/');
    char dir[PATH_MAX], held[TREE_HELD_MAX];
    struct tree above = { .fd = -1 };
    int rc;

    (void)snprintf (dir, sizeof (dir), "%.*s",
                    slash ? (int)(slash - path) : 1, slash ? path : ".");
    if ((rc = tree_open_later (&above, *dir ? dir : "/", 0, err)) == 0 &&
        (rc = tree_hold (&above, slash ? slash + 1 : path, held, err)) == 0)
        rc = summary_read (held, path, ret, err);
    tree_tell (&above, err);
    tree_close (&above);
    return rc;
}

void summary_fini (struct summary *s)
{
    for (size_t i = 0; i < s->nothers; i++)
        free (s->others[i].reason);
    free (s->others);
    for (size_t i = 0; i < s->ncaptures; i++)
        free (s->captures[i]);
    free (s->captures);
    for (size_t i = 0; i < s->nremarks; i++)
        free (s->remarks[i]);
    free (s->remarks);
    memset (s, 0, sizeof (*s));
}
