/* aggregator/compare/compare.c - read two runs and compare their metrics */
#include "compare/compare.h"

#include "base/cmp.h"
#include "base/texts.h"
#include "base/vec.h"
#include "query/finished.h"
#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A metric's name holds the kind and a label.  Labels that only differ behind
 * this length are treated as one.
 */
#define LABEL_MAX 112           // bytes, with the NUL

/* Smaller transfers measure latency rather than bandwidth. */
#define LINK_MB_MIN "1.0"

#define STEP_ROWS(value) \
    "SELECT '', rank, " value ", step FROM StepCounted"

/* How to measure: in each step, once per rank, or in each step of a link.
 * Queries return rows in any order: the label (appended to the name), a rank or
 * link, a value, its step, and for 'sums' what to divide by, or 0.  There, rows
 * of the same label, rank and step are one value; SQLite would sort them by
 * texts.
 */
static const struct {
    const char *name, *unit;
    int better;
    enum { OF_STEPS, OF_RANKS, OF_LINKS } of;
    bool sums;
    const char *sql;
} kinds[] = {
    { "step time", "ms", -1, OF_STEPS, false,
      STEP_ROWS ("(computing+communication_not_overlapped+free)/1e3") },
    { "computing", "ms", -1, OF_STEPS, false, STEP_ROWS ("computing/1e3") },
    { "communication not overlapped", "ms", -1, OF_STEPS, false,
      STEP_ROWS ("communication_not_overlapped/1e3") },
    { "communication overlapped", "ms", 0, OF_STEPS, false,
      STEP_ROWS ("overlapped/1e3") },
    { "free", "ms", -1, OF_STEPS, false, STEP_ROWS ("free/1e3") },
    { "bubble", "ms", -1, OF_STEPS, false, STEP_ROWS ("bubble/1e3") },
    { "ops: ", "ms", -1, OF_STEPS, true,
      "SELECT kind, rank, elapse_time, step, 0 FROM OpTime" },
    { "bandwidth: ", "GB/s", 1, OF_STEPS, true,
      "SELECT transport_type, rank, large_size, step, large_time"
      " FROM TransportTime WHERE transport_type<>'SDMA' AND large_time>0" },
    // one link among many does not show in its rank's median
    { "links: ", "GB/s", 1, OF_LINKS, true,
      "SELECT transport_type, (src_rank<<31)+dst_rank, transit_size, step,"
      " transit_time FROM Link WHERE transport_type<>'SDMA'"
      " AND transit_time>0 AND transit_size>=" LINK_MB_MIN },
    { "memory: ", "MiB", -1, OF_RANKS, false,
      "SELECT component||' '||kind AS label, rank, max(peak), '' FROM"
      " MemoryPeak GROUP BY label, rank" },
};

#define KINDS ((int)(sizeof (kinds) / sizeof (kinds[0])))

static int no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory for the comparison");
}

/* ---- metrics ---- */

/* The metric of a kind and label, created if needed.  NULL if there are too
 * many metrics or without memory (*rc).
 */
static struct compare_metric *metric_of (struct compare *c, int kind,
                                         const char *label, int *rc)
{
    struct compare_metric *m;
    char name[sizeof (m->name)];

    PRINT (name, "%s%s", kinds[kind].name, label);
    for (size_t i = 0; i < c->nmetrics; i++) {
        if (strcmp (c->metrics[i].name, name) == 0)
            return &c->metrics[i];
    }
    if (c->nmetrics == COMPARE_METRICS_MAX) {
        c->dropped++;
        return NULL;
    }
    if (!(m = vec_add (&c->metrics, &c->nmetrics, sizeof (*m)))) {
        *rc = -ENOMEM;
        return NULL;
    }
    m->order = kind;
    PRINT (m->name, "%s", name);
    m->unit = kinds[kind].unit;
    m->better = kinds[kind].better;
    m->stepless = kinds[kind].of == OF_RANKS;
    m->links = kinds[kind].of == OF_LINKS;
    return m;
}

