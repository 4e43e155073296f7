/* aggregator/waits/wait_ops.c - from ops to sums of waits */
#include "waits/wait_private.h"

#include "waits/arrival.h"

#include <errno.h>
#include <stdlib.h>

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
    const atomic_bool *cancel = w->d->cancel;
    enum arrival_set set = arrival_judge (a, n);
    bool by_start;
    size_t late;
    int rc;

    if (cancel && atomic_load_explicit (cancel, memory_order_relaxed))
        return err_set (err, EINTR, "interrupted");
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
    int rc = op_merge_piece (w->d->merge, piece, take_op, w, err);

    wait_sums_sort (w->pairs.records, w->pairs.n);
    return rc;
}

static int add_piece (void *state, size_t piece, struct err *err)
{
    struct waiter *w = state;
    struct wait_counts *all = &w->d->counts, *c = &w->counts;
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
    *c = (struct wait_counts){ 0 };
    return rc;
}

int wait_take_ops (struct deriver *d, struct err *err)
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
        rc = wait_each_piece (d, &pieces, err);
    }
    op_merge_destroy (d->merge);
    return rc;
}
