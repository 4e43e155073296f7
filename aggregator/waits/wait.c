/* aggregator/waits/wait.c - who waited for whom */
#include "waits/wait.h"

#include "base/thread.h"
#include "base/vec.h"
#include "model/schema.h"
#include "pages/page_scan.h"
#include "sums/members.h"
#include "sums/row_values.h"
#include "sums/traffic.h"
#include "store/db_rows.h"
#include "waits/arrival.h"
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
#define CAPTURE_ROWS 32         // bits of a rowid within its capture
#define TOGETHER 16             // captures that are read at once, at most

// What is counted for Job.
struct counts {
    int64_t by_start, by_elapse;        // ops of complete sets, by rule
    int64_t incomplete, ambiguous, guessed;
};

struct deriver {
    sqlite3 *db;
    const atomic_bool *cancel;
    const struct select_item *items;
    size_t nitems;
    struct members *members;
    struct page_source *source;
    uint32_t root;              // of CommAnalyzerTime
    struct row_values waits;    // only for rows of traces
    struct undeclared_clock *clocks;    // one per item
    struct op_merge *merge;
    struct waiter *waiters;
    unsigned threads;
    size_t together;            // captures of a piece
    pthread_mutex_t lock;       // for what follows
    struct texts steps;
    struct wait_sums *pairs;
    struct clock_skew *skew;
    struct counts counts;
};

// A thread.
struct waiter {
    struct deriver *d;
    struct op_runs *runs;
    struct texts steps;         // of the current piece
    struct row_run *rows;       // of the piece: all rows, if there are traces
    size_t nrows;
    // cached from the last row
    int64_t capture, rank;      // rank -1: the capture does not count
    bool trace;
    double ahead_us;            // its clock's offset, to be subtracted
    uint32_t step;
    char step_text[64];
    size_t step_size;           // SIZE_MAX: the text was too long
    struct {
        char name[CAPTURE_HASH_MAX];    // "": none
        uint32_t group, size;
    } groups[GROUPS];           // of the rank of 'capture'
    struct {
        uint64_t hash;
        bool mutual;
    } kinds[KINDS];
    // of a step of a group
    double *wait_ms;            // of one op
    size_t room;
    struct map pairs;
    bool divided;               // some of its pairs were added already
    struct clock_ends ends;
    struct counts counts;
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
static uint32_t step_of (struct waiter *w, const struct page_scan *p)
{
    size_t n;
    const char *text = page_scan_text (p, TIME_STEP, &n);

    if (w->step != TEXTS_NONE && n == w->step_size &&
        (n == 0 || memcmp (text, w->step_text, n) == 0))
        return w->step;
    w->step_size = n < sizeof (w->step_text) ? n : SIZE_MAX;
    if (n > 0 && n < sizeof (w->step_text))
        memcpy (w->step_text, text, n);
    w->step = texts_intern (&w->steps, n > 0 ? text : "", n);
    return w->step;
}

/* A rank has some groups, and thousands of ops in each.  Traces need not name a
 * group: an op that all ranks have may belong to the world's, see take_op.
 */
static uint32_t group_of (struct waiter *w, const struct page_scan *p,
                          uint32_t *size)
{
    const struct deriver *d = w->d;
    size_t n;
    const char *name = page_scan_text (p, TIME_GROUP, &n);
    unsigned i = n > 0 ? (unsigned)(name[n - 1] + 5 * name[n / 2]) % GROUPS : 0;

    if (n == 0)
        return w->trace ? members_world (d->members, size) : 0;
    if (n >= CAPTURE_HASH_MAX)
        return 0;
    if (strlen (w->groups[i].name) != n ||
        memcmp (w->groups[i].name, name, n) != 0) {
        memcpy (w->groups[i].name, name, n);
        w->groups[i].name[n] = '\0';
        w->groups[i].group = members_group (d->members, name, n, w->rank,
                                            &w->groups[i].size);
    }
    *size = w->groups[i].size;
    return w->groups[i].group;
}

static void begin_capture (struct waiter *w, int64_t capture)
{
    const struct deriver *d = w->d;

    w->capture = capture;
    w->trace = is_trace (d, capture);
    w->rank = capture >= 1 && (uint64_t)capture <= d->nitems
                  ? d->items[capture - 1].rank : -1;
    if (w->rank >= CAPTURE_WORLD_MAX ||
        (w->rank >= 0 && d->items[capture - 1].doubt))
        w->rank = -1;
    w->ahead_us = 0;
    if (w->rank >= 0 && !isnan (d->clocks[capture - 1].offset_ms))
        w->ahead_us = d->clocks[capture - 1].offset_ms * 1000 - AFTER_1970_US;
    for (unsigned i = 0; i < GROUPS; i++)
        w->groups[i].name[0] = '\0';
}

/* A job has a dozen kinds of ops and millions of ops. */
static bool is_mutual (struct waiter *w, const char *op, size_t n)
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

