/* aggregator/waits/wait_rows.c - from rows of captures to runs of ops */
#include "waits/wait_private.h"

#include "base/vec.h"
#include "model/schema.h"
#include "waits/arrival.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OP_MAX 1024             // significant bytes of an op's name
#define AFTER_1970_US 1e12      // unknown times are 0; start times without a
                                // clock must not be taken for these
#define TOGETHER 16             // captures that are read at once, at most

bool wait_is_trace (const struct select_item *item)
{
    return strcmp (item->capture.framework, "kineto") == 0;
}

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
    if (w->groups[i].n != n || memcmp (w->groups[i].name, name, n) != 0) {
        memcpy (w->groups[i].name, name, n);
        w->groups[i].n = n;
        w->groups[i].group = members_group (d->members, name, n, w->rank,
                                            &w->groups[i].size);
    }
    *size = w->groups[i].size;
    return w->groups[i].group;
}

static void begin_capture (struct waiter *w, int64_t capture)
{
    const struct deriver *d = w->d;
    size_t at = select_place (d->items, d->nitems, capture);
    const struct select_item *item = at < d->nitems ? &d->items[at] : NULL;

    w->capture = capture;
    w->trace = item && wait_is_trace (item);
    w->rank = item && !item->doubt && item->rank < CAPTURE_WORLD_LIMIT
                  ? item->rank : -1;
    w->ahead_us = 0;
    if (w->rank >= 0 && !isnan (d->clocks[at].offset_ms))
        w->ahead_us = d->clocks[at].offset_ms * 1000 - AFTER_1970_US;
    for (unsigned i = 0; i < GROUPS; i++)
        w->groups[i].n = 0;
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
    return d->nitems > 0 ? (d->nitems + d->together - 1) / d->together : 1;
}

/* Read the rows of some captures.  Rows with other rowids, if there are any, are
 * before or behind those.
 */
static int read_piece (void *state, size_t piece, struct err *err)
{
    struct waiter *w = state;
    const struct deriver *d = w->d;
    size_t begin = piece * d->together, end = begin + d->together;
    int64_t first = piece == 0 ? INT64_MIN : d->items[begin].first_row;
    int64_t last = piece + 1 == count_pieces (d)
                       ? INT64_MAX : d->items[end].first_row - 1;
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

int wait_take_rows (struct deriver *d, struct err *err)
{
    struct thread_pieces pieces = { 0, read_piece, keep_piece };
    int rc = page_source_of (d->db, d->cancel, &d->source, err);

    if (rc == 0)
        rc = page_source_root (d->source, schema_table (TABLE_TIME)->name,
                               &d->root, err);
    d->together = d->nitems / d->threads / 8;
    d->together = d->together < 1 ? 1 : d->together > TOGETHER ? TOGETHER
                                                               : d->together;
    pieces.n = count_pieces (d);
    if (rc == 0)
        rc = wait_each_piece (d, &pieces, err);
    page_source_close (d->source);
    d->source = NULL;
    return rc;
}
