/* node_agent/extract/read_step_csv.c - step_trace_time.csv
 *
 * Columns are found by their names in the first line, since old files lack
 * some; see doc/formats.md, "step_trace_time.csv".
 */
#include "extract/extractor.h"
#include "extract/watched.h"

#include "base/fileio.h"
#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FILE_NAME "step_trace_time.csv"
#define CSV_MAX (16u << 20)     // bytes; a row of a step has about 150
#define FIELDS_MAX 64

/* By position in the table; columns that old files lack are optional. */
static const struct {
    const char *name;
    bool optional;
} columns[] = {
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

struct field {
    const char *s;
    size_t n;
};

struct csv {
    struct source *src;
    struct err *err;
    const char *at, *end;
    unsigned line;
    int where[COLUMNS];         // field of each column, -1: absent
    struct batch batch;
};

static enum reading damaged (struct csv *c, const char *what, struct field f)
{
    err_set (c->err, EBADMSG, FILE_NAME ": line %u: %s%s%.*s%s", c->line, what,
             f.s ? " \"" : "", f.s ? (int)(f.n > 60 ? 60 : f.n) : 0,
             f.s ? f.s : "", f.s ? "\"" : "");
    return READING_DAMAGED;
}

/* The fields of the next line; 0 at the end, more than FIELDS_MAX are cut. */
static int next_line (struct csv *c, struct field *fields)
{
    const char *stop;
    int n = 0;

    if (c->at == c->end)
        return 0;
    c->line++;
    stop = memchr (c->at, '\n', (size_t)(c->end - c->at));
    if (!stop)
        stop = c->end;
    for (const char *p = c->at; n < FIELDS_MAX; p++) {
        const char *q = p;

        while (q < stop && *q != ',')
            q++;
        fields[n++] = (struct field){ p, (size_t)(q - p) };
        if (q == stop)
            break;
        p = q;
    }
    if (fields[n - 1].n > 0 && fields[n - 1].s[fields[n - 1].n - 1] == '\r')
        fields[n - 1].n--;
    c->at = stop < c->end ? stop + 1 : stop;
    return n;
}

static bool field_is (struct field f, const char *text)
{
    return f.n == strlen (text) && memcmp (f.s, text, f.n) == 0;
}

static enum reading read_header (struct csv *c)
{
    static const char bom[] = "\xef\xbb\xbf";
    struct field fields[FIELDS_MAX];
    int n;

    if (c->end - c->at >= 3 && memcmp (c->at, bom, 3) == 0)
        c->at += 3;
    n = next_line (c, fields);
    for (size_t col = 0; col < COLUMNS; col++) {
        c->where[col] = -1;
        for (int i = 0; i < n; i++) {
            if (field_is (fields[i], columns[col].name))
                c->where[col] = i;
        }
        if (c->where[col] < 0 && !columns[col].optional)
            return damaged (c, "no column",
                            (struct field){ columns[col].name,
                                            strlen (columns[col].name) });
    }
    return READING_WHOLE;
}

static enum reading read_row (struct csv *c, const struct field *fields, int n)
{
    static const struct field none = { NULL, 0 };
    struct batch *b = &c->batch;
    uint32_t row = b->nrows;
    struct field step;

    for (size_t col = 0; col < COLUMNS; col++) {
        int i = c->where[col];

        if (i >= n)
            return damaged (c, "fewer fields than in the first line", none);
        if (col == STEP_STEP)
            continue;
        b->real[col][row] = NAN;
        if (i >= 0 && units_real (fields[i].s, fields[i].n,
                                  &b->real[col][row]) < 0)
            return damaged (c, "not a number:", fields[i]);
    }
    step = fields[c->where[STEP_STEP]];
    for (size_t i = 0; i < step.n; i++) {
        if ((unsigned char)step.s[i] <= ' ' || (unsigned char)step.s[i] > 126)
            return damaged (c, "not a step:", step);
    }
    if (!steps_wanted (c->src->steps, step.s, step.n))
        return READING_WHOLE;
    b->text[STEP_STEP][row] = step.n ? batch_text (b, step.s, step.n)
                                     : BATCH_NULL_TEXT;
    b->nrows++;
    if (batch_full (b) && !source_flush (c->src, b, c->err))
        return READING_STOPPED;
    return READING_WHOLE;
}

static enum reading read_rows (struct csv *c)
{
    struct field fields[FIELDS_MAX];
    enum reading how = read_header (c);
    int n;

    while (how == READING_WHOLE && (n = next_line (c, fields)) > 0) {
        if (n == 1 && fields[0].n == 0)
            continue;           // an empty line
        how = read_row (c, fields, n);
    }
    if (how != READING_STOPPED && !source_flush (c->src, &c->batch, c->err))
        how = READING_STOPPED;
    return how;
}

static enum reading read_file (struct source *src, struct err *err)
{
    struct csv c = { .src = src, .err = err };
    struct watched file;
    struct buf text;
    enum reading how = watched_open (&file, src->out, FILE_NAME, err);
    int rc;

    if (how != READING_WHOLE)
        return how;
    buf_init (&text, CSV_MAX);
    rc = fileio_read_at (src->out, FILE_NAME, &text, err);
    if (rc < 0) {
        how = READING_DAMAGED;
        goto out;
    }
    c.at = (const char *)text.data;
    c.end = c.at + text.size;
    if ((rc = batch_init (&c.batch, TABLE_STEP, err)) < 0) {
        src->stopped = rc;
        how = READING_STOPPED;
        goto out;
    }
    how = read_rows (&c);
    if (how == READING_WHOLE)
        how = watched_verdict (&file, src, NULL, err);
out:
    batch_fini (&c.batch);
    buf_fini (&text);
    watched_close (&file);
    return how;
}

void read_step_csv (struct source *src, unsigned want, struct verdict *v,
                    struct err *err)
{
    struct err why = { "" };

    verdict_all (v, want, read_file (src, &why), &why, err);
}
