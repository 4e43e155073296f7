/* aggregator/waits/wait.c - who waited for whom */
#include "waits/wait_private.h"

#include "row_sums/traffic.h"
#include "store/db_rows.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool any_trace (const struct deriver *d)
{
    for (size_t i = 0; i < d->nitems; i++) {
        if (!d->items[i].skip && wait_is_trace (&d->items[i]))
            return true;
    }
    return false;
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
    return db_put (st, err, name, text, d->items[i].rank, d->items[i].id);
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

int wait_each_piece (struct deriver *d, const struct thread_pieces *pieces,
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

static int derive (struct deriver *d, struct err *err)
{
    int rc = wait_take_rows (d, err);

    if (rc == 0)
        rc = wait_take_ops (d, err);
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
