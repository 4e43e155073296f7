/* aggregator/waits/wait.c - who waited for whom */
#include "waits/wait.h"

#include "model/schema.h"
#include "pages/page_scan.h"
#include "sums/members.h"
#include "sums/row_values.h"
#include "sums/traffic.h"
#include "store/db_rows.h"
#include "waits/arrivals.h"
#include "waits/undeclared.h"
#include "waits/wait_sums.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KINDS 64                // op names that are cached
#define GROUPS 16               // groups of a rank that are cached
#define OP_MAX 1024             // significant bytes of an op's name
#define AFTER_1970_US 1e12      // unknown times are 0; start times without a
                                // clock must not be taken for these

struct deriver {
    sqlite3 *db;
    const atomic_bool *cancel;
    const struct select_item *items;
    size_t nitems;
    struct members *members;
    struct arrivals *arrivals;
    struct texts steps;
    struct wait_sums *pairs;
    struct clock_skew *skew;
    struct row_values waits;    // only for rows of traces
    struct undeclared_clock *clocks;    // one per item
    double *wait_ms;            // of one op
    size_t room;
    int64_t by_start, by_elapse;        // ops of complete sets, by rule
    int64_t incomplete, ambiguous, guessed;
    uint64_t dropped;
    // cached from the last row
    int64_t capture, rank;      // rank -1: the capture does not count
    bool trace;
    double ahead_us;            // its clock's offset, to be subtracted
    uint32_t step;
    char step_text[64];
    size_t step_size;           // SIZE_MAX: the text was too long
    unsigned capture_column;
    struct {
        char name[CAPTURE_HASH_MAX];    // "": none
        uint32_t group, size;
    } groups[GROUPS];           // of the rank of 'capture'
    struct {
        uint64_t hash;
        bool mutual;
    } kinds[KINDS];
};

static bool is_trace (const struct deriver *d, int64_t capture)
{
    return capture >= 1 && (uint64_t)capture <= d->nitems &&
           strcmp (d->items[capture - 1].capture.framework, "kineto") == 0;
}

static bool any_trace (const struct deriver *d)
{
    for (size_t i = 0; i < d->nitems; i++) {
        if (!d->items[i].skip && is_trace (d, (int64_t)i + 1))
            return true;
    }
    return false;
}

/* ---- rows ---- */

/* Most rows have the same step as the row before. */
static uint32_t step_of (struct deriver *d, const struct page_scan *p)
{
    size_t n;
    const char *text = page_scan_text (p, TIME_STEP, &n);

    if (d->step != TEXTS_NONE && n == d->step_size &&
        (n == 0 || memcmp (text, d->step_text, n) == 0))
        return d->step;
    d->step_size = n < sizeof (d->step_text) ? n : SIZE_MAX;
    if (n > 0 && n < sizeof (d->step_text))
        memcpy (d->step_text, text, n);
    d->step = texts_intern (&d->steps, n > 0 ? text : "", n);
    return d->step;
}

/* A rank has some groups, and thousands of ops in each.  Traces need not name a
 * group: an op that all ranks have may belong to the world's, see take_op.
 */
static uint32_t group_of (struct deriver *d, const struct page_scan *p,
                          uint32_t *size)
{
    size_t n;
    const char *name = page_scan_text (p, TIME_GROUP, &n);
    unsigned i = n > 0 ? (unsigned)(name[n - 1] + 5 * name[n / 2]) % GROUPS : 0;

    if (n == 0)
        return d->trace ? members_world (d->members, size) : 0;
    if (n >= CAPTURE_HASH_MAX)
        return 0;
    if (strlen (d->groups[i].name) != n ||
        memcmp (d->groups[i].name, name, n) != 0) {
        memcpy (d->groups[i].name, name, n);
        d->groups[i].name[n] = '\0';
        d->groups[i].group = members_group (d->members, name, n, d->rank,
                                            &d->groups[i].size);
    }
    *size = d->groups[i].size;
    return d->groups[i].group;
}