struct value {
    int64_t rank;               // the first key: the values are sorted by it
    uint32_t step, label;
    double v, share;            // part of the step's median; NaN: not > 0
    double over;                // of sums, until they are divided
};

struct reading {
    struct compare *c;
    int run, kind;
    struct texts labels, steps;
    struct value *values;       // of all labels
    size_t n;
    double *room;               // for as many
};

static int by_key (const void *pa, const void *pb)
{
    const struct value *a = pa, *b = pb;

    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

static bool is_same_key (const struct value *a, const struct value *b)
{
    return by_key (a, b) == 0;
}

/* Add up the sorted rows of each label, rank and step. */
static void add_up (struct reading *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        if (n > 0 && is_same_key (&r->values[n - 1], &r->values[i])) {
            r->values[n - 1].v += r->values[i].v;
            r->values[n - 1].over += r->values[i].over;
        } else {
            r->values[n++] = r->values[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (r->values[i].over > 0)
            r->values[i].v /= r->values[i].over;
    }
    r->n = n;
}

static int by_step (const void *pa, const void *pb)
{
    const struct value *a = pa, *b = pb;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->v > b->v) - (a->v < b->v);
}

static void find_shares (struct value *values, size_t n, double *room)
{
    qsort (values, n, sizeof (*values), by_step);
    for (size_t i = 0, end; i < n; i = end) {
        double middle;

        for (end = i; end < n && values[end].step == values[i].step; end++)
            room[end - i] = values[end].v;
        middle = spread_median (room, end - i);
        for (size_t k = i; k < end; k++)
            values[k].share = middle > 0 ? values[k].v / middle : (double)NAN;
    }
}

/* Add values[0..n), which belong to one rank. */
static struct compare_rank rank_of (const struct value *values, size_t n,
                                    double *room)
{
    struct compare_rank r = { .rank = values[0].rank };
    size_t shares = 0;

    for (size_t i = 0; i < n; i++)
        room[i] = values[i].v;
    r.s = spread_of (room, n);
    for (size_t i = 0; i < n; i++) {
        if (isfinite (values[i].share))
            room[shares++] = values[i].share;
    }
    r.share = spread_of (room, shares);
    return r;
}

/* Add the n values of a label to its metric. */
static int take_label (struct reading *r, struct value *values, size_t n)
{
    const char *label = texts_at (&r->labels, values->label);
    struct compare_metric *m;
    struct compare_series *s;
    int rc = 0;

    if (!(m = metric_of (r->c, r->kind, label, &rc)))
        return rc;
    s = &m->runs[r->run];
    if (!(s->ranks = calloc (n, sizeof (*s->ranks))))
        return -ENOMEM;
    find_shares (values, n, r->room);
    qsort (values, n, sizeof (*values), cmp_int64);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && values[end].rank == values[i].rank;)
            end++;
        s->ranks[s->n++] = rank_of (values + i, end - i, r->room);
    }
    return 0;
}

static int take_labels (struct reading *r)
{
    int rc = 0;

    qsort (r->values, r->n, sizeof (*r->values), by_key);
    if (kinds[r->kind].sums)
        add_up (r);
    if (!(r->room = malloc (r->n * sizeof (*r->room))))
        return -ENOMEM;
    for (size_t i = 0, end; i < r->n && rc == 0; i = end) {
        for (end = i; end < r->n && r->values[end].label == r->values[i].label;)
            end++;
        rc = take_label (r, r->values + i, end - i);
    }
    return rc;
}

static int add_row (struct reading *r, sqlite3_stmt *st)
{
    bool sums = kinds[r->kind].sums;
    const char *label, *step;
    struct value one = { .share = (double)NAN };

    db_columns (st, label, one.rank, one.v, step);
    if (sums)
        one.over = sqlite3_column_double (st, 4);
    if (!label || sqlite3_column_type (st, 1) == SQLITE_NULL ||
        sqlite3_column_type (st, 2) == SQLITE_NULL || !isfinite (one.v))
        return 0;
    one.label = texts_intern (&r->labels, label,
                              strnlen (label, LABEL_MAX - 1));
    one.step = texts_intern (&r->steps, step ? step : "",
                             step ? strlen (step) : 0);
    if (one.label == TEXTS_NONE || one.step == TEXTS_NONE)
        return -ENOMEM;
    return vec_push (&r->values, &r->n, &one, sizeof (one));
}

