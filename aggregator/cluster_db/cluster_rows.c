/* aggregator/cluster_db/cluster_rows.c - convert the rows of a rank */
#include "cluster_db/cluster_rows.h"

#include "base/units.h"
#include "base/vec.h"
#include "model/capture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of the current row ---- */

bool cluster_again (struct last_text *t, const char *s, size_t n)
{
    if (t->size == n && memcmp (t->bytes, s, n) == 0)
        return true;
    t->size = n <= sizeof (t->bytes) ? n : SIZE_MAX;
    if (t->size == n)
        memcpy (t->bytes, s, n);
    return false;
}

static uint32_t group_of (struct cluster_rows *r, const char *name, size_t n)
{
    unsigned i = n > 0 ? (unsigned)texts_hash (name, n) % CLUSTER_LOOKUPS : 0;
    char *known = r->lookups[i].name;

    if (n == 0)
        return CLUSTER_GROUP_NONE;
    if (n > sizeof (r->lookups[i].name))
        return cluster_groups_find (r->groups, name, n, r->rank);
    if (r->lookups[i].size != n || memcmp (known, name, n) != 0) {
        memcpy (known, name, n);
        r->lookups[i].size = (uint32_t)n;
        r->lookups[i].group = cluster_groups_find (r->groups, name, n,
                                                   r->rank);
    }
    return r->lookups[i].group;
}

static void set_group (struct cluster_rows *r, uint32_t group)
{
    r->group = group;
    r->group_name = cluster_groups_at (r->groups, group)->name;
    r->group_size = (uint32_t)strlen (r->group_name);
}

static void find_group (struct cluster_rows *r)
{
    size_t n;
    const char *name = page_scan_text (&r->scan, TIME_GROUP, &n);

    if (cluster_again (&r->group_text, name ? name : "", n))
        return;
    r->same_place = false;
    set_group (r, group_of (r, name, n));
    r->used[r->group] = 1;
    if (r->group == CLUSTER_GROUP_NONE)
        r->strays[r->rank / 8] |= (uint8_t)(1u << r->rank % 8);
}

static int64_t step_number (const char *step)
{
    int64_t n = -1;

    (void)units_int (step + strlen (CLUSTER_STEP), 0, INT64_MAX, &n);
    return n;
}

/* Most rows have the same step as the row before. */
static int find_step (struct cluster_rows *r, struct err *err)
{
    size_t n, known = r->steps.map.n;
    const char *text = page_scan_text (&r->scan, r->part->table->step, &n);
    char name[CLUSTER_NAME_SIZE];
    int64_t *number;

    if (n == 0) {
        text = CLUSTER_STEP;
        n = strlen (text);
    }
    if (cluster_again (&r->step_text, text, n))
        return 0;
    r->same_place = false;
    cluster_step (r->known_steps, text, n, name);
    r->step = texts_intern (&r->steps, name, strlen (name));
    if (r->steps.map.n == known)
        return r->step == TEXTS_NONE
                   ? err_set (err, ENOMEM, "no memory for steps") : 0;
    if (!(number = vec_next (&r->numbers, known, sizeof (*number))))
        return err_set (err, ENOMEM, "no memory for steps");
    *number = step_number (name);
    return 0;
}

static void find_op (struct cluster_rows *r, const char *op, size_t n)
{
    r->same_op = cluster_again (&r->op_text, op, n);
    if (r->same_op)
        return;
    cluster_clean (op, n, CLUSTER_NAME_MAX, r->op);
    r->op_size = strlen (r->op);
}

static void put_names (struct cluster_rows *r)
{
    static const char none[] = "";

    r->nvalues = 0;
    r->band = none;
    cluster_put (r, page_text (texts_at (&r->steps, r->step),
                               (uint32_t)texts_size (&r->steps, r->step)));
    if (r->part->table->has_rank)
        cluster_put (r, page_int (r->rank));
    cluster_put (r, page_text (r->op, (uint32_t)r->op_size));
    cluster_put (r, page_text (r->group_name, r->group_size));
}

int cluster_rows_take (struct cluster_rows *r, struct err *err)
{
    const struct table *t = schema_table (r->part->table->source);
    size_t n, total = strlen (CLUSTER_TOTAL);
    const char *op = page_scan_text (&r->scan, TIME_OP, &n);
    int rc;

    if (!op || page_scan_int (&r->scan, t->ncolumns, -1) != r->rank ||
        (n == total && memcmp (op, CLUSTER_TOTAL, n) == 0))
        return 0;
    r->same_place = true;
    if ((rc = find_step (r, err)) < 0)
        return rc;
    find_group (r);
    find_op (r, op, n);
    put_names (r);
    return 1;
}

double cluster_ratio (double part, double rest)
{
    return isnan (part) || isnan (rest) ? NAN : sums_ratio (part, rest);
}

double cluster_rate (double mb, double ms)
{
    return isnan (mb) || isnan (ms) ? NAN : sums_rate (mb, ms);
}

/* ---- rows ---- */

static int write_row (struct cluster_rows *r, struct err *err)
{
    bool same = r->same_op && r->same_place && r->band == r->last_band;
    int rc = page_writer_row (r->writer, r->rowid, r->values, r->nvalues, err);

    if (rc == 0)
        rc = key_buffer_add (&r->keys, r->step, r->group, r->op, r->op_size,
                             r->band, r->rowid, same, err);
    r->rowid++;
    r->last_band = r->band;
    return rc;
}

/* A rank's rows begin at rank * 2^32 + 1, so threads need not know how many
 * there are of others.
 */
