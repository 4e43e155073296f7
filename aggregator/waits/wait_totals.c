/* aggregator/waits/wait_totals.c - the pairs of ranks that waited longest in all */
#include "waits/wait_totals.h"

#include "base/vec.h"
#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define KEPT (2 * WAIT_TOTALS_MAX)      // before the shortest are dropped

static int by_ranks (const struct wait_sum *a, const struct wait_sum *b)
{
    if (a->late != b->late)
        return a->late < b->late ? -1 : 1;
    return (a->waiting > b->waiting) - (a->waiting < b->waiting);
}

/* The longest first. */
static int by_wait (const void *pa, const void *pb)
{
    const struct wait_sum *a = pa, *b = pb;

    if (a->wait_ms != b->wait_ms)
        return a->wait_ms > b->wait_ms ? -1 : 1;
    if (by_ranks (a, b) != 0)
        return by_ranks (a, b);
    return (a->group > b->group) - (a->group < b->group);
}

static void drop_shortest (struct wait_totals *t)
{
    if (t->nbest > 0)
        qsort (t->best, t->nbest, sizeof (*t->best), by_wait);
    if (t->nbest >= WAIT_TOTALS_MAX) {
        t->nbest = WAIT_TOTALS_MAX;
        t->least = t->best[WAIT_TOTALS_MAX - 1].wait_ms;
    }
}

/* The current group has no more steps. */
static int end_group (struct wait_totals *t)
{
    if (!t->best && !(t->best = malloc (KEPT * sizeof (*t->best))))
        return -ENOMEM;
    for (size_t i = 0; i < t->n; i++) {
        if (t->group[i].wait_ms < t->least)
            continue;
        if (t->nbest == KEPT)
            drop_shortest (t);
        t->best[t->nbest++] = t->group[i];
    }
    t->n = 0;
    return 0;
}

static int make_room (struct wait_totals *t, size_t n)
{
    struct wait_sum *group;

    if (n <= t->cap)
        return 0;
    if (!(group = realloc (t->group, (n + n / 4) * sizeof (*group))))
        return -ENOMEM;
    t->group = group;
    t->cap = n + n / 4;
    return 0;
}

/* Add what a step has to the pairs that are known; the number of the others. */
static size_t add_known (struct wait_totals *t, const struct wait_sum *list,
                         size_t n)
{
    size_t fresh = 0;

    for (size_t i = 0, k = 0; k < n; k++) {
        while (i < t->n && by_ranks (&t->group[i], &list[k]) < 0)
            i++;
        if (i < t->n && by_ranks (&t->group[i], &list[k]) == 0) {
            t->group[i].ops += list[k].ops;
            t->group[i].wait_ms += list[k].wait_ms;
        } else {
            fresh++;
        }
    }
    return fresh;
}

/* Put the pairs that are not known into their places, from behind. */
static void add_fresh (struct wait_totals *t, const struct wait_sum *list,
                       size_t n, size_t fresh)
{
    size_t to = t->n + fresh, i = t->n;

    t->n = to;
    while (to > i) {
        int order = i == 0 ? -1 : by_ranks (&t->group[i - 1], &list[n - 1]);

        if (order == 0)
            n--;
        t->group[--to] = order >= 0 ? t->group[--i] : list[--n];
    }
}

int wait_totals_add (struct wait_totals *t, const struct wait_sum *list,
                     size_t n, struct err *err)
{
    size_t fresh;
    int rc = 0;

    if (t->given_up || n == 0)
        return 0;
    if (t->n > 0 && t->group[0].group != list[0].group)
        rc = end_group (t);
    fresh = add_known (t, list, n);
    if (rc < 0 || make_room (t, t->n + fresh) < 0)
        return err_set (err, ENOMEM, "no memory for waits");
    add_fresh (t, list, n, fresh);
    if (t->n > WAIT_TOTALS_PAIRS)
        wait_totals_give_up (t);
    return 0;
}

void wait_totals_give_up (struct wait_totals *t)
{
    wait_totals_fini (t);
    t->given_up = true;
}

int wait_totals_write (struct wait_totals *t, sqlite3 *db,
                       const struct clock_skew *skew, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = end_group (t) < 0 ? err_set (err, ENOMEM, "no memory for waits")
                               : 0;

    drop_shortest (t);
    if (rc == 0)
        rc = db_prepare (db, "INSERT INTO WaitTotal VALUES (?1, ?2, ?3, ?4,"
                             " ?5, ?6)", &st, err);
    for (size_t i = 0; i < t->nbest && rc == 0; i++) {
        const struct wait_sum *one = &t->best[i];
        double error = clock_skew_between (skew, one->group, one->late,
                                           one->waiting);

        rc = db_put (st, err, one->late, one->waiting, one->group, one->ops,
                     one->wait_ms, error);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

void wait_totals_fini (struct wait_totals *t)
{
    free (t->group);
    free (t->best);
    *t = (struct wait_totals){ 0 };
}
