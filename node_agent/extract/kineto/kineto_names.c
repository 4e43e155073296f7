/* node_agent/extract/kineto/kineto_names.c - sums by name, for kernels and for
 * ranges of the program
 *
 * A table has room for KINETO_NAMES names.  Further ones, and small ones at the
 * end, are summed as "others".
 */
#include "extract/kineto/kineto.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NAME_BYTES 512u                 // bytes of a name; templates are long
#define KERNELS_GIVEN 256u
#define RANGES_GIVEN 64u

void kineto_names_fini (struct named_table *t)
{
    map_fini (&t->names);
    buf_fini (&t->bytes);
}

static uint64_t hash_of (struct span name, uint8_t what)
{
    uint64_t h = UINT64_C (0x9e3779b97f4a7c15) + what, v;
    size_t i = 0;

    for (; i + 8 <= name.n; i += 8) {
        memcpy (&v, name.s + i, 8);
        h = (h ^ v) * UINT64_C (0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    for (; i < name.n; i++)
        h = (h ^ (unsigned char)name.s[i]) * UINT64_C (0x100000001b3);
    return h ^ h >> 29;
}

static void kineto_names_add (struct named *n, int64_t start, int64_t dur)
{
    if (n->count == 0 || dur < n->min)
        n->min = dur;
    if (n->count == 0 || dur > n->max)
        n->max = dur;
    if (n->count == 0 || start < n->first)
        n->first = start;
    n->count++;
    // sums of a malicious file must not overflow
    n->total = n->total > INT64_MAX - dur ? INT64_MAX : n->total + dur;
}

/* Add a name.  Returns its number. */
static uint32_t kineto_names_put (struct kineto *k, struct named_table *t,
                                  struct span name, uint8_t what, uint64_t hash)
{
    char plain[NAME_BYTES];
    size_t n, at = t->bytes.size;
    struct named *named;
    bool is_new;

    if (t->names.n == KINETO_NAMES)
        return KINETO_NONE;
    if (at == 0) {
        buf_init (&t->bytes, (size_t)KINETO_NAMES * NAME_BYTES);
        t->names = (struct map)MAP (struct named, 1);
    }
    n = trace_plain (name, plain, sizeof (plain));
    buf_put (&t->bytes, plain, n + 1);
    if (t->bytes.failed || !(named = map_put (&t->names, &hash, &is_new))) {
        k->src->stopped = err_set (k->err, ENOMEM, "no memory for names");
        return KINETO_NONE;
    }
    named->what = what;
    named->at = (uint32_t)at;
    return t->names.n - 1;
}

uint32_t kineto_name_number (struct kineto *k, struct named_table *t,
                             struct span name, uint8_t what)
{
    uint64_t hash = hash_of (name, what);
    struct named *named = map_get (&t->names, &hash);

    return named ? (uint32_t)(named - (struct named *)t->names.records)
                 : kineto_names_put (k, t, name, what, hash);
}

void kineto_name_add (struct named_table *t, uint32_t number, int64_t start,
                      int64_t dur)
{
    kineto_names_add (number == KINETO_NONE ? &t->others
                                            : map_at (&t->names, number),
                      start, dur);
}

/* ---- giving them out ---- */

static int by_total (const void *pa, const void *pb)
{
    const struct named *a = pa, *b = pb;

    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* Sort by decreasing size; names after the first 'max' join the others. */
static uint32_t order (struct named_table *t, uint32_t max)
{
    if (t->names.n > 0)
        qsort (t->names.records, t->names.n, t->names.size, by_total);
    for (uint32_t i = max; i < t->names.n; i++) {
        struct named *n = map_at (&t->names, i), *o = &t->others;

        o->min = o->count == 0 || n->min < o->min ? n->min : o->min;
        o->max = n->max > o->max ? n->max : o->max;
        o->first = o->count == 0 || n->first < o->first ? n->first : o->first;
        o->count += n->count;
        o->total = o->total > INT64_MAX - n->total ? INT64_MAX
                                                   : o->total + n->total;
    }
    return t->names.n < max ? t->names.n : max;
}

static const char *name_of (const struct named_table *t, const struct named *n)
{
    return (const char *)t->bytes.data + n->at;
}

static const char *const kinds[] = {
    [GPU_COMPUTING] = "kernel",
    [GPU_COMMUNICATION] = "communication",
    [GPU_MEMORY] = "memory",
    [GPU_SYNC] = "sync",
};

static void put_kernel (struct kineto *k, struct batch *b,
                        const struct named *n, const char *name,
                        const char *kind)
{
    uint32_t row = b->nrows++;

    b->real[OPERATOR_DEVICE][row] = k->device < 0 ? NAN : (double)k->device;
    b->text[OPERATOR_TYPE][row] = batch_text (b, name, strlen (name));
    b->text[OPERATOR_CORE][row] = kind ? batch_text (b, kind, strlen (kind))
                                       : BATCH_NULL_TEXT;
    b->real[OPERATOR_COUNT][row] = (double)n->count;
    b->real[OPERATOR_TOTAL][row] = time_us (n->total);
    b->real[OPERATOR_MIN][row] = time_us (n->min);
    b->real[OPERATOR_MAX][row] = time_us (n->max);
}

bool kineto_emit_kernels (struct kineto *k)
{
    struct named_table *t = &k->kernels;
    uint32_t n = order (t, KERNELS_GIVEN);
    struct batch b;
    int rc = batch_init (&b, TABLE_OPERATOR, k->err);

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const struct named *named = map_at (&t->names, i);

        put_kernel (k, &b, named, name_of (t, named), kinds[named->what & 3]);
    }
    if (rc == 0 && t->others.count > 0)
        put_kernel (k, &b, &t->others, "others", NULL);
    return source_finish (k->src, &b, rc, k->err);
}

static void put_range (struct kineto *k, struct batch *b,
                       const struct named *n, const char *name, uint8_t what)
{
    static const char host[] = "user_annotation";
    static const char device[] = "gpu_user_annotation";
    const char *kind = what ? device : host;
    uint32_t row = b->nrows++;

    b->text[RANGE_KIND][row] = batch_text (b, kind, strlen (kind));
    b->text[RANGE_DOMAIN][row] = BATCH_NULL_TEXT;
    b->text[RANGE_NAME][row] = batch_text (b, name, strlen (name));
    b->real[RANGE_COUNT][row] = (double)n->count;
    b->real[RANGE_TOTAL][row] = time_us (n->total);
    b->real[RANGE_MIN][row] = time_us (n->min);
    b->real[RANGE_MAX][row] = time_us (n->max);
    b->real[RANGE_FIRST][row] = kineto_us (k, n->first);
}

bool kineto_emit_ranges (struct kineto *k)
{
    struct named_table *t = &k->ranges;
    uint32_t n = order (t, RANGES_GIVEN);
    struct batch b;
    int rc = batch_init (&b, TABLE_RANGE, k->err);

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const struct named *named = map_at (&t->names, i);

        put_range (k, &b, named, name_of (t, named), named->what);
    }
    if (rc == 0 && t->others.count > 0)
        put_range (k, &b, &t->others, "others", 0);
    return source_finish (k->src, &b, rc, k->err);
}