    if (w->kinds[i].hash != hash) {
        w->kinds[i].hash = hash;
        w->kinds[i].mutual = arrival_is_mutual (op, n);
    }
    return w->kinds[i].mutual;
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
static bool read_row (struct waiter *w, const struct page_scan *p,
                      struct op_row *a)
{
    char op[OP_MAX];
    size_t n = copy_op (p, op), ntype;
    const char *type = page_scan_text (p, TIME_TYPE, &ntype);
    bool p2p = type && *type == 'p';

    if (n == 0 || !is_mutual (w, op, n) ||
        !(a->group = group_of (w, p, &a->size)) ||
        (p2p && a->size != 2))       // the pair is not known
        return false;
    a->row = p->rowid;
    a->rank = (uint32_t)w->rank & 0xffffff;
    a->by_start = w->trace;
    a->guessed = w->trace && !page_scan_text (p, TIME_GROUP, &ntype);
    a->key = arrival_key (op, n, p2p);
    a->start_us = page_scan_real (p, TIME_START);
    if (isnan (a->start_us) && !w->trace)
        a->start_us = 0;                // elapse times are enough
    a->start_us -= w->ahead_us;
    a->elapse_ms = page_scan_real (p, TIME_ELAPSE);
    return is_usable (a->start_us, a->elapse_ms);
}

static int note_row (struct waiter *w, int64_t rowid, struct err *err)
{
    struct row_run *last = w->nrows ? &w->rows[w->nrows - 1] : NULL;

    if (!last || rowid != last->rowid + last->row) {
        last = vec_add (&w->rows, &w->nrows, sizeof (*last));
        if (!last)
            return err_set (err, ENOMEM, "no memory for waits");
        last->rowid = rowid;
    }
    last->row++;                // here: how many they are
    return 0;
}

static int take_row (struct waiter *w, const struct page_scan *p,
                     struct err *err)
{
    unsigned column = schema_table (TABLE_TIME)->ncolumns + 1;
    int64_t capture = page_scan_int (p, column, 0);
    struct op_row a = { .key = 0 };
    int rc = w->d->waits.by_row ? note_row (w, p->rowid, err) : 0;