static void begin_capture (struct deriver *d, int64_t capture)
{
    d->capture = capture;
    d->trace = is_trace (d, capture);
    d->rank = capture >= 1 && (uint64_t)capture <= d->nitems
                  ? d->items[capture - 1].rank : -1;
    if (d->rank >= CAPTURE_WORLD_MAX ||
        (d->rank >= 0 && d->items[capture - 1].doubt))
        d->rank = -1;
    d->ahead_us = 0;
    if (d->rank >= 0 && !isnan (d->clocks[capture - 1].offset_ms))
        d->ahead_us = d->clocks[capture - 1].offset_ms * 1000 - AFTER_1970_US;
    for (unsigned i = 0; i < GROUPS; i++)
        d->groups[i].name[0] = '\0';
}

/* A job has a dozen kinds of ops and millions of ops. */
static bool is_mutual (struct deriver *d, const char *op, size_t n)
{
    const char *end = memchr (op, '_', n);
    size_t size;
    uint64_t hash;
    unsigned i;

    while (end && end[1] != '_')
        end = memchr (end + 1, '_', n - (size_t)(end + 1 - op));
    size = end ? (size_t)(end - op) : n;
    hash = texts_hash (op, size);
    i = hash % KINDS;

    if (d->kinds[i].hash != hash) {
        d->kinds[i].hash = hash;
        d->kinds[i].mutual = arrival_is_mutual (op, n);
    }
    return d->kinds[i].mutual;
}

/* An impossible time counts as none: then the op is incomplete. */
static bool is_usable (double start_us, double elapse_ms)
{
    return isfinite (start_us) && isfinite (elapse_ms) && elapse_ms >= 0 &&
           fabs (start_us) < 1e18 && elapse_ms < 1e12;
}

/* Copy a name, NUL-terminated; long names are cut. */
static size_t copy_op (const struct page_scan *p, char op[OP_MAX])
{
    size_t n;
    const char *text = page_scan_text (p, TIME_OP, &n);

    n = n < OP_MAX ? n : OP_MAX - 1;
    if (n > 0)
        memcpy (op, text, n);
    op[n] = '\0';
    return n;
}

/* Read the needed columns of a row; false if the row is of no use here. */
static bool read_row (struct deriver *d, const struct page_scan *p,
                      struct arrival *a)
{
    char op[OP_MAX];
    const char *type;
    size_t n = copy_op (p, op), ntype;

    type = page_scan_text (p, TIME_TYPE, &ntype);
    a->p2p = type && *type == 'p';
    if (n == 0 || !is_mutual (d, op, n) ||
        !(a->group = group_of (d, p, &a->size)) ||
        (a->p2p && a->size != 2))       // the pair is not known
        return false;
    a->row = p->rowid;
    a->rank = (uint32_t)d->rank & 0xffffff;
    a->by_start = d->trace;
    a->guessed = d->trace && !page_scan_text (p, TIME_GROUP, &ntype);
    a->key = arrival_key (op, n, a->p2p);
    a->start_us = page_scan_real (p, TIME_START);
    if (isnan (a->start_us) && !d->trace)
        a->start_us = 0;                // elapse times are enough
    a->start_us -= d->ahead_us;
    a->elapse_ms = page_scan_real (p, TIME_ELAPSE);
    return is_usable (a->start_us, a->elapse_ms);
}

static int take_row (struct deriver *d, const struct page_scan *p,
                     struct err *err)
{
    int64_t capture = page_scan_int (p, d->capture_column, 0);
    struct arrival a = { .key = 0 };
    int rc = d->waits.by_row ? row_values_add (&d->waits, p->rowid, err) : 0;

    if (capture != d->capture)
        begin_capture (d, capture);
    if (rc < 0 || d->rank < 0 || !read_row (d, p, &a))
        return rc;
    if ((a.step = step_of (d, p)) == TEXTS_NONE)
        return err_set (err, ENOMEM, "no memory for steps");
    return arrivals_add (d->arrivals, &a, err);
}