static int read_kind (struct compare *c, sqlite3 *db, int run, int kind,
                      struct err *err)
{
    struct reading x = { .c = c, .run = run, .kind = kind };
    struct db_rows r = db_rows (db, err, kinds[kind].sql);
    int rc;

    while (db_step (&r))
        r.rc = add_row (&x, r.st) < 0 ? no_memory (err) : 0;
    if ((rc = db_end (&r)) == 0 && x.n > 0 && take_labels (&x) < 0)
        rc = no_memory (err);
    texts_fini (&x.labels);
    texts_fini (&x.steps);
    free (x.values);
    free (x.room);
    return rc;
}

/* ---- what the runs are ---- */

static int read_run (struct compare_run *r, sqlite3 *db, struct err *err)
{
    int rc = db_one (db_rows (db, err,
        "SELECT (SELECT count(*) FROM Roster WHERE expected),"
        " (SELECT count(*) FROM Roster WHERE expected AND state='present'),"
        " count(DISTINCT step), min(CAST(step AS INTEGER)),"
        " max(CAST(step AS INTEGER)) FROM StepTraceTime"), r->world,
        r->present, r->steps, r->first_step, r->last_step);

    return rc < 0 ? rc : 0;
}

/* The ranks with anything to compare, in one run or both; 'db' has B attached.
 */
static int read_ranks (struct compare *c, sqlite3 *db, struct err *err)
{
    struct db_rows r = db_rows (db, err,
        "SELECT rank, sum(run)-1 FROM"
        " (SELECT rank, 1 AS run FROM main.Roster WHERE state IN"
        "  ('present','partial') UNION ALL SELECT rank, 2 FROM b.Roster"
        "  WHERE state IN ('present','partial')) GROUP BY rank ORDER BY rank");
    int64_t rank;
    int where;

    while (db_row (&r, rank, where)) {
        if (where >= 2)
            c->both++;
        else if (vec_push (&c->only[where], &c->nonly[where], &rank,
                           sizeof (rank)) < 0)
            r.rc = no_memory (err);
    }
    return db_end (&r);
}

/* ---- settings ---- */

static char *compare_copy (sqlite3_stmt *st, int i)
{
    const char *text = (const char *)sqlite3_column_text (st, i);

    return text ? strdup (text) : NULL;
}

static int add_setting (struct compare *c, sqlite3_stmt *st)
{
    struct compare_setting *s = vec_add (&c->settings, &c->nsettings,
                                         sizeof (*s));

    if (!s)
        return -ENOMEM;
    *s = (struct compare_setting){ compare_copy (st, 0), compare_copy (st, 1),
                                  compare_copy (st, 2),
                                   compare_copy (st, 3),
                                  sqlite3_column_int64 (st, 4) };
    return s->kind && s->name ? 0 : -ENOMEM;
}

// Rows of one run that are not in the same place in the other one.
#define MOVED(x, y) \
    "SELECT x.kind, x.name FROM " x ".CaptureInfo x LEFT JOIN " y \
    ".CaptureInfo y ON y.rowid=x.rowid WHERE (x.rank, x.kind, x.name, x.value)" \
    " IS NOT (y.rank, y.kind, y.name, y.value)"

/* Settings that differ between any two runs are left out: clocks, sessions,
 * sums of times.  Equal captures have equal rowids, so what is to be sorted is
 * little.
 */
