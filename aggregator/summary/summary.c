/* aggregator/summary/summary.c - read the summary from analysis.db */
#include "summary/summary.h"

#include "base/units.h"
#include "base/vec.h"
#include "findings/median.h"
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

/* Run a query and call 'row' for each of its rows. */
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
    if (!(p = vec_add (&s->others, &s->nothers, sizeof (*p))))
        return -ENOMEM;
    db_columns (st, p->rank, p->host);
    PRINT (p->state, "%s", state);
    p->reason = *reason ? strdup (reason) : NULL;
    if (p->reason)
        err_plain (p->reason);
    return 0;
}

static int row_capture (struct summary *s, sqlite3_stmt *st)
{
    return vec_print_text (&s->captures, &s->ncaptures, "%s: %s: %s",
                           db_text (st, 0), db_text (st, 1), db_text (st, 2));
}

static int row_remark (struct summary *s, sqlite3_stmt *st)
{
    int64_t n = sqlite3_column_int64 (st, 0);

    return n == 1 ? vec_print_text (&s->remarks, &s->nremarks,
                                    "capture %s: %s", db_text (st, 1),
                                    db_text (st, 2))
                  : vec_print_text (&s->remarks, &s->nremarks,
                                    "%lld captures, e.g. %s: %s", (long long)n,
                                    db_text (st, 1), db_text (st, 2));
}

static int row_edges (struct summary *s, sqlite3_stmt *st)
{
    int64_t steps = sqlite3_column_int64 (st, 0);
    int64_t captures = sqlite3_column_int64 (st, 1);
    const char *them = steps > 1 ? "them" : "it";

    if (steps == 0)
        return 0;
    return vec_print_text (&s->remarks, &s->nremarks, "step%s %.200s of %lld "
                           "capture%s: profiling itself lengthened %s, so "
                           "means and findings leave %s out (--all-steps keeps "
                           "%s)", steps > 1 ? "s" : "", db_text (st, 2),
                           (long long)captures, units_s ((uint64_t)captures),
                           them, them, them);
}

/* The sums by switch and rack leave these hosts out; the remark names a few. */
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

    if (unnamed == 0)
        return 0;
    if (unnamed == hosts)
        return vec_print_text (&s->remarks, &s->nremarks, "the topology names "
                               "none of the hosts, so nothing is summed by "
                               "switch: %s", db_text (st, 2));
    return vec_print_text (&s->remarks, &s->nremarks, "the topology does not "
                           "name %lld of %lld host%s: %s", (long long)unnamed,
                           (long long)hosts, units_s ((uint64_t)hosts),
                           db_text (st, 2));
}

