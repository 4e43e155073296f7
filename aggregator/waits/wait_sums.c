/* aggregator/waits/wait_sums.c - sum up waits for table Wait */
#include "waits/wait_sums.h"

#include "base/vec.h"
#include "store/db_rows.h"
#include "waits/wait_totals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX (2 * WAIT_SUMS_MAX)    // in memory: 8 MiB

// Sums of one step of a group, which are adjacent in the list.
struct wait_run {
    uint32_t step, group;
    size_t first, n;
};

struct wait_sums {
    sqlite3 *db;
    struct wait_sum *list;
    size_t n, room;
    struct wait_run *runs;
    size_t nruns;
    bool divided;               // some pair may be there twice
    bool spilled;               // some sums are in temp.pair
    struct wait_totals totals;
};

struct wait_sums *wait_sums_create (sqlite3 *db)
{
    struct wait_sums *p = calloc (1, sizeof (*p));

    if (p)
        p->db = db;
    return p;
}

void wait_sums_destroy (struct wait_sums *p)
{
    if (!p)
        return;
    free (p->list);
    free (p->runs);
    wait_totals_fini (&p->totals);
    free (p);
}

static int compare_pairs (const void *pa, const void *pb)
{
    const struct wait_sum *a = pa, *b = pb;

    if (a->late != b->late)
        return a->late < b->late ? -1 : 1;
    return (a->waiting > b->waiting) - (a->waiting < b->waiting);
}

static int spill (struct wait_sums *p, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = p->spilled ? 0
        : db_exec (p->db, "CREATE TEMP TABLE pair (step INTEGER, comm_group "
                          "INTEGER, late INTEGER, waiting INTEGER, ops "
                          "INTEGER, wait REAL)", err);

    p->spilled = true;
    if (rc == 0)
        rc = db_prepare (p->db, "INSERT INTO temp.pair VALUES (?1, ?2, ?3, ?4,"
                                " ?5, ?6)", &st, err);
    for (size_t i = 0; i < p->n && rc == 0; i++) {
        const struct wait_sum *one = &p->list[i];

        rc = db_put (st, err, one->step, one->group, one->late, one->waiting,
                     one->ops, one->wait_ms);
    }
    (void)sqlite3_finalize (st);
    p->n = 0;
    return rc;
}

static int make_room (struct wait_sums *p, size_t n)
{
    size_t room = p->room ? p->room : 1024;
    struct wait_sum *list;

    while (room < p->n + n)
        room *= 2;
    if (room == p->room)
        return 0;
    if (!(list = realloc (p->list, room * sizeof (*list))))
        return -ENOMEM;
    p->list = list;
    p->room = room;
    return 0;
}

void wait_sums_sort (struct wait_sum *list, size_t n)
{
    if (n > 0)
        qsort (list, n, sizeof (*list), compare_pairs);
}

int wait_sums_add (struct wait_sums *p, const struct wait_sum *list, size_t n,
                   bool whole, struct err *err)
{
    struct wait_run *run;
    int rc = p->n + n > LIST_MAX ? spill (p, err) : 0;

    p->divided = p->divided || !whole;
    if (!whole)
        wait_totals_give_up (&p->totals);
    if (rc < 0 || n == 0)
        return rc;
    if (make_room (p, n) < 0 ||
        !(run = vec_add (&p->runs, &p->nruns, sizeof (*run))))
        return err_set (err, ENOMEM, "no memory for waits");
    *run = (struct wait_run){ list->step, list->group, p->n, n };
    memcpy (p->list + p->n, list, n * sizeof (*list));
    p->n += n;
    return wait_totals_add (&p->totals, list, n, err);
}

/* ---- writing ---- */

struct writing {
    sqlite3 *db;
    sqlite3_stmt *st;           // inserts 'rows' rows
    const struct texts *steps;
    const struct clock_skew *skew;
    int rows;
};

#define AT_ONCE 32              // rows per statement: halves the cost of a row
#define COLUMNS 7

static int wait_sums_prepare (struct writing *w, int rows, struct err *err)
{
    char sql[160 + 16 * AT_ONCE];
    int n = snprintf (sql, sizeof (sql), "INSERT INTO Wait (step, comm_group, "
                      "late_rank, waiting_rank, ops, wait_ms, clock_error_ms) "
                      "VALUES ");

    for (int i = 0; i < rows; i++)
        n += snprintf (sql + n, sizeof (sql) - (size_t)n, "%s(?,?,?,?,?,?,?)",
                       i ? "," : "");
    return db_prepare (w->db, sql, &w->st, err);
}

