/* node_agent/extract/text/read_statistic.c - read op_statistic.csv and
 * api_statistic.csv
 *
 * The profiler has summed them, one row for each kind of operator or API and
 * each device.  See doc/formats.md, "Statistics".
 */
#include "extract/input/csv.h"
#include "extract/text/read_text.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MAX 4096u          // further ones are summed in one row
#define TEXT_MAX 256u           // bytes of a name

/* Both tables are alike: a device, two texts, and numbers. */
enum { DEVICE = OPERATOR_DEVICE, FIRST = OPERATOR_TYPE,
       SECOND = OPERATOR_CORE, COUNT = OPERATOR_COUNT, TOTAL = OPERATOR_TOTAL,
       MIN = OPERATOR_MIN, MAX = OPERATOR_MAX, COLUMNS };

_Static_assert ((int)API_DEVICE == DEVICE && (int)API_LEVEL == FIRST &&
                (int)API_NAME == SECOND && (int)API_COUNT == COUNT &&
                (int)API_TOTAL == TOTAL && (int)API_MIN == MIN &&
                (int)API_MAX == MAX, "the tables are alike");

struct form {
    const char *file;
    enum table_id table;
    int name;                   // the one of the two columns that is never
                                // empty
    struct csv_column columns[COLUMNS];
};

static const struct form operators = {
    "op_statistic.csv", TABLE_OPERATOR, FIRST, {
        [DEVICE] = { "Device_id", true },
        [FIRST] = { "OP Type", false },
        [SECOND] = { "Core Type", true },
        [COUNT] = { "Count", false },
        [TOTAL] = { "Total Time(us)", false },
        [MIN] = { "Min Time(us)", true },
        [MAX] = { "Max Time(us)", true },
    },
};

static const struct form apis = {
    "api_statistic.csv", TABLE_API, SECOND, {
        [DEVICE] = { "Device_id", true },
        [FIRST] = { "Level", true },
        [SECOND] = { "API Name", false },
        [COUNT] = { "Count", false },
        [TOTAL] = { "Time(us)", false },
        [MIN] = { "Min(us)", true },
        [MAX] = { "Max(us)", true },
    },
};

struct statistic {
    const struct form *form;
    struct csv csv;
    int where[COLUMNS];
    struct batch batch;
    uint32_t rows;
    uint64_t more;              // rows that were summed
    double sum[COLUMNS];        // sums of these
};

/* Read a device: "0" is one, "host" is none. */
static bool read_device (struct csv *c, int i, double *ret)
{
    struct csv_field f;

    *ret = NAN;
    if (!csv_field (c, i, &f))
        return false;
    if (f.n > 0 && f.s[0] >= '0' && f.s[0] <= '9' &&
        units_real (f.s, f.n, ret) < 0)
        return csv_fail (c, "not a device:", f);
    return true;
}

static bool read_numbers (struct statistic *s, double v[COLUMNS])
{
    if (!read_device (&s->csv, s->where[DEVICE], &v[DEVICE]))
        return false;
    for (int col = COUNT; col < COLUMNS; col++) {
        int i = s->where[col];

        if (!csv_real (&s->csv, i, &v[col]))
            return false;
        if (v[col] < 0)
            return csv_fail (&s->csv, "negative:",
                             s->csv.fields[i]);
    }
    return true;
}

static void add_more (struct statistic *s, const double v[COLUMNS])
{
    double *sum = s->sum;

    if (s->more++ == 0)
        memcpy (sum, v, sizeof (s->sum));
    else {
        sum[COUNT] += v[COUNT];
        sum[TOTAL] += v[TOTAL];
        sum[MIN] = fmin (sum[MIN], v[MIN]);
        sum[MAX] = fmax (sum[MAX], v[MAX]);
    }
}

static bool put_texts (struct statistic *s)
{
    struct batch *b = &s->batch;

    for (int col = FIRST; col <= SECOND; col++) {
        struct csv_field f = { NULL, 0 };

        if (s->where[col] >= 0 &&
            !csv_text (&s->csv, s->where[col], TEXT_MAX, &f))
            return false;
        b->text[col][b->nrows] = f.n > 0 || col == s->form->name
                                     ? batch_text (b, f.s, f.n)
                                     : BATCH_NULL_TEXT;
    }
    return true;
}

static void put_numbers (struct batch *b, const double v[COLUMNS])
{
    b->real[DEVICE][b->nrows] = v[DEVICE];
    for (int col = COUNT; col < COLUMNS; col++)
        b->real[col][b->nrows] = v[col];
    b->nrows++;
}

static bool read_row (struct statistic *s, struct err *err)
{
    struct batch *b = &s->batch;
    double v[COLUMNS];

    if (!read_numbers (s, v))
        return false;
    if (s->rows >= ROWS_MAX) {
        add_more (s, v);
        return true;
    }
    if (!put_texts (s))
        return false;
    put_numbers (b, v);
    s->rows++;
    return !batch_full (b) || source_flush (s->csv.src, b, err);
}

static void put_more (struct statistic *s)
{
    struct batch *b = &s->batch;
    char name[48];
    int n = snprintf (name, sizeof (name), "(%llu more)",
                      (unsigned long long)s->more);

    if (s->more == 0)
        return;
    s->sum[DEVICE] = NAN;
    b->text[FIRST][b->nrows] = b->text[SECOND][b->nrows] = BATCH_NULL_TEXT;
    b->text[s->form->name][b->nrows] = batch_text (b, name, (size_t)n);
    put_numbers (b, s->sum);
}

static enum reading read_file (const struct form *form, struct source *src,
                               struct err *err)
{
    struct statistic s = { .form = form };
    enum reading how = csv_open (&s.csv, src, src->out, form->file, err);

    if (how != READING_WHOLE)
        return how;
    if ((src->stopped = batch_init (&s.batch, form->table, err)) == 0) {
        bool ok = csv_columns (&s.csv, form->columns, COLUMNS, s.where);

        while (ok && csv_next (&s.csv))
            ok = read_row (&s, err);
        if (!src->stopped) {
            put_more (&s);
            (void)source_flush (src, &s.batch, err);
        }
    }
    batch_fini (&s.batch);
    return csv_close (&s.csv, err);
}

enum reading read_op_statistic (struct source *src, unsigned want,
                                struct err *err)
{
    (void)want;
    return read_file (&operators, src, err);
}

enum reading read_api_statistic (struct source *src, unsigned want,
                                 struct err *err)
{
    (void)want;
    return read_file (&apis, src, err);
}
