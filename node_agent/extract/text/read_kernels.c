/* node_agent/extract/text/read_kernels.c - read steps and ops from
 * kernel_details.csv
 *
 * It has a row for each kernel and each communication op, in the order of their
 * starts.  Their sums for each device and step are StepTraceTime, the ops are
 * CommAnalyzerTime; see doc/formats.md, "kernel_details.csv".
 */
#include "extract/input/csv.h"
#include "extract/rows/comm_rows.h"
#include "extract/rows/kernel_sums.h"
#include "extract/rows/step_rows.h"
#include "extract/rows/times.h"
#include "extract/text/read_text.h"

#include "base/map.h"
#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "kernel_details.csv"
#define NAME_MAX_BYTES 1023u    // bytes of the name of an op
#define STEPS_MAX 65536u        // devices times steps
#define STEP_ID_MAX 24u
#define STEP_WORDS (1 + STEP_ID_MAX / 8)        // of map.h
#define NS_MAX INT64_C (4000000000000000000)    // year 2096

enum { K_STEP, K_DEVICE, K_NAME, K_CORE, K_START, K_DUR, K_COLUMNS };

static const struct csv_column columns[K_COLUMNS] = {
    [K_STEP] = { "Step Id", true },
    [K_DEVICE] = { "Device_id", true },
    [K_NAME] = { "Name", false },
    [K_CORE] = { "Accelerator Core", false },
    [K_START] = { "Start Time(us)", false },
    [K_DUR] = { "Duration(us)", false },
};

struct step {
    int64_t device;             // key; -1: there is no such column
    char id[STEP_ID_MAX];       // key, too, filled with NULs
    struct kernel_sums sums;
    int64_t bubble;
};

struct reader {
    struct source *src;
    struct err *err;
    struct csv csv;
    int where[K_COLUMNS];       // field, -1: absent
    struct map steps;
    uint32_t current;           // step of the previous row
    struct batch time, step;
    bool want_time;
};

static bool read_kernels_damaged (struct reader *r, const char *what,
                                  struct csv_field f)
{
    return csv_fail (&r->csv, what, f);
}

static bool text_is (struct csv_field t, const char *s)
{
    return t.n == strlen (s) && (t.n == 0 || memcmp (t.s, s, t.n) == 0);
}

/* ---- rows ---- */

static bool stop (struct reader *r, int rc)
{
    r->src->stopped = err_set (r->err, -rc, "no memory to read " FILE_NAME);
    return false;
}

static bool is_step (const struct step *s, int64_t device,
                     struct csv_field id)
{
    return s->device == device && text_is (id, s->id);
}

/* Find or add the sums of a device and step.  NULL: damaged, or stopped. */
static struct step *step_of (struct reader *r, int64_t device,
                             struct csv_field id)
{
    struct step key = { .device = device }, *s;
    bool is_new, fits = id.n < STEP_ID_MAX;

    // usually it is that of the previous row
    if (r->steps.n > 0) {
        s = map_at (&r->steps, r->current);
        if (is_step (s, device, id))
            return s;
    }
    if (fits && id.n > 0)
        memcpy (key.id, id.s, id.n);
    if (!fits || (r->steps.n == STEPS_MAX && !map_get (&r->steps, &key))) {
        (void)read_kernels_damaged (r, "not a step:", id);
        return NULL;
    }
    if (!(s = map_put (&r->steps, &key, &is_new))) {
        (void)stop (r, -ENOMEM);
        return NULL;
    }
    r->current = (uint32_t)(s - (const struct step *)r->steps.records);
    return s;
}

static bool put_time (struct reader *r, const char *id, int64_t start,
                      double us)
{
    struct batch *b = &r->time;
    char op[NAME_MAX_BYTES + 1], step[STEP_ID_MAX + 8];
    struct csv_field name;
    struct comm_figures f;
    struct comm_texts x;

    if (!csv_text (&r->csv, r->where[K_NAME], NAME_MAX_BYTES, &name))
        return false;
    // repaired bytes may have become more
    name.n = name.n < NAME_MAX_BYTES ? name.n : NAME_MAX_BYTES;
    memcpy (op, name.s, name.n);
    op[name.n] = '\0';
    (void)snprintf (step, sizeof (step), "step%s", id);
    if (!steps_wanted (r->src->steps, step, strlen (step)))
        return true;
    f = comm_figures_of_call (time_us_of_text (start), us / 1000.0);
    x = (struct comm_texts){ op, comm_group_of (r->src, op), step,
                             comm_type (comm_op_is_p2p (op)) };
    comm_time_put (b, &x, &f);
    return !batch_full (b) || source_flush (r->src, b, r->err);
}

/* Read the device; -1 without one. */
static bool read_device (struct reader *r, int64_t *ret)
{
    double device;

    if (!csv_real (&r->csv, r->where[K_DEVICE], &device))
        return false;
    *ret = device >= 0 && device <= INT32_MAX ? (int64_t)device : -1;
    return true;
}