static const char settings_sql[] =
    "WITH moved AS MATERIALIZED (" MOVED ("main", "b") " UNION "
    MOVED ("b", "main") "),"
    " s AS (SELECT DISTINCT run, rank, kind, name, value FROM"
    " (SELECT 1 AS run, rank, kind, name, value FROM main.CaptureInfo UNION ALL"
    "  SELECT 2, rank, kind, name, value FROM b.CaptureInfo)"
    " WHERE kind NOT IN ('clock','session','breakdown','threads','host')"
    "  AND name<>'trace_id' AND (kind, name) IN moved ORDER BY value),"
    " r AS (SELECT rank, kind, name,"
    "  group_concat(value,' | ') FILTER (WHERE run=1) AS a,"
    "  group_concat(value,' | ') FILTER (WHERE run=2) AS b"
    "  FROM s GROUP BY rank, kind, name)"
    "SELECT kind, name, min(a), min(b), count(*) FROM r WHERE a IS NOT b"
    " AND rank IN (SELECT rank FROM main.CaptureInfo)"
    " AND rank IN (SELECT rank FROM b.CaptureInfo)"
    " GROUP BY kind, name ORDER BY kind, name";

static int read_settings (struct compare *c, sqlite3 *db, struct err *err)
{
    struct db_rows r = db_rows (db, err, settings_sql);

    while (db_step (&r))
        r.rc = add_setting (c, r.st) < 0 ? no_memory (err) : 0;
    return db_end (&r);
}

/* ---- all of it ---- */

static int by_order (const void *pa, const void *pb)
{
    const struct compare_metric *a = pa, *b = pb;

    return a->order != b->order ? a->order - b->order
                                : strcmp (a->name, b->name);
}

static void judge_all (struct compare *c, double floor_percent)
{
    if (c->nmetrics > 1)
        qsort (c->metrics, c->nmetrics, sizeof (*c->metrics), by_order);
    for (size_t i = 0; i < c->nmetrics; i++) {
        struct compare_metric *m = &c->metrics[i];

        compare_judge (m, floor_percent);
        if (m->order == 0)
            c->steps_tell = m->verdict != COMPARE_UNKNOWN;
        c->different += m->noutliers;
        c->different += compare_counts (m);
    }
}

static int read_both (struct compare *c, sqlite3 *const dbs[2],
                      struct err *err)
{
    int rc = 0;

    for (int run = 0; run < 2 && rc == 0; run++) {
        rc = read_run (&c->runs[run], dbs[run], err);
        for (int k = 0; k < KINDS && rc == 0; k++)
            rc = read_kind (c, dbs[run], run, k, err);
    }
    if (rc == 0)
        rc = db_execf (dbs[0], err, "ATTACH %Q AS b", c->runs[1].path);
    if (rc == 0)
        rc = read_ranks (c, dbs[0], err);
    return rc == 0 ? read_settings (c, dbs[0], err) : rc;
}

int compare_read (const char *a, const char *b, double floor_percent,
                  struct compare *ret, struct err *err)
{
    const char *paths[2] = { a, b };
    sqlite3 *dbs[2] = { NULL, NULL };
    int rc = 0;

    memset (ret, 0, sizeof (*ret));
    for (int run = 0; run < 2 && rc == 0; run++) {
        (void)snprintf (ret->runs[run].path, PATH_MAX, "%s", paths[run]);
        rc = finished_open_analysis (paths[run], &dbs[run], err);
    }
    if (rc == 0)
        rc = read_both (ret, dbs, err);
    for (int run = 0; run < 2; run++)
        rc = finished_judge (dbs[run], rc, err);
    if (rc == 0)
        judge_all (ret, floor_percent);
    (void)sqlite3_close (dbs[0]);
    (void)sqlite3_close (dbs[1]);
    if (rc < 0)
        compare_fini (ret);
    return rc;
}

void compare_fini (struct compare *c)
{
    for (size_t i = 0; i < c->nmetrics; i++) {
        free (c->metrics[i].runs[0].ranks);
        free (c->metrics[i].runs[1].ranks);
    }
    free (c->metrics);
    for (size_t i = 0; i < c->nsettings; i++) {
        free (c->settings[i].kind);
        free (c->settings[i].name);
        free (c->settings[i].a);
        free (c->settings[i].b);
    }
    free (c->settings);
    free (c->only[0]);
    free (c->only[1]);
    memset (c, 0, sizeof (*c));
}