static void bind_row (const struct writing *w, int at,
                      const struct wait_sum *one)
{
    const char *step = texts_at (w->steps, one->step);
    double error = clock_skew_between (w->skew, one->group, one->late,
                                       one->waiting);
    int i = at * COLUMNS;

    if (*step)
        (void)sqlite3_bind_text (w->st, i + 1, step, -1, SQLITE_STATIC);
    else
        (void)sqlite3_bind_null (w->st, i + 1);
    (void)sqlite3_bind_int64 (w->st, i + 2, one->group);
    (void)sqlite3_bind_int64 (w->st, i + 3, one->late);
    (void)sqlite3_bind_int64 (w->st, i + 4, one->waiting);
    (void)sqlite3_bind_int64 (w->st, i + 5, one->ops);
    (void)sqlite3_bind_double (w->st, i + 6, one->wait_ms);
    if (isnan (error))
        (void)sqlite3_bind_null (w->st, i + 7);
    else
        (void)sqlite3_bind_double (w->st, i + 7, error);
}

static int write_pairs (struct writing *w, const struct wait_sum *pairs,
                        size_t n,
                        struct err *err)
{
    int rc = 0;

    while (n > 0 && rc == 0) {
        int rows = n < AT_ONCE ? (int)n : AT_ONCE;

        if (rows != w->rows) {
            (void)sqlite3_finalize (w->st);
            w->st = NULL;
            w->rows = rows;
            if ((rc = wait_sums_prepare (w, rows, err)) < 0)
                break;
        }
        for (int i = 0; i < rows; i++)
            bind_row (w, i, &pairs[i]);
        rc = db_run (w->st, err);
        pairs += rows;
        n -= (size_t)rows;
    }
    return rc;
}

static bool is_same_pair (const struct wait_sum *a, const struct wait_sum *b)
{
    return a->step == b->step && a->group == b->group &&
           compare_pairs (a, b) == 0;
}

/* Parts of a sum are added in the order in which they came, which is that of
 * the ops: so the last digit does not depend on the threads.
 */
static int write_spilled (struct wait_sums *p, struct writing *w,
                          struct err *err)
{
    int rc = spill (p, err);
    struct wait_sum one, sum = { .ops = 0 };
    struct db_rows r;

    if (rc < 0)
        return rc;
    r = db_rows (p->db, err, "SELECT step, comm_group, late, waiting, ops, wait"
                 " FROM temp.pair ORDER BY 1, 2, 3, 4, rowid");
    while (db_row (&r, one.step, one.group, one.late, one.waiting, one.ops,
                   one.wait_ms)) {
        if (sum.ops > 0 && is_same_pair (&sum, &one)) {
            sum.ops += one.ops;
            sum.wait_ms += one.wait_ms;
            continue;
        }
        r.rc = sum.ops > 0 ? write_pairs (w, &sum, 1, err) : 0;
        sum = one;
    }
    rc = db_end (&r);
    if (rc == 0 && sum.ops > 0)
        rc = write_pairs (w, &sum, 1, err);
    return rc < 0 ? rc : db_exec (p->db, "DROP TABLE temp.pair", err);
}

static int compare_runs (const void *pa, const void *pb)
{
    const struct wait_run *a = pa, *b = pb;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

static int write_runs (struct wait_sums *p, struct writing *w,
                       struct err *err)
{
    int rc = 0;

    if (p->nruns > 0)
        qsort (p->runs, p->nruns, sizeof (*p->runs), compare_runs);
    for (size_t i = 0; i < p->nruns && rc == 0; i++)
        rc = write_pairs (w, p->list + p->runs[i].first, p->runs[i].n, err);
    return rc;
}

int wait_sums_write (struct wait_sums *p, const struct texts *steps,
                     const struct clock_skew *skew, struct err *err)
{
    struct writing w = { p->db, NULL, steps, skew, 0 };
    int rc = p->spilled || p->divided ? write_spilled (p, &w, err)
                                      : write_runs (p, &w, err);

    (void)sqlite3_finalize (w.st);
    return rc < 0 ? rc : wait_totals_write (&p->totals, p->db, skew, err);
}
