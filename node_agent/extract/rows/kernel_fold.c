/* node_agent/extract/rows/kernel_fold.c - aggregate kernels by name, type, core
 * and shapes
 */
#include "extract/rows/kernel_fold.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_OF_OTHERS KERNEL_ROWS_MAX
#define METRIC_BYTES 64u        // bytes of a name, and of its value

/* Find or add the row of a key.  A row is added only if there are fewer than
 * 'most'.
 */
static int kernel_fold_find (struct kernel_fold *f, const struct kernel_key *k,
                             uint32_t most, struct kernel_row **ret)
{
    bool is_new;

    if ((*ret = map_get (&f->rows, k)) || f->rows.n >= most)
        return 0;
    if (f->rows.size == 0) {
        f->rows = (struct map)MAP (struct kernel_row,
                                   sizeof (*k) / sizeof (uint64_t));
        f->rows.size += f->nmetrics * sizeof (double);
    }
    if (!(*ret = map_put (&f->rows, k, &is_new)))
        return -ENOMEM;
    (*ret)->min = INFINITY;
    return 0;
}

static void kernel_fold_insert (struct kernel_row *r, double us)
{
    r->count++;
    r->total += us;
    r->min = fmin (r->min, us);
    r->max = fmax (r->max, us);
}

int kernel_fold_add_other (struct kernel_fold *f, int64_t device,
                           uint32_t step, double us)
{
    struct kernel_key k = { .device = device, .step = step, .others = 1 };
    struct kernel_row *r;
    int rc = kernel_fold_find (f, &k, KERNEL_ROWS_MAX + ROWS_OF_OTHERS, &r);

    if (rc == 0 && !r) {
        k.device = KERNEL_NO_DEVICE;
        k.step = KERNEL_NO_STEP;
        rc = kernel_fold_find (f, &k, UINT32_MAX, &r);
    }
    if (rc == 0)
        kernel_fold_insert (r, us);
    return rc;
}

int kernel_fold_add (struct kernel_fold *f, const struct kernel_key *key,
                     double us, const double *metrics)
{
    struct kernel_row *r;
    int rc = kernel_fold_find (f, key, KERNEL_ROWS_MAX, &r);

    if (rc < 0)
        return rc;
    if (!r)
        return kernel_fold_add_other (f, key->device, key->step, us);
    kernel_fold_insert (r, us);
    for (unsigned i = 0; metrics && i < f->nmetrics; i++)
        r->metrics[i] += isnan (metrics[i]) ? 0 : metrics[i];
    return 0;
}

void kernel_fold_fini (struct kernel_fold *f)
{
    map_fini (&f->rows);
}

/* ---- rows ---- */

/* A row that is being written to a batch. */
struct giving {
    const struct kernel_fold *f;
    const struct kernel_names *names;
    struct batch *b;
    bool skip[KERNEL_METRICS_MAX];      // counters that follow from others
};

/* Skip times that follow from ratios: "aic_mac_time" is "aic_mac_ratio" of the
 * time of the core.  They are most of the bytes.
 */
static void skip_times (struct giving *g)
{
    const char *const *names = g->names->metrics;

    for (unsigned i = 0; i < g->f->nmetrics; i++) {
        size_t n = strlen (names[i]), stem = n > 5 ? n - 5 : 0;

        if (stem == 0 || strcmp (names[i] + stem, "_time") != 0)
            continue;
        for (unsigned k = 0; k < g->f->nmetrics; k++)
            g->skip[i] = g->skip[i] ||
                         (strncmp (names[k], names[i], stem) == 0 &&
                          strcmp (names[k] + stem, "_ratio") == 0);
    }
}

static bool put_text (struct giving *g, unsigned column, int64_t number,
                      size_t max)
{
    const char *s = NULL;
    size_t n = 0;

    if (number != KERNEL_NO_TEXT &&
        !g->names->text (g->names->arg, number, max, &s, &n))
        return false;
    g->b->text[column][g->b->nrows] = s && n > 0 ? batch_text (g->b, s, n)
                                                 : BATCH_NULL_TEXT;
    return true;
}

static bool put_texts (struct giving *g, const struct kernel_row *r)
{
    if (!r->key.others)
        return put_text (g, KERNEL_NAME, r->key.name, KERNEL_NAME_BYTES) &&
               put_text (g, KERNEL_TYPE, r->key.type, KERNEL_NAME_BYTES) &&
               put_text (g, KERNEL_CORE, r->key.core, KERNEL_NAME_BYTES) &&
               put_text (g, KERNEL_SHAPES, r->key.shapes,
                         KERNEL_SHAPES_BYTES);
    g->b->text[KERNEL_NAME][g->b->nrows] = batch_string (g->b, KERNEL_OTHERS);
    for (unsigned c = KERNEL_TYPE; c <= KERNEL_SHAPES; c++)
        g->b->text[c][g->b->nrows] = BATCH_NULL_TEXT;
    return true;
}

/* Write the means that are not 0 as a JSON object; NULL if all are 0. */
static uint32_t put_metrics (struct giving *g, const struct kernel_row *r)
{
    char text[KERNEL_METRICS_MAX * 2 * METRIC_BYTES] = "";
    const double *sums = r->metrics;
    size_t used = 0;

    for (unsigned i = 0; i < g->f->nmetrics && !r->key.others; i++) {
        if (sums[i] != 0 && isfinite (sums[i]) && !g->skip[i])
            used += (size_t)snprintf (
                text + used, sizeof (text) - used, "%c\"%.*s\":%.5g",
                used ? ',' : '{', (int)METRIC_BYTES, g->names->metrics[i],
                sums[i] / (double)r->count);
    }
    if (used == 0)
        return BATCH_NULL_TEXT;
    text[used++] = '}';
    return batch_text (g->b, text, used);
}

static bool put_row (struct giving *g, const struct kernel_row *r)
{
    struct batch *b = g->b;
    uint32_t n = b->nrows;
    const char *step = NULL;
    char id[32];

    if (!put_texts (g, r))
        return false;
    if (r->key.step != KERNEL_NO_STEP)
        step = g->names->step (g->names->arg, r->key.step, id);
    b->real[KERNEL_DEVICE][n] = r->key.device < 0 ? NAN
                                                  : (double)r->key.device;
    b->text[KERNEL_STEP][n] = batch_string (b, step);
    b->real[KERNEL_COUNT][n] = (double)r->count;
    b->real[KERNEL_TOTAL][n] = r->total;
    b->real[KERNEL_MIN][n] = r->min;
    b->real[KERNEL_MAX][n] = r->max;
    b->text[KERNEL_METRICS][n] = put_metrics (g, r);
    b->nrows++;
    return true;
}

bool kernel_fold_give (const struct kernel_fold *f, struct source *src,
                       const struct kernel_names *names, struct err *err)
{
    struct batch b = { .nrows = 0 };
    struct giving g = { .f = f, .names = names, .b = &b };
    int rc = batch_init (&b, TABLE_KERNEL, err);
    bool good = rc == 0;

    skip_times (&g);
    for (uint32_t i = 0; i < f->rows.n && good; i++)
        good = put_row (&g, map_at (&f->rows, i)) &&
               (!batch_full (&b) || source_flush (src, &b, err));
    return source_finish (src, &b, rc, err) && good;
}