static int row_note (struct summary *s, sqlite3_stmt *st)
{
    return vec_print_text (&s->remarks, &s->nremarks, "%s", db_text (st, 0));
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

static const char slow_rank_sql[] =
    "WITH r AS MATERIALIZED (SELECT rank, ifnull(avg(computing),0) AS us FROM"
    "  StepCounted GROUP BY rank)"
    " SELECT count(*) OVER (), (SELECT median(us) FROM r), rank, us FROM r"
    " ORDER BY us DESC, rank DESC LIMIT 1";

static int row_slow_rank (struct summary *s, sqlite3_stmt *st)
{
    int64_t ranks, rank;
    double median, us;

    db_columns (st, ranks, median, rank, us);
    if (ranks < 2)
        return 0;
    s->ranks_compared = (size_t)ranks;
    if (us > median * (1 + SUMMARY_RANK_PERCENT / 100.0)) {
        s->slow_rank.rank = rank;
        s->slow_rank.computing_us = us;
        s->slow_rank.median_us = median;
    }
    return 0;
}

// The findings use the same filter: transfers of at least 1 MB, in steps that
// count.
#define USES \
    " FROM Link l WHERE transit_size>=1 AND transit_time>0" \
    " AND transport_type IN ('HCCS', 'PCIE', 'RDMA', 'SIO')"

/* Select the link that is slowest relative to the time that it would take at
 * the median bandwidth of each of its transports.  MB per ms is GB/s.
 */
static const char slow_link_sql[] =
    "WITH u AS MATERIALIZED (SELECT src_rank AS src, dst_rank AS dst,"
    "  transport_type AS via, total(transit_size) AS mb,"
    "  total(transit_time) AS ms" USES " AND NOT EXISTS (SELECT 1 FROM LeftOut o"
    "   WHERE o.rank=l.src_rank AND 'step'||o.step=l.step) GROUP BY 1, 2, 3),"
    " m AS MATERIALIZED (SELECT via, median(mb/ms) AS gbps FROM u GROUP BY via)"
    " SELECT (SELECT count(*) FROM u), count(*) OVER (), src, dst, mb/ms,"
    "  mb/want, vias, want/ms AS part FROM (SELECT src, dst, sum(mb) AS mb,"
    "   sum(ms) AS ms, sum(mb/gbps) AS want, group_concat(via) AS vias FROM"
    "   (SELECT * FROM u JOIN m USING (via) ORDER BY src, dst, via)"
    "   GROUP BY src, dst) ORDER BY part, src, dst LIMIT 1";

static int row_slow_link (struct summary *s, sqlite3_stmt *st)
{
    int64_t uses, links;
    double part = sqlite3_column_double (st, 7);

    db_columns (st, uses, links);
    if (uses < 2)
        return 0;
    s->links_compared = (size_t)links;
    if (part < 1 - SUMMARY_LINK_PERCENT / 100.0) {
        s->slow_link.src = sqlite3_column_int64 (st, 2);
        s->slow_link.dst = sqlite3_column_int64 (st, 3);
        s->slow_link.gbps = sqlite3_column_double (st, 4);
        s->slow_link.median_gbps = sqlite3_column_double (st, 5);
        PRINT (s->slow_link.transport, "%s", db_text (st, 6));
    }
    return 0;
}

/* If a finding names a link, show that one with the finding's numbers.  Its
 * median covers only links of the same kind, see doc/findings.md.
 */
static int row_found_link (struct summary *s, sqlite3_stmt *st)
{
    db_columns (st, s->slow_link.src, s->slow_link.dst, s->slow_link.gbps,
                s->slow_link.median_gbps, s->slow_link.transport);
    return 0;
}

static const char found_link_sql[] =
    "SELECT rank, peer, value, baseline, (SELECT"
    "  group_concat(DISTINCT transport_type)" USES
    "  AND l.src_rank=f.rank AND l.dst_rank=f.peer) FROM Finding f WHERE"
    " kind='slow_link' ORDER BY effect_ms DESC LIMIT 1";

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
        { slow_rank_sql, row_slow_rank },
        { slow_link_sql, row_slow_link },
        { found_link_sql, row_found_link },
    };
    int rc = median_register (db, err);

    for (size_t i = 0; i < sizeof (queries) / sizeof (queries[0]) && rc == 0;
         i++)
        rc = summary_each (db, queries[i].sql, queries[i].row, s, err);
    // not max(rowid): rows of replaced captures were deleted
    s->rows = db_int (db, "SELECT (SELECT count(*) FROM CommAnalyzerTime)+"
                          "(SELECT count(*) FROM CommAnalyzerBandwidth)+"
                          "(SELECT count(*) FROM CommAnalyzerMatrix)+"
                          "(SELECT count(*) FROM StepTraceTime)",
                      db_int (db, "SELECT (SELECT count(*) FROM StepTraceTime)"
                              "+sum(time_rows+bandwidth_rows+matrix_rows) FROM"
                              " Part", 0));
    s->bytes += db_int (db, "SELECT sum(bytes) FROM Part", 0);
    return rc;
}

/* They will be printed on a terminal. */
static void make_plain (char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        err_plain (texts[i]);
}

int summary_read (const char *path, const char *shown, struct summary *ret,
                  struct err *err)
{
    sqlite3 *db = NULL;
    struct stat st;
    int rc;

    memset (ret, 0, sizeof (*ret));
    ret->slow_rank.rank = ret->slow_link.src = ret->slow_link.dst = -1;
    PRINT (ret->path, "%s", shown);
    if (stat (path, &st) == 0)
        ret->bytes = st.st_size;
    if (db_open (path, SQLITE_OPEN_READONLY, &db) != SQLITE_OK)
        rc = db_error (db, path, err);
    else
        rc = read_all (db, ret, err);
    make_plain (ret->captures, ret->ncaptures);
    make_plain (ret->remarks, ret->nremarks);
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

    PRINT (dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
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
    vec_free_texts (s->captures, s->ncaptures);
    vec_free_texts (s->remarks, s->nremarks);
    memset (s, 0, sizeof (*s));
}