/* Read start and duration of a row in ns, and the duration as it is printed. */
static bool read_times (struct reader *r, int64_t *start, int64_t *ns,
                        double *us)
{
    struct csv_field at, dur;

    if (!csv_field (&r->csv, r->where[K_START], &at) ||
        !csv_field (&r->csv, r->where[K_DUR], &dur) ||
        !csv_real (&r->csv, r->where[K_DUR], us))
        return false;
    if (units_us_to_ns (at.s, at.n, start) < 0 || *start > NS_MAX)
        return read_kernels_damaged (r, "not a time:", at);
    if (!(*us >= 0) || *us > NS_MAX / 4000.0)
        return read_kernels_damaged (r, "not a duration:", dur);
    if (units_us_to_ns (dur.s, dur.n, ns) < 0)
        *ns = (int64_t)(*us * 1000);    // it has an exponent
    return true;
}

static bool is_step_id (struct csv_field t)
{
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9')
            return false;
    }
    return true;
}

static bool read_row (struct reader *r)
{
    struct csv_field name, core, id, at;
    int64_t start, ns, device;
    struct step *s;
    double us;
    bool comm;

    if (!csv_field (&r->csv, r->where[K_NAME], &name) ||
        !csv_field (&r->csv, r->where[K_CORE], &core) ||
        !csv_field (&r->csv, r->where[K_STEP], &id) ||
        !csv_field (&r->csv, r->where[K_START], &at) ||
        !read_times (r, &start, &ns, &us) || !read_device (r, &device))
        return false;
    if (!is_step_id (id))
        return read_kernels_damaged (r, "not a step:", id);
    if (!(s = step_of (r, device, id)))
        return false;
    comm = text_is (core, "COMMUNICATION") || text_is (core, "HCCL");
    if (!kernel_sums_add (&s->sums, start, start + ns, comm))
        return read_kernels_damaged (
            r, "starts before the row of its step above it:", at);
    if (!comm)
        return true;
    if (name.n >= 12 && memcmp (name.s, "hcom_receive", 12) == 0 &&
        s->bubble <= NS_MAX)
        s->bubble += ns;
    return !r->want_time || put_time (r, s->id, start, us);
}

/* ---- StepTraceTime ---- */

static bool put_steps (struct reader *r)
{
    struct batch *b = &r->step;

    for (uint32_t i = 0; i < r->steps.n; i++) {
        struct step *s = map_at (&r->steps, i);
        struct kernel_sums *k = &s->sums;

        if (!steps_wanted (r->src->steps, s->id, strlen (s->id)))
            continue;
        kernel_sums_end (k);
        step_row_put (b, &(struct step_sums){
                             .id = s->id,
                             .device = s->device >= 0 ? (double)s->device : NAN,
                             .computing = (double)k->computing,
                             .communication = (double)k->communicating,
                             .overlapped = (double)k->both,
                             .idle = (double)(k->at - k->start - k->either),
                             .span = (double)(k->at - k->start),
                             .bubble = (double)s->bubble,
                             .preparing = NAN });       // unknown, since there
                                                        // are no rows of the
                                                        // host
        if (batch_full (b) && !source_flush (r->src, b, r->err))
            return false;
    }
    return source_flush (r->src, b, r->err);
}

static void read_rows (struct reader *r)
{
    if (csv_columns (&r->csv, columns, K_COLUMNS, r->where)) {
        while (csv_next (&r->csv) && read_row (r))
            ;
    }
    if (!r->src->stopped)
        (void)source_flush (r->src, &r->time, r->err);
}

static enum reading read_file (struct reader *r, bool want_step)
{
    enum reading how = csv_open (&r->csv, r->src, r->src->out, FILE_NAME,
                                 r->err);

    if (how != READING_WHOLE)
        return how;
    if (batch_init (&r->time, TABLE_TIME, r->err) < 0 ||
        batch_init (&r->step, TABLE_STEP, r->err) < 0)
        (void)stop (r, -ENOMEM);
    else
        read_rows (r);
    how = csv_close (&r->csv, r->err);
    // sums over some of the rows would be wrong
    if (how == READING_WHOLE && want_step && !put_steps (r))
        how = READING_STOPPED;
    return how;
}

void read_kernels (struct source *src, unsigned want, struct verdict *v,
                   struct err *err)
{
    struct err why = { "" };
    struct reader r = { .src = src, .err = &why,
                        .steps = MAP (struct step, STEP_WORDS) };
    enum reading how;

    r.want_time = want >> TABLE_TIME & 1;
    how = read_file (&r, want >> TABLE_STEP & 1);
    // a world of one, or a level without communication, has no such rows
    if (how == READING_WHOLE && src->rows[TABLE_TIME] == 0)
        want &= ~(1u << TABLE_TIME);
    verdict_for_tables (v, want, how, &why, err);
    map_fini (&r.steps);
    batch_fini (&r.time);
    batch_fini (&r.step);
}