    if (capture != w->capture) {
        begin_capture (w, capture);
        rc = rc < 0 ? rc : op_runs_end (w->runs, err);
    }
    if (rc < 0 || w->rank < 0 || !read_row (w, p, &a))
        return rc;
    if ((a.step = step_of (w, p)) == TEXTS_NONE)
        return err_set (err, ENOMEM, "no memory for steps");
    return op_runs_add (w->runs, &a, err);
}

static size_t count_pieces (const struct deriver *d)
{
    return (d->nitems + d->together) / d->together;
}

/* Read the rows of some captures.  Rows with other rowids, if there are any, are
 * before or behind those.
 */
static int read_piece (void *state, size_t piece, struct err *err)
{
    struct waiter *w = state;
    const struct deriver *d = w->d;
    size_t begin = piece * d->together, end = begin + d->together;
    int64_t first = piece == 0 ? INT64_MIN : (int64_t)begin << CAPTURE_ROWS;
    int64_t last = piece + 1 == count_pieces (d)
                       ? INT64_MAX : (int64_t)(end << CAPTURE_ROWS) - 1;
    struct page_scan p;
    int rc = page_scan_begin (&p, d->source, d->root, first, last, err);

    texts_clear (&w->steps);
    w->step = TEXTS_NONE;
    while (rc == 0 && (rc = page_scan_next (&p, err)) == 1)
        rc = take_row (w, &p, err);
    page_scan_end (&p);
    return rc < 0 ? rc : op_runs_end (w->runs, err);
}

/* Steps are numbered in the order of rows. */
static int number_steps (struct waiter *w, struct err *err)
{
    uint32_t n = w->steps.map.n;
    uint32_t *numbers = malloc ((n + 1) * sizeof (*numbers));
    int rc = 0;

    for (uint32_t i = 0; i < n && numbers && rc == 0; i++) {
        numbers[i] = texts_intern (&w->d->steps, texts_at (&w->steps, i),
                                   texts_size (&w->steps, i));
        rc = numbers[i] == TEXTS_NONE ? -ENOMEM : 0;
    }
    if (!numbers || rc < 0)
        rc = err_set (err, ENOMEM, "no memory for steps");
    else
        op_runs_number_steps (w->runs, numbers);
    free (numbers);
    return rc;
}

static int keep_piece (void *state, size_t piece, struct err *err)
{
    struct waiter *w = state;
    int rc = number_steps (w, err);

    (void)piece;
    for (size_t i = 0; i < w->nrows; i++) {
        for (int64_t k = 0; k < w->rows[i].row && rc == 0; k++)
            rc = row_values_add (&w->d->waits, w->rows[i].rowid + k, err);
    }
    free (w->rows);
    w->rows = NULL;
    w->nrows = 0;
    return rc;
}

/* ---- ops ---- */

static int make_room (struct waiter *w, size_t n, struct err *err)
{
    double *p = n > w->room ? realloc (w->wait_ms, n * sizeof (*p))
                            : w->wait_ms;

    if (!p)
        return err_set (err, ENOMEM, "no memory for waits");
    w->wait_ms = p;
    w->room = n > w->room ? n : w->room;
    return 0;
}

/* Unknown times are 0. */
static bool has_starts (const struct op_row *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(a[i].start_us > 0))
            return false;
    }
    return true;
}

/* Move the sums to those of the job; 'last': the step of the group is over. */
static int flush_pairs (struct waiter *w, bool last, struct err *err)
{
    int rc;

    (void)pthread_mutex_lock (&w->d->lock);
    rc = wait_sums_add (w->d->pairs, w->pairs.records, w->pairs.n,
                        last && !w->divided, err);
    (void)pthread_mutex_unlock (&w->d->lock);
    map_clear (&w->pairs);
    w->divided = !last;
    return rc;
}

/* Add up the waits of an op's rows.  If there are too many pairs for memory,
 * some are added to those of the job early.
 */
static int add_waits (struct waiter *w, const struct op_row *a, size_t n,
                      size_t late, struct err *err)
{
    struct wait_sum key = { a->step, a->group, a[late].rank, 0, 0, 0 }, *at;
    bool is_new;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        if (i == late)
            continue;
        if (w->pairs.n == WAIT_SUMS_MAX)
            rc = flush_pairs (w, false, err);
        key.waiting = a[i].rank;
        if (rc == 0 && !(at = map_put (&w->pairs, &key, &is_new)))
            rc = err_set (err, ENOMEM, "no memory for waits");
        if (rc == 0) {
            at->ops++;
            at->wait_ms += w->wait_ms[i];
        }
    }
    return rc;
}

/* Process one op, with the rows of all ranks that have it. */
static int take_op (void *arg, const struct op_row *a, size_t n,
                    struct err *err)
{
    struct waiter *w = arg;
    enum arrival_set set = arrival_judge (a, n);
    bool by_start;
    size_t late;
    int rc;