static int take_rows (struct deriver *d, struct err *err)
{
    const struct table *t = schema_table (TABLE_TIME);
    struct page_source *source = NULL;
    struct page_scan p;
    uint32_t root = 0;
    int rc = page_source_of (d->db, d->cancel, &source, err);

    d->capture_column = t->ncolumns + 1;
    if (rc == 0)
        rc = page_source_root (source, t->name, &root, err);
    if (rc == 0) {
        rc = page_scan_begin (&p, source, root, INT64_MIN, INT64_MAX, err);
        while (rc == 0 && (rc = page_scan_next (&p, err)) == 1)
            rc = take_row (d, &p, err);
        page_scan_end (&p);
    }
    page_source_close (source);
    return rc;
}

/* ---- ops ---- */

static int make_room (struct deriver *d, size_t n, struct err *err)
{
    double *p = n > d->room ? realloc (d->wait_ms, n * sizeof (*p))
                            : d->wait_ms;

    if (!p)
        return err_set (err, ENOMEM, "no memory for waits");
    d->wait_ms = p;
    d->room = n > d->room ? n : d->room;
    return 0;
}

/* Unknown times are 0. */
static bool has_starts (const struct arrival *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(a[i].start_us > 0))
            return false;
    }
    return true;
}

/* Process one op, with the rows of all ranks that have it. */
static int take_op (void *arg, const struct arrival *a, size_t n,
                    struct err *err)
{
    struct deriver *d = arg;
    enum arrival_set set = arrival_judge (a, n);
    bool by_start;
    size_t late;
    int rc;

    d->incomplete += set == ARRIVAL_INCOMPLETE;
    d->ambiguous += set == ARRIVAL_AMBIGUOUS;
    if (set != ARRIVAL_WHOLE)
        return 0;
    if ((rc = make_room (d, n, err)) < 0)
        return rc;
    by_start = arrival_by_start (a, n);
    if (a->guessed && !(by_start && arrival_fits (a, n))) {
        d->ambiguous++;
        return 0;
    }
    d->guessed += a->guessed;
    late = arrival_wait (a, n, d->wait_ms);
    d->by_start += by_start;
    d->by_elapse += !by_start;
    if (has_starts (a, n))
        rc = clock_skew_add (d->skew, a, n, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct wait_sum one = { a->step, a->group, a[late].rank,
                                     a[i].rank,
                                      1, d->wait_ms[i] };

        if (by_start)
            row_values_set (&d->waits, a[i].row, d->wait_ms[i]);
        if (i != late)
            rc = wait_sums_add (d->pairs, &one, err);
    }
    return rc;
}

/* ---- what Job and CaptureInfo say ---- */

static int say_count (sqlite3_stmt *st, const char *key, int64_t n,
                      struct err *err)
{
    char text[24];

    (void)snprintf (text, sizeof (text), "%lld", (long long)n);
    return n > 0 ? db_put (st, err, key, text) : 0;
}

