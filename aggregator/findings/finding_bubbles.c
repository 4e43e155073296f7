/* aggregator/findings/finding_bubbles.c - waiting in pipelines
 *
 * A receive that takes longer than the shortest op of its name in its group
 * (the send, mostly) waits for the other stage.  Of ops that send and receive
 * at once it is what the profiler saw of waiting.
 */
#include "findings/finding_passes.h"

#include "model/schema.h"
#include "store/db_rows.h"
#include "row_sums/op_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NO_MEMORY "no memory for bubbles"

struct bubble {
    int64_t rank;               // the key
    double ms;
};

struct bubbles {
    const struct finding_input *in;
    struct op_runs *ops;
    struct texts groups, steps;
    struct map ranks;           // struct bubble
};

/* Whether it has a word of lower case letters, in any case. */
static bool has_word (const char *op, size_t n, const char *word)
{
    size_t size = strlen (word);

    for (size_t i = 0; i + size <= n; i++) {
        if ((op[i] | 0x20) == *word && strncasecmp (op + i, word, size) == 0)
            return true;
    }
    return false;
}

/* A text's number; TEXTS_NONE for NULL. */
static int number (struct texts *t, const struct page_scan *row,
                   unsigned column, uint32_t *ret, struct err *err)
{
    size_t n;
    const char *text = page_scan_text (row, column, &n);

    *ret = text ? texts_intern (t, text, n) : TEXTS_NONE;
    return text && *ret == TEXTS_NONE ? err_set (err, ENOMEM, NO_MEMORY) : 0;
}

/* by_start: it sends and receives; guessed: it receives. */
static int add_op (struct bubbles *b, const struct page_scan *row,
                   const char *op, size_t n, const char *name,
                   struct err *err)
{
    struct op_row a = {
        .key = texts_hash (name, n - (size_t)(name - op)),
        .start_us = page_scan_real (row, TIME_SYNC),
        .elapse_ms = page_scan_real (row, TIME_ELAPSE),
        .by_start = has_word (op, n, "batch"),
        .guessed = has_word (op, n, "rec"),
    };
    uint32_t group, step;
    int rc = number (&b->groups, row, TIME_GROUP, &group, err);

    if (rc < 0 || (rc = number (&b->steps, row, TIME_STEP, &step, err)) < 0)
        return rc;
    a.group = group;
    a.step = step;
    a.rank = (uint32_t)page_scan_int (
                 row, schema_table (TABLE_TIME)->ncolumns, 0) & 0xffffff;
    return op_runs_add (b->ops, &a, err);
}

static int take_op (void *arg, const struct page_scan *row, struct err *err)
{
    unsigned rank = schema_table (TABLE_TIME)->ncolumns;
    int64_t capture = page_scan_int (row, rank + 1, 0);
    struct bubbles *b = arg;
    size_t n, nstep, ntype, ngroup;
    const char *type = page_scan_text (row, TIME_TYPE, &ntype);
    const char *step = page_scan_text (row, TIME_STEP, &nstep);
    const char *op = page_scan_text (row, TIME_OP, &n), *name;

    if (!type || ntype != 3 || memcmp (type, "p2p", 3) != 0 || !op ||
        !page_scan_text (row, TIME_GROUP, &ngroup) ||
        !(name = memmem (op, n, "__", 2)) ||
        page_scan_int (row, rank, -1) < 0 ||
        left_out_op (&b->in->left_out, capture, step, nstep))
        return 0;
    return add_op (b, row, op, n, name, err);
}

static int add_bubble (struct bubbles *b, uint32_t rank, double ms,
                       struct err *err)
{
    int64_t key = rank;
    struct bubble *at;
    bool is_new;

    if (!(at = map_put (&b->ranks, &key, &is_new)))
        return err_set (err, ENOMEM, NO_MEMORY);
    at->ms += isnan (ms) ? 0 : ms;
    return 0;
}

/* All rows of a name in a step of a group. */
static int settle_op (void *arg, const struct op_row *rows, size_t n,
                      struct err *err)
{
    struct bubbles *b = arg;
    double least = NAN;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        if (!rows[i].by_start)
            least = fmin (least, rows[i].elapse_ms);
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct op_row *a = &rows[i];

        if (a->by_start && !isnan (a->start_us))
            rc = add_bubble (b, a->rank, a->start_us, err);
        else if (!a->by_start && a->guessed)
            rc = add_bubble (b, a->rank, a->elapse_ms - least, err);
    }
    return rc;
}

static int settle_ops (struct bubbles *b, struct err *err)
{
    struct op_merge *m = NULL;
    int rc = op_merge_create (&b->ops, 1, &m, err);

    for (size_t i = 0; rc == 0 && i < op_merge_pieces (m); i++)
        rc = op_merge_piece (m, i, settle_op, b, err);
    op_merge_destroy (m);
    op_runs_destroy (b->ops);
    b->ops = NULL;
    return rc;
}

static int read_bubbles (const struct finding_input *in, void **ret,
                         struct err *err)
{
    struct bubbles *b = *ret = calloc (1, sizeof (*b));
    int rc;

    if (!b)
        return err_set (err, ENOMEM, NO_MEMORY);
    b->in = in;
    b->ranks = (struct map)MAP (struct bubble, 1);
    rc = op_runs_create (NULL, false, &b->ops, err);
    if (rc == 0)
        rc = finding_scan (in, schema_table (TABLE_TIME)->name, take_op, b,
                           err);
    if (rc == 0)
        rc = op_runs_end (b->ops, err);
    return rc < 0 ? rc : settle_ops (b, err);
}

static int write_bubbles (const struct finding_input *in, void *state,
                          struct err *err)
{
    const struct bubbles *b = state;
    sqlite3_stmt *st = NULL;
    int rc = db_exec (in->db, "CREATE TEMP TABLE f_bubble (rank INTEGER"
                      " PRIMARY KEY, ms REAL)", err);

    if (rc == 0)
        rc = db_prepare (in->db, "INSERT INTO f_bubble SELECT ?1, ?2/steps"
                                 " FROM f_job", &st, err);
    for (uint32_t i = 0; i < b->ranks.n && rc == 0; i++) {
        const struct bubble *one = map_at (&b->ranks, i);

        rc = db_put (st, err, one->rank, one->ms);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static void destroy_bubbles (void *state)
{
    struct bubbles *b = state;

    if (!b)
        return;
    op_runs_destroy (b->ops);
    texts_fini (&b->groups);
    texts_fini (&b->steps);
    map_fini (&b->ranks);
    free (b);
}

const struct finding_pass finding_bubbles = { read_bubbles, write_bubbles,
                                              destroy_bubbles };