    w->counts.incomplete += set == ARRIVAL_INCOMPLETE;
    w->counts.ambiguous += set == ARRIVAL_AMBIGUOUS;
    if (set != ARRIVAL_WHOLE)
        return 0;
    if ((rc = make_room (w, n, err)) < 0)
        return rc;
    by_start = arrival_by_start (a, n);
    if (a->guessed && !(by_start && arrival_fits (a, n))) {
        w->counts.ambiguous++;
        return 0;
    }
    w->counts.guessed += a->guessed;
    late = arrival_wait (a, n, w->wait_ms);
    w->counts.by_start += by_start;
    w->counts.by_elapse += !by_start;
    for (size_t i = 0; i < n && by_start; i++)
        row_values_set (&w->d->waits, a[i].row, w->wait_ms[i]);
    if (has_starts (a, n))
        rc = clock_ends_add (&w->ends, a, n, err);
    return rc < 0 ? rc : add_waits (w, a, n, late, err);
}

static int merge_piece (void *state, size_t piece, struct err *err)
{
    struct waiter *w = state;
    const atomic_bool *cancel = w->d->cancel;

    if (cancel && atomic_load (cancel))
        return err_set (err, EINTR, "interrupted");
    return op_merge_piece (w->d->merge, piece, take_op, w, err);
}