static int say_job (struct deriver *d, struct err *err)
{
    double ends = clock_skew_of_ends (d->skew);
    sqlite3_stmt *st = NULL;
    char text[40];
    int rc = db_prepare (d->db, "INSERT OR REPLACE INTO Job VALUES (?1, ?2)",
                         &st, err);

    if (rc == 0 && d->by_start + d->by_elapse > 0)
        rc = db_put (st, err, "wait_rule",
                     d->by_elapse == 0  ? "latest start"
                     : d->by_start == 0 ? "shortest elapse"
                                        : "latest start of traces, shortest "
                                          "elapse of others");
    if (rc == 0)
        rc = say_count (st, "wait_ops", d->by_start + d->by_elapse, err);
    if (rc == 0)
        rc = say_count (st, "wait_ops_incomplete", d->incomplete, err);
    if (rc == 0)
        rc = say_count (st, "wait_ops_ambiguous", d->ambiguous, err);
    if (rc == 0)
        rc = say_count (st, "wait_ops_without_group", d->guessed, err);
    if (rc == 0)
        rc = say_count (st, "wait_rows_dropped", (int64_t)d->dropped, err);
    if (rc == 0 && !isnan (ends)) {
        (void)snprintf (text, sizeof (text), "%.6f", ends);
        rc = db_put (st, err, "clock_end_skew_ms", text);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* Write a number about a rank's clock to the last of its captures that counts.
 */
static int say_clock (const struct deriver *d, sqlite3_stmt *st, size_t i,
                      const char *name, double ms, struct err *err)
{
    char text[40];

    if (isnan (ms))
        return 0;
    (void)snprintf (text, sizeof (text), "%.6f", ms);
    return db_put (st, err, name, text, d->items[i].rank, i + 1);
}

static int say_clocks (struct deriver *d, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (d->db, "INSERT INTO CaptureInfo (kind, name, value, "
                                "rank, capture) VALUES ('clock', ?1, ?2, ?3, "
                                "?4)", &st, err);

    for (size_t i = 0; i < d->nitems && rc == 0; i++) {
        const struct select_item *item = &d->items[i];

        if (item->rank < 0 ||
            (i + 1 < d->nitems && d->items[i + 1].rank == item->rank))
            continue;
        rc = say_clock (d, st, i, "offset_ms",
                        clock_skew_of (d->skew, (uint32_t)item->rank), err);
        if (rc == 0)
            rc = say_clock (d, st, i, "residue_ms",
                            clock_skew_residue (d->skew, (uint32_t)item->rank),
                            err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* Write what was corrected in clocks. */
static int tell_skew (struct deriver *d, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < d->nitems && rc == 0; i++) {
        const struct undeclared_clock *c = &d->clocks[i];

        if (!isnan (c->offset_ms))
            rc = clock_skew_put_right (d->skew, (uint32_t)d->items[i].rank,
                                       c->offset_ms, c->residue_ms, err);
    }
    return rc;
}

/* ---- all of it ---- */

static int wait_create (struct deriver *d, const char *temp, struct err *err)
{
    int64_t rows = db_int (d->db, "SELECT count(*) FROM CommAnalyzerTime", 0);
    char path[PATH_MAX];
    int rc = 0;

    if (!(d->clocks = calloc (d->nitems + 1, sizeof (*d->clocks))))
        return err_set (err, ENOMEM, "no memory for waits");
    rc = undeclared_settle (d->db, d->items, d->nitems, d->clocks, err);
    if (rc == 0)
        rc = members_read (d->db, false, &d->members, err);
    d->pairs = wait_sums_create (d->db);
    d->skew = clock_skew_create ();
    d->step = TEXTS_NONE;
    if (rc == 0 && (!d->pairs || !d->skew))
        rc = err_set (err, ENOMEM, "no memory for waits");
    if (rc == 0)
        rc = tell_skew (d, err);
    (void)snprintf (path, sizeof (path), "%s.ops", temp);
    if (rc == 0)
        rc = arrivals_create ((uint64_t)rows, path, &d->arrivals, err);
    (void)snprintf (path, sizeof (path), "%s.waits", temp);
    if (rc == 0 && rows > 0 && any_trace (d))
        rc = row_values_create (&d->waits, path, rows, err);
    return rc;
}

static int derive (struct deriver *d, struct err *err)
{
    int rc = take_rows (d, err);

    if (rc == 0)
        rc = arrivals_each (d->arrivals, take_op, d, &d->dropped, err);
    arrivals_destroy (d->arrivals);
    d->arrivals = NULL;
    clock_skew_settle (d->skew);
    if (rc == 0)
        rc = wait_sums_write (d->pairs, &d->steps, d->skew, err);
    if (rc == 0 && d->waits.by_row)
        rc = traffic_fill (d->db, &d->waits, d->items, d->nitems, err);
    if (rc == 0)
        rc = say_clocks (d, err);
    return rc < 0 ? rc : say_job (d, err);
}

int wait_derive (sqlite3 *db, const struct select_item *items, size_t n,
                 const char *temp, const atomic_bool *cancel, struct err *err)
{
    struct deriver d = { .db = db, .cancel = cancel, .items = items,
                         .nitems = n };
    int rc = wait_create (&d, temp, err);

    if (rc == 0)
        rc = derive (&d, err);
    row_values_fini (&d.waits);
    clock_skew_destroy (d.skew);
    wait_sums_destroy (d.pairs);
    texts_fini (&d.steps);
    arrivals_destroy (d.arrivals);
    members_destroy (d.members);
    free (d.clocks);
    free (d.wait_ms);
    return rc;
}
