/* node_agent/extract/text/read_kernel_details.c - read the kernels in
 * kernel_details.csv
 *
 * read_kernels.c sums them for each step; here they are aggregated by name,
 * type, core and shapes.  See doc/formats.md, "Kernels".
 */
#include "base/texts.h"
#include "extract/input/csv.h"
#include "extract/rows/kernel_fold.h"
#include "extract/text/read_text.h"

#include <errno.h>
#include <string.h>

#define FILE_NAME "kernel_details.csv"
#define TEXTS_MAX (4 * KERNEL_ROWS_MAX)         // different texts
#define TEXT_BYTES_MAX (16u << 20)              // bytes of all texts
#define STEP_ID_MAX 24u
#define METRIC_NAME_MAX 48u
#define US_MAX 1e15             // 31 years

enum { K_STEP, K_DEVICE, K_NAME, K_TYPE, K_CORE, K_SHAPES, K_DUR, K_COLUMNS };

static const struct csv_column columns[K_COLUMNS] = {
    [K_STEP] = { "Step Id", true },
    [K_DEVICE] = { "Device_id", true },
    [K_NAME] = { "Name", false },
    [K_TYPE] = { "Type", true },
    [K_CORE] = { "Accelerator Core", false },
    [K_SHAPES] = { "Input Shapes", true },
    [K_DUR] = { "Duration(us)", false },
};

struct reader {
    struct source *src;
    struct err *err;
    struct csv csv;
    int where[K_COLUMNS];
    int metric_at[KERNEL_METRICS_MAX];
    char metric_names[KERNEL_METRICS_MAX][METRIC_NAME_MAX];
    struct texts texts;
    struct kernel_fold fold;
    char step[STEP_ID_MAX];     // of the previous row
    bool any, wanted;           // there was a row; its step is wanted
};

/* ---- texts ---- */

/* Get the number of a text; KERNEL_NO_TEXT if it is empty, or if there is no
 * room for it, which sets *full.  Returns 0 or -ENOMEM.
 */
static int text_number (struct texts *t, const char *s, size_t n,
                        int64_t *ret, bool *full)
{
    uint32_t number = n > 0 ? texts_find (t, s, n) : TEXTS_NONE;

    *ret = KERNEL_NO_TEXT;
    if (n == 0)
        return 0;
    if (number == TEXTS_NONE &&
        (t->map.n == TEXTS_MAX || t->used + n >= TEXT_BYTES_MAX)) {
        *full = true;
        return 0;
    }
    if (number == TEXTS_NONE &&
        (number = texts_intern (t, s, n)) == TEXTS_NONE)
        return -ENOMEM;
    *ret = number;
    return 0;
}

/* ---- the first line ---- */

static bool begins (struct csv_field f, const char *s)
{
    return f.n >= strlen (s) && memcmp (f.s, s, strlen (s)) == 0;
}

static bool read_kernel_details_ends (struct csv_field f, const char *s)
{
    size_t n = strlen (s);

    return f.n >= n && memcmp (f.s + f.n - n, s, n) == 0;
}

/* Whether a column is a counter of the cores.  Which of them exist depends on
 * the configuration.
 */
static bool is_metric (struct csv_field f)
{
    return begins (f, "aic_") || begins (f, "aiv_") || begins (f, "aicore_") ||
           begins (f, "cube_") || read_kernel_details_ends (f, "_ratio") ||
 read_kernel_details_ends (f, "_cycles") ||
           read_kernel_details_ends (f, "_miss_rate");
}

