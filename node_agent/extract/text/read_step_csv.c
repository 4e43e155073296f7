/* node_agent/extract/text/read_step_csv.c - read step_trace_time.csv
 *
 * Columns are found by their names in the first line, since old files lack
 * some; see doc/formats.md, "step_trace_time.csv".
 */
#include "extract/input/csv.h"
#include "extract/text/read_text.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

#define FILE_NAME "step_trace_time.csv"

/* Columns in the order of the table; those that old files lack are optional. */
static const struct csv_column columns[] = {
    [STEP_DEVICE] = { "Device_id", true },
    [STEP_STEP] = { "Step", false },
    [STEP_COMPUTING] = { "Computing", false },
    [STEP_NOT_OVERLAPPED] = { "Communication(Not Overlapped)", false },
    [STEP_OVERLAPPED] = { "Overlapped", false },
    [STEP_COMMUNICATION] = { "Communication", false },
    [STEP_FREE] = { "Free", false },
    [STEP_STAGE] = { "Stage", false },
    [STEP_BUBBLE] = { "Bubble", false },
    [STEP_EXCLUDE_RECEIVE] = {
        "Communication(Not Overlapped and Exclude Receive)", false },
    [STEP_PREPARING] = { "Preparing", true },
};

#define COLUMNS (sizeof (columns) / sizeof (columns[0]))

struct steps {
    struct csv csv;
    int where[COLUMNS];         // field of each column, -1: absent
    double device;              // of rows without one; NaN: not known
    struct batch batch;
};

static bool read_numbers (struct steps *s, uint32_t row)
{
    for (size_t col = 0; col < COLUMNS; col++) {
        double *out = s->batch.real[col];
        struct csv_field f;

        if (!csv_field (&s->csv, s->where[col], &f))
            return false;
        if (col == STEP_STEP)
            continue;
        out[row] = col == STEP_DEVICE ? s->device : NAN;
        if (f.s && units_real (f.s, f.n, &out[row]) < 0)
            return csv_fail (&s->csv, "not a number:", f);
    }
    return true;
}

/* Read a row.  False: the file is damaged, or src->stopped. */
static bool read_row (struct steps *s, struct err *err)
{
    struct source *src = s->csv.src;
    struct batch *b = &s->batch;
    struct csv_field step;

    if (!read_numbers (s, b->nrows))
        return false;
    step = s->csv.fields[s->where[STEP_STEP]];
    for (size_t i = 0; i < step.n; i++) {
        if ((unsigned char)step.s[i] <= ' ' || (unsigned char)step.s[i] > 126)
            return csv_fail (&s->csv, "not a step:", step);
    }
    if (!source_wants (src, 1u << TABLE_STEP, step.s, step.n))
        return true;
    b->text[STEP_STEP][b->nrows] = step.n ? batch_text (b, step.s, step.n)
                                          : BATCH_NULL_TEXT;
    b->nrows++;
    return !batch_full (b) || source_flush (src, b, err);
}

/* The device from profiler_info: the file of MindSpore has none. */
static double known_device (const struct capture *c)
{
    return strcmp (c->framework, "ascend_ms") == 0 && c->device_id >= 0
               ? (double)c->device_id : NAN;
}

enum reading read_step_csv (struct source *src, unsigned want,
                            struct err *err)
{
    struct steps s;
    struct batch *b = &s.batch;
    bool any = false;
    enum reading how = csv_open (&s.csv, src, src->out, FILE_NAME, err);

    (void)want;
    if (how != READING_WHOLE)
        return how;
    if ((src->stopped = batch_init (b, TABLE_STEP, err)) == 0) {
        bool ok = csv_columns (&s.csv, columns, COLUMNS, s.where);

        s.device = known_device (src->capture);
        while (ok && csv_next (&s.csv)) {
            any = true;
            ok = read_row (&s, err);
        }
        if (ok && !any)                 // the profiler never writes such a file
            (void)csv_fail (&s.csv, "nothing is below it",
                            (struct csv_field){ NULL, 0 });
        (void)source_flush (src, b, err);
    }
    batch_fini (b);
    return csv_close (&s.csv, err);
}