static int add_piece (void *state, size_t piece, struct err *err)
{
    struct waiter *w = state;
    struct counts *all = &w->d->counts, *c = &w->counts;
    int rc = flush_pairs (w, true, err);

    (void)piece;
    if (rc == 0)
        rc = clock_skew_add (w->d->skew, &w->ends, err);
    clock_ends_clear (&w->ends);
    all->by_start += c->by_start;
    all->by_elapse += c->by_elapse;
    all->incomplete += c->incomplete;
    all->ambiguous += c->ambiguous;
    all->guessed += c->guessed;
    *c = (struct counts){ 0 };
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

    if (rc == 0 && d->counts.by_start + d->counts.by_elapse > 0)
        rc = db_put (st, err, "wait_rule",
                     d->counts.by_elapse == 0  ? "latest start"
                     : d->counts.by_start == 0 ? "shortest elapse"
                                        : "latest start of traces, shortest "
                                          "elapse of others");
    if (rc == 0)
        rc = say_count (st, "wait_ops", d->counts.by_start + d->counts.by_elapse, err);
    if (rc == 0)
        rc = say_count (st, "wait_ops_incomplete", d->counts.incomplete, err);
    if (rc == 0)
        rc = say_count (st, "wait_ops_ambiguous", d->counts.ambiguous, err);
    if (rc == 0)
        rc = say_count (st, "wait_ops_without_group", d->counts.guessed, err);
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

static int create_waiters (struct deriver *d, const char *temp,
                           struct err *err)
{
    bool rows = d->waits.by_row;
    int rc = 0;

    d->together = d->nitems / d->threads / 8;
    d->together = d->together < 1 ? 1 : d->together > TOGETHER ? TOGETHER
                                                               : d->together;
    if (!(d->waiters = calloc (d->threads, sizeof (*d->waiters))))
        return err_set (err, ENOMEM, "no memory for waits");
    for (unsigned i = 0; i < d->threads && rc == 0; i++) {
        struct waiter *w = &d->waiters[i];
        char path[PATH_MAX];

        w->d = d;
        w->rank = -1;
        w->pairs = (struct map)MAP (struct wait_sum, 2);
        (void)snprintf (path, sizeof (path), "%s.ops%u", temp, i);
        rc = op_runs_create (path, rows, &w->runs, err);
    }
    return rc;
}

static void destroy_waiters (struct deriver *d)
{
    for (unsigned i = 0; d->waiters && i < d->threads; i++) {
        struct waiter *w = &d->waiters[i];

        op_runs_destroy (w->runs);
        texts_fini (&w->steps);
        free (w->rows);
        free (w->wait_ms);
        map_fini (&w->pairs);
        clock_ends_fini (&w->ends);
    }
    free (d->waiters);
}

static int wait_create (struct deriver *d, const char *temp, struct err *err)
{
    char path[PATH_MAX];
    int64_t rows;
    int rc = 0;

    if (!(d->clocks = calloc (d->nitems + 1, sizeof (*d->clocks))))
        return err_set (err, ENOMEM, "no memory for waits");
    rc = undeclared_settle (d->db, d->items, d->nitems, d->clocks, err);
    if (rc == 0)
        rc = members_read (d->db, false, &d->members, err);
    d->pairs = wait_sums_create (d->db);
    d->skew = clock_skew_create ();
    if (rc == 0 && (!d->pairs || !d->skew))
        rc = err_set (err, ENOMEM, "no memory for waits");
    if (rc == 0)
        rc = tell_skew (d, err);
    (void)snprintf (path, sizeof (path), "%s.waits", temp);
    if (rc == 0 && any_trace (d) &&
        (rows = db_int (d->db, "SELECT count(*) FROM CommAnalyzerTime", 0)) > 0)
        rc = row_values_create (&d->waits, path, rows, err);
    if (rc == 0)
        rc = create_waiters (d, temp, err);
    return rc;
}

static int each_piece (struct deriver *d, const struct thread_pieces *pieces,
                       struct err *err)
{
    void **states = calloc (d->threads, sizeof (*states));
    int rc;

    if (!states)
        return err_set (err, ENOMEM, "no memory for waits");
    for (unsigned i = 0; i < d->threads; i++)
        states[i] = &d->waiters[i];
    rc = thread_each (pieces, states, d->threads, err);
    free (states);
    return rc;
}

/* Read the rows, by captures. */
static int take_rows (struct deriver *d, struct err *err)
{
    const struct thread_pieces pieces = { count_pieces (d), read_piece,
                                          keep_piece };
    int rc = page_source_of (d->db, d->cancel, &d->source, err);

    if (rc == 0)
        rc = page_source_root (d->source, schema_table (TABLE_TIME)->name,
                               &d->root, err);
    if (rc == 0)
        rc = each_piece (d, &pieces, err);
    page_source_close (d->source);
    d->source = NULL;
    return rc;
}

/* Process the ops, by groups and steps. */
static int take_ops (struct deriver *d, struct err *err)
{
    struct thread_pieces pieces = { 0, merge_piece, add_piece };
    struct op_runs **runs = calloc (d->threads, sizeof (*runs));
    int rc;

    if (!runs)
        return err_set (err, ENOMEM, "no memory for waits");
    for (unsigned i = 0; i < d->threads; i++)
        runs[i] = d->waiters[i].runs;
    rc = op_merge_create (runs, d->threads, &d->merge, err);
    free (runs);
    if (rc == 0) {
        pieces.n = op_merge_pieces (d->merge);
        rc = each_piece (d, &pieces, err);
    }
    op_merge_destroy (d->merge);
    return rc;
}

static int derive (struct deriver *d, struct err *err)
{
    int rc = take_rows (d, err);

    if (rc == 0)
        rc = take_ops (d, err);
    destroy_waiters (d);
    d->waiters = NULL;
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
                 const char *temp, unsigned threads,
                 const atomic_bool *cancel, struct err *err)
{
    struct deriver d = { .db = db, .cancel = cancel, .items = items,
                         .nitems = n, .threads = threads,
                         .lock = PTHREAD_MUTEX_INITIALIZER };
    int rc = wait_create (&d, temp, err);

    if (rc == 0)
        rc = derive (&d, err);
    destroy_waiters (&d);
    row_values_fini (&d.waits);
    clock_skew_destroy (d.skew);
    wait_sums_destroy (d.pairs);
    texts_fini (&d.steps);
    members_destroy (d.members);
    free (d.clocks);
    return rc;
}
