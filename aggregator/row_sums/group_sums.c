/* aggregator/row_sums/group_sums.c - GROUP BY for few groups */
#include "row_sums/group_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY_WORDS (GROUP_TEXTS_MAX / 2 + 1)     // two texts per word, a number

static inline void add_value (double *to, double v, bool is_sum)
{
    if (isnan (*to))
        *to = v;
    else if (!isnan (v))
        *to = is_sum ? *to + v : fmax (*to, v);
}

/* memcmp without a call. */
static inline bool same_key (const struct group_sum *a,
                             const struct group_sum *b)
{
    uint64_t x[KEY_WORDS], y[KEY_WORDS], differ = 0;

    memcpy (x, a, sizeof (x));
    memcpy (y, b, sizeof (y));
    for (unsigned i = 0; i < KEY_WORDS; i++)
        differ |= x[i] ^ y[i];
    return differ == 0;
}

/* Ops resemble each other, so that the groups of their rows come in the same
 * order as before: the group that followed the last one, if it is this one.
 */
static struct group_sum *expected (const struct group_sums *g,
                                   const struct group_sum *key)
{
    const struct group_sum *last;
    struct group_sum *next;

    if (g->last == 0)
        return NULL;
    last = map_at (&g->sums, g->last - 1);
    if (last->next == 0)
        return NULL;
    next = map_at (&g->sums, last->next - 1);
    return same_key (next, key) ? next : NULL;
}

static void expect (struct group_sums *g, const struct group_sum *sum)
{
    uint32_t number = (uint32_t)(sum - (struct group_sum *)g->sums.records);

    if (g->last > 0)
        ((struct group_sum *)map_at (&g->sums, g->last - 1))->next = number + 1;
    g->last = number + 1;
}

int group_sums_add (struct group_sums *g, const uint32_t *texts, double number,
                    const double *values, struct err *err)
{
    // equal numbers must have the same bits
    struct group_sum key = { .number = isnan (number) ? (double)NAN
                                                      : number + 0.0 };
    struct group_sum *sum;
    bool is_new = false;

    if (g->sums.size == 0)
        g->sums = (struct map)MAP (struct group_sum, KEY_WORDS);
    memcpy (key.texts, texts, (size_t)g->ntexts * sizeof (*texts));
    if (!(sum = expected (g, &key)) &&
        !(sum = map_put (&g->sums, &key, &is_new)))
        return err_set (err, ENOMEM, "no memory for sums");
    expect (g, sum);
    for (int i = 0; i < g->nvalues && is_new; i++)
        sum->values[i] = (double)NAN;
    sum->rows++;
    for (int i = 0; i < g->nvalues; i++)
        add_value (&sum->values[i], values[i], i < g->nsums);
    return 0;
}

static int compare_texts (const struct group_sums *g, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    if (a == TEXTS_NONE || b == TEXTS_NONE)
        return a == TEXTS_NONE ? -1 : 1;
    return strcmp (texts_at (&g->texts, a), texts_at (&g->texts, b));
}

static int group_sums_compare (const void *pa, const void *pb, void *arg)
{
    const struct group_sum *a = pa, *b = pb;
    const struct group_sums *g = arg;
    int order = 0;

    for (int i = 0; i < g->ntexts && order == 0; i++)
        order = compare_texts (g, a->texts[i], b->texts[i]);
    if (order == 0 && isnan (a->number) != isnan (b->number))
        return isnan (a->number) ? -1 : 1;
    return order ? order
                 : (a->number > b->number) - (a->number < b->number);
}

void group_sums_sort (struct group_sums *g)
{
    if (g->sums.n > 0)
        qsort_r (g->sums.records, g->sums.n, g->sums.size, group_sums_compare,
                 g);
}

void group_sums_clear (struct group_sums *g)
{
    g->last = 0;
    map_clear (&g->sums);
    texts_clear (&g->texts);
}

void group_sums_fini (struct group_sums *g)
{
    texts_fini (&g->texts);
    map_fini (&g->sums);
}
