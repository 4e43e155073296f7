/* aggregator/html_page/page_ranks.c - ranks of a page: place, time, memory */
#include "html_page/page_parts.h"

#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MEMORY_KINDS_MAX "12"

/* The times of StepTraceTime, in us, become ms, in the order of the query
 * below.
 */
static const char *const times[] = {
    "computing", "communication", "overlapped", "free", "bubble", "preparing",
};

#define TIMES (sizeof (times) / sizeof (times[0]))

static const char times_sql[] =
    "SELECT r.place, s.place, avg(t.computing)/1e3,"
    " avg(t.communication_not_overlapped)/1e3, avg(t.overlapped)/1e3,"
    " avg(t.free)/1e3, avg(t.bubble)/1e3, avg(t.preparing)/1e3"
    " FROM StepTraceTime t JOIN temp.page_rank r ON r.rank=t.rank"
    " JOIN temp.page_step s ON s.step=ifnull(t.step, '') GROUP BY 1, 2";

static const char places_sql[] =
    "SELECT min(p.rank) AS first, max(p.rank) AS last, min(r.host) AS host,"
    " count(DISTINCT r.host) AS hosts, min(r.state) AS state"
    " FROM temp.page_rank p JOIN Roster r ON r.rank=p.rank"
    " GROUP BY p.place ORDER BY p.place";

static const char steps_sql[] =
    "SELECT min(CAST(step AS INTEGER)) AS first,"
    " max(CAST(step AS INTEGER)) AS last, count(*) AS n,"
    " max(step='') AS unnamed FROM temp.page_step GROUP BY place"
    " ORDER BY place";

/* Append the names of the numbers that follow. */
static void put_fold (struct page *p)
{
    struct json_out *j = &p->json;

    json_out_open_of (j, "fold", '{');
    json_out_int_of (j, "ranks", p->fold.ranks);
    json_out_int_of (j, "steps", p->fold.steps);
    json_out_int_of (j, "by_host", p->fold.by_host);
    json_out_close (j, '}');
}

/* Append all numbers of one kind, by place and, within a place, by step. */
static void put_times (struct json_out *j, const double *all, size_t kind,
                       size_t n)
{
    json_out_open_of (j, times[kind], '[');
    for (size_t i = 0; i < n; i++)
        page_json_real (j, all[i * TIMES + kind]);
    json_out_close (j, ']');
}

/* all[n * TIMES] by place of rank, place of step, kind. */
static int read_times (struct page *p, double *all, size_t n, struct err *err)
{
    struct db_rows r = db_rows (p->db, err, times_sql);
    int64_t rank, step;

    while (db_row (&r, rank, step)) {
        size_t at = (size_t)(rank * p->fold.step_places + step);

        for (size_t i = 0; i < TIMES && at < n; i++) {
            if (sqlite3_column_type (r.st, (int)i + 2) != SQLITE_NULL)
                all[at * TIMES + i] = sqlite3_column_double (r.st, (int)i + 2);
        }
    }
    return db_end (&r);
}

int page_ranks (struct page *p, struct err *err)
{
    size_t n = (size_t)(p->fold.rank_places * p->fold.step_places);
    double *all = malloc ((n * TIMES + 1) * sizeof (*all));
    int rc;

    if (!all)
        return err_set (err, ENOMEM, "no memory for the report");
    for (size_t i = 0; i < n * TIMES; i++)
        all[i] = NAN;
    put_fold (p);
    rc = page_json_rows (&p->json, p->db, "places", places_sql, err);
    if (rc == 0)
        rc = page_json_rows (&p->json, p->db, "steps", steps_sql, err);
    if (rc == 0)
        rc = read_times (p, all, n, err);
    json_out_open_of (&p->json, "times", '{');
    for (size_t i = 0; i < TIMES && rc == 0; i++)
        put_times (&p->json, all, i, n);
    json_out_close (&p->json, '}');
    free (all);
    return rc;
}

int page_memory (struct page *p, struct err *err)
{
    static const char sql[] =
        "WITH kinds AS (SELECT component, kind, max(peak) AS most FROM"
        "  MemoryPeak GROUP BY 1, 2 ORDER BY 3 DESC LIMIT " MEMORY_KINDS_MAX ")"
        " SELECT r.place, m.component, m.kind, max(m.peak) AS peak"
        " FROM MemoryPeak m JOIN kinds k ON k.component IS m.component AND"
        " k.kind IS m.kind JOIN temp.page_rank r ON r.rank=m.rank"
        " GROUP BY 2, 3, 1";

    return page_json_rows (&p->json, p->db, "memory", sql, err);
}