static void begin_rank (struct cluster_rows *r, int64_t rank)
{
    r->rank = rank;
    r->rowid = (rank << 32) + 1;
    r->step_text.size = r->group_text.size = r->op_text.size = SIZE_MAX;
    memset (r->lookups, 0, sizeof (r->lookups));
    map_clear (&r->sums);
}

static int write_rank (struct cluster_rows *r, const struct rank_rows *rows,
                       struct err *err)
{
    const struct cluster_part *p = r->part;
    int rc;

    if (rows->rank >= CAPTURE_WORLD_LIMIT)
        return 0;
    begin_rank (r, rows->rank);
    rc = page_scan_begin (&r->scan, p->source, p->root, rows->first,
                          rows->last, err);
    while (rc == 0 && (rc = page_scan_next (&r->scan, err)) == 1) {
        rc = p->table->take (r, err);
        if (rc == 1)
            rc = write_row (r, err);
    }
    page_scan_end (&r->scan);
    return rc < 0 ? rc : p->table->finish (r, err);
}

int cluster_rows_write (struct cluster_rows *r, size_t first, size_t n,
                        struct err *err)
{
    int rc = page_writer_gap (r->writer, err);

    for (size_t i = first; i < first + n && rc == 0; i++)
        rc = write_rank (r, &r->part->ranks[i], err);
    return rc;
}

/* ---- totals ---- */

void *cluster_rows_sum (struct cluster_rows *r, struct map *m, uint64_t b,
                        uint64_t c, bool *is_new)
{
    const struct cluster_key key = {
        { (uint64_t)r->step << 32 | r->group, b, c } };

    return map_put (m, &key, is_new);
}

static uint32_t key_step (const struct cluster_key *k)
{
    return (uint32_t)(k->word[0] >> 32);
}

static int compare_steps (const struct cluster_rows *r, uint32_t a, uint32_t b)
{
    if (r->numbers[a] != r->numbers[b])
        return r->numbers[a] < r->numbers[b] ? -1 : 1;
    return strcmp (texts_at (&r->steps, a), texts_at (&r->steps, b));
}

static int compare_keys (const void *pa, const void *pb, void *arg)
{
    const struct cluster_key *a = pa, *b = pb;
    uint32_t x = key_step (a), y = key_step (b);

    if (x != y)
        return compare_steps (arg, x, y);
    for (unsigned i = 0; i < 3; i++) {
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    }
    return 0;
}

int cluster_rows_totals (struct cluster_rows *r,
                         void (*put) (struct cluster_rows *r,
                                      const void *sum),
                         struct err *err)
{
    int rc = 0;

    if (r->sums.n > 0)
        qsort_r (r->sums.records, r->sums.n, r->sums.size, compare_keys, r);
    r->op_size = strlen (CLUSTER_TOTAL);
    memcpy (r->op, CLUSTER_TOTAL, r->op_size);
    r->same_op = false;
    for (uint32_t i = 0; i < r->sums.n && rc == 0; i++) {
        const struct cluster_key *sum = map_at (&r->sums, i);

        r->step = key_step (sum);
        set_group (r, (uint32_t)sum->word[0]);
        put_names (r);
        put (r, sum);
        rc = write_row (r, err);
    }
    return rc;
}

double cluster_sum (const struct sum *s)
{
    return s->known ? s->value : NAN;
}

/* ---- life ---- */

int cluster_rows_init (struct cluster_rows *r,
                       const struct cluster_groups *groups,
                       const struct texts *known_steps, struct err *err)
{
    *r = (struct cluster_rows){ .groups = groups, .known_steps = known_steps };
    r->used = calloc (cluster_groups_count (groups), 1);
    r->strays = calloc (CAPTURE_WORLD_LIMIT / 8 + 1, 1);
    return r->used && r->strays
               ? 0 : err_set (err, ENOMEM, "no memory for the ranks' rows");
}

/* End the table; 'rc': the result so far. */
static int end_table (struct cluster_rows *r, int rc, struct err *err)
{
    int end = page_writer_close (r->writer, rc < 0 ? NULL : err);

    rc = rc < 0 ? rc : end;
    end = key_buffer_close (&r->keys, rc, rc < 0 ? NULL : err);
    if (r->state && r->part->table->fini)
        r->part->table->fini (r->state);
    free (r->state);
    map_fini (&r->sums);
    r->part = NULL;
    r->writer = NULL;
    r->state = NULL;
    return rc < 0 ? rc : end;
}

int cluster_rows_switch (struct cluster_rows *r, struct cluster_part *part,
                         struct err *err)
{
    int rc = r->part ? end_table (r, 0, err) : 0;

    if (rc < 0 || !part)
        return rc;
    r->part = part;
    r->sums = (struct map){ .words = 3, .size = part->table->sum_bytes };
    r->state = calloc (1, part->table->state_bytes + 1);
    if (!r->state)
        return err_set (err, ENOMEM, "no memory for %s", part->table->name);
    if (part->table->begin)
        part->table->begin (r->state);
    rc = page_writer_open (part->rows, &r->writer, err);
    return rc < 0 ? rc : key_buffer_open (&r->keys, &part->keys, &r->steps,
                                          err);
}

void cluster_rows_stop (struct cluster_rows *r)
{
    if (r->part)
        (void)end_table (r, -ECANCELED, NULL);
}

void cluster_rows_fini (struct cluster_rows *r)
{
    cluster_rows_stop (r);
    texts_fini (&r->steps);
    free (r->numbers);
    free (r->used);
    free (r->strays);
}