/* Get the name of a counter, without the unit in brackets. */
static bool metric_name (struct csv_field f, char out[METRIC_NAME_MAX])
{
    size_t n = 0;

    while (n < f.n && n < METRIC_NAME_MAX - 1 && f.s[n] != '(') {
        char c = f.s[n];

        if (c != '_' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
            !(c >= 'A' && c <= 'Z'))
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return n > 0;
}

static void find_metrics (struct reader *r)
{
    const struct csv *c = &r->csv;
    unsigned *n = &r->fold.nmetrics;

    for (int i = 0; i < c->nfields && *n < KERNEL_METRICS_MAX; i++) {
        if (is_metric (c->fields[i]) &&
            metric_name (c->fields[i], r->metric_names[*n]))
            r->metric_at[(*n)++] = i;
    }
}

/* ---- rows ---- */

static bool text_is (struct csv_field t, const char *s)
{
    return t.n == strlen (s) && (t.n == 0 || memcmp (t.s, s, t.n) == 0);
}

static bool no_memory (struct reader *r)
{
    r->src->stopped = err_set (r->err, ENOMEM, "no memory to read " FILE_NAME);
    return false;
}

/* Get the number of the text of a field, without quotes; "N/A" is NULL. */
static bool read_text (struct reader *r, int column, size_t max,
                       int64_t *ret, bool *full)
{
    struct csv_field f = { NULL, 0 };

    if (r->where[column] >= 0 &&
        !csv_text (&r->csv, r->where[column], max, &f))
        return false;
    if (f.n >= 2 && f.s[0] == '"' && f.s[f.n - 1] == '"') {
        f.s++;
        f.n -= 2;
    }
    if (text_is (f, "N/A"))
        f.n = 0;
    return text_number (&r->texts, f.s, f.n, ret, full) == 0 || no_memory (r);
}

/* Get the number of the step, and set r->wanted. */
static bool read_step (struct reader *r, uint32_t *ret, bool *full)
{
    struct csv_field f;
    int64_t number;

    if (!csv_field (&r->csv, r->where[K_STEP], &f))
        return false;
    for (size_t i = 0; i < f.n; i++) {
        if (f.n >= STEP_ID_MAX || f.s[i] < '0' || f.s[i] > '9')
            return csv_fail (&r->csv, "not a step:", f);
    }
    if (!r->any || !text_is (f, r->step)) {
        r->any = true;
        memcpy (r->step, f.n ? f.s : "", f.n);
        r->step[f.n] = '\0';
        r->wanted = source_wants (r->src, 1u << TABLE_KERNEL, r->step, f.n);
    }
    *ret = KERNEL_NO_STEP;
    if (!r->wanted)
        return true;
    // a step without a name has the number of " "
    if (text_number (&r->texts, f.n ? f.s : " ", f.n ? f.n : 1, &number,
                     full) < 0)
        return no_memory (r);
    if (number != KERNEL_NO_TEXT)
        *ret = (uint32_t)number;
    return true;
}

static bool read_numbers (struct reader *r, int64_t *device, double *us,
                          double metrics[KERNEL_METRICS_MAX])
{
    struct csv_field dur;
    double d;

    if (!csv_field (&r->csv, r->where[K_DUR], &dur) ||
        !csv_real (&r->csv, r->where[K_DUR], us) ||
        !csv_real (&r->csv, r->where[K_DEVICE], &d))
        return false;
    if (!(*us >= 0 && *us <= US_MAX))
        return csv_fail (&r->csv, "not a duration:", dur);
    *device = d >= 0 && d <= INT32_MAX ? (int64_t)d : KERNEL_NO_DEVICE;
    for (unsigned i = 0; i < r->fold.nmetrics; i++) {
        if (!csv_real (&r->csv, r->metric_at[i], &metrics[i]))
            return false;
    }
    return true;
}

static bool read_row (struct reader *r)
{
    double metrics[KERNEL_METRICS_MAX], us;
    bool full = false;
    struct csv_field core;
    struct kernel_key k = { .others = 0 };

    if (!csv_field (&r->csv, r->where[K_CORE], &core))
        return false;
    if (text_is (core, "COMMUNICATION") || text_is (core, "HCCL"))
        return true;            // an op
    if (!read_step (r, &k.step, &full))
        return false;
    if (!r->wanted)
        return true;
    if (!read_numbers (r, &k.device, &us, metrics) ||
        !read_text (r, K_NAME, KERNEL_NAME_BYTES, &k.name, &full) ||
        !read_text (r, K_TYPE, KERNEL_NAME_BYTES, &k.type, &full) ||
        !read_text (r, K_CORE, KERNEL_NAME_BYTES, &k.core, &full) ||
        !read_text (r, K_SHAPES, KERNEL_SHAPES_BYTES, &k.shapes, &full))
        return false;
    return (full ? kernel_fold_add_other (&r->fold, k.device, k.step, us)
                 : kernel_fold_add (&r->fold, &k, us, metrics)) == 0 ||
           no_memory (r);
}

/* ---- KernelDetail ---- */

static bool give_text (void *arg, int64_t number, size_t max, const char **s,
                       size_t *n)
{
    const struct reader *r = arg;

    (void)max;                  // texts were cut when they were read
    *s = texts_at (&r->texts, (uint32_t)number);
    *n = texts_size (&r->texts, (uint32_t)number);
    return true;
}

static const char *give_step (void *arg, uint32_t step, char out[32])
{
    const struct reader *r = arg;
    const char *id = texts_at (&r->texts, step);

    (void)out;
    return id[0] == ' ' ? NULL : id;
}

static bool read_kernel_details_give (struct reader *r)
{
    struct kernel_names names = { r, give_text, give_step, { NULL } };

    for (unsigned i = 0; i < r->fold.nmetrics; i++)
        names.metrics[i] = r->metric_names[i];
    return kernel_fold_give (&r->fold, r->src, &names, r->err);
}

static enum reading read_file (struct reader *r)
{
    enum reading how = csv_open (&r->csv, r->src, r->src->out, FILE_NAME,
                                 r->err);

    if (how != READING_WHOLE)
        return how;
    if (csv_columns (&r->csv, columns, K_COLUMNS, r->where)) {
        find_metrics (r);
        while (csv_next (&r->csv) && read_row (r))
            ;
    }
    how = csv_close (&r->csv, r->err);
    // of some of the rows there would be means, but no sums
    if (how == READING_WHOLE && r->fold.rows.n == 0)
        return READING_ABSENT;
    if (how == READING_WHOLE && !read_kernel_details_give (r))
        return READING_STOPPED;
    return how;
}

enum reading read_kernel_details (struct source *src, unsigned want,
                                  struct err *err)
{
    struct reader r = { .src = src, .err = err };
    enum reading how = read_file (&r);

    (void)want;
    kernel_fold_fini (&r.fold);
    texts_fini (&r.texts);
    return how;
}
