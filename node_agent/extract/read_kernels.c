/* node_agent/extract/read_kernels.c - kernel_details.csv
 *
 * A row for each kernel and each communication op, in the order of their
 * starts.  What they come to for each device and step is StepTraceTime, the
 * ops are CommAnalyzerTime; see doc/formats.md, "kernel_details.csv".
 */
#include "extract/comm_tasks.h"
#include "extract/extractor.h"
#include "extract/kernel_sums.h"
#include "extract/watched.h"

#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_NAME "kernel_details.csv"
#define BUFFER (1u << 20)       // a row is at most as long
#define FIELDS_MAX 256
#define STEPS_MAX 65536u        // devices times steps
#define STEP_ID_MAX 24u
#define NS_MAX INT64_C (4000000000000000000)    // year 2096

enum { K_STEP, K_DEVICE, K_NAME, K_CORE, K_START, K_DUR, K_COLUMNS };

static const struct {
    const char *name;
    bool optional;
} columns[K_COLUMNS] = {
    [K_STEP] = { "Step Id", true },
    [K_DEVICE] = { "Device_id", true },
    [K_NAME] = { "Name", false },
    [K_CORE] = { "Accelerator Core", false },
    [K_START] = { "Start Time(us)", false },
    [K_DUR] = { "Duration(us)", false },
};

struct text {
    const char *s;
    size_t n;
};

struct step {
    int64_t device;             // -1: there is no such column
    char id[STEP_ID_MAX];
    struct kernel_sums sums;
    int64_t bubble;
};

struct reader {
    struct source *src;
    struct err *err;
    struct watched file;
    char *buf;
    size_t from, to;            // what is in the buffer
    bool eof;
    uint64_t line;
    int where[K_COLUMNS];       // field, -1: absent
    int last;                   // field that is needed last
    struct step *steps;
    uint32_t nsteps, cap, current;
    struct batch time, step;
    bool want_time;
};

static bool damaged (struct reader *r, const char *what, struct text t)
{
    err_set (r->err, EBADMSG, FILE_NAME ": line %llu: %s%s%.*s%s",
             (unsigned long long)r->line, what, t.s ? " \"" : "",
             (int)(t.n > 60 ? 60 : t.n), t.s ? t.s : "", t.s ? "\"" : "");
    return false;
}

static const struct text none = { NULL, 0 };

/* ---- lines and fields ---- */

/* More bytes, behind what is left; false on failure. */
static bool fill (struct reader *r)
{
    memmove (r->buf, r->buf + r->from, r->to - r->from);
    r->to -= r->from;
    r->from = 0;
    while (r->to < BUFFER && !r->eof) {
        ssize_t n = scan_read_fd (&r->file.fd, r->buf + r->to, BUFFER - r->to);

        if (n < 0)
            return damaged (r, "cannot read on", none);
        r->eof = n == 0;
        r->to += (size_t)n;
    }
    return true;
}

/* Where the row that begins at r->from ends: at a newline behind an even
 * number of quotes.  NULL if it goes on behind the buffer.
 */
static const char *row_end (const struct reader *r)
{
    const char *p = r->buf + r->from, *end = r->buf + r->to;

    for (bool quoted = false; p < end; p++) {
        const char *stop = memchr (p, '\n', (size_t)(end - p));
        const char *q = p;

        stop = stop ? stop : end;
        while ((q = memchr (q, '"', (size_t)(stop - q)))) {
            quoted = !quoted;
            if (++q == stop)
                break;
        }
        if (!quoted && (stop < end || r->eof))
            return stop;
        p = stop;
    }
    return NULL;
}

/* The next row without its end; false at the end of the file, or damaged. */
static bool next_row (struct reader *r, struct text *row, bool *good)
{
    const char *end = NULL;

    *good = true;
    r->line++;
    if (r->from < r->to)
        end = row_end (r);
    if (!end) {
        *good = fill (r);
        if (!*good || r->from == r->to)
            return false;
        if (!(end = row_end (r)))
            *good = damaged (r, r->eof ? "a quote has no end"
                                       : "a row is longer than 1 MiB", none);
        if (!*good)
            return false;
    }
    row->s = r->buf + r->from;
    row->n = (size_t)(end - row->s);
    r->from += row->n + (end < r->buf + r->to);
    return true;
}

static struct text trim (struct text t)
{
    while (t.n > 0 && (unsigned char)t.s[t.n - 1] <= ' ')
        t.n--;
    if (t.n >= 2 && t.s[0] == '"' && t.s[t.n - 1] == '"') {
        t.s++;
        t.n -= 2;
    }
    return t;
}

/* The first 'max' fields of a row; how many there are. */
static int split (struct text row, struct text *fields, int max)
{
    const char *p = row.s, *end = row.s + row.n;
    int n = 0;

    while (n < max) {
        const char *q = p;
        bool quoted = false;

        for (; q < end && (quoted || *q != ','); q++)
            quoted = quoted != (*q == '"');
        fields[n++] = trim ((struct text){ p, (size_t)(q - p) });
        if (q == end)
            break;
        p = q + 1;
    }
    return n;
}

static bool text_is (struct text t, const char *s)
{
    return t.n == strlen (s) && memcmp (t.s, s, t.n) == 0;
}

static bool read_header (struct reader *r)
{
    static const char bom[] = "\xef\xbb\xbf";
    struct text fields[FIELDS_MAX], row;
    bool good;
    int n;

    if (!next_row (r, &row, &good))
        return good && damaged (r, "no first line", none);
    if (row.n >= 3 && memcmp (row.s, bom, 3) == 0) {
        row.s += 3;
        row.n -= 3;
    }
    n = split (row, fields, FIELDS_MAX);
    for (int c = 0; c < K_COLUMNS; c++) {
        r->where[c] = -1;
        for (int i = 0; i < n; i++) {
            if (text_is (fields[i], columns[c].name))
                r->where[c] = i;
        }
        if (r->where[c] < 0 && !columns[c].optional)
            return damaged (r, "no column", (struct text){
                                columns[c].name, strlen (columns[c].name) });
        if (r->where[c] > r->last)
            r->last = r->where[c];
    }
    return true;
}

/* ---- rows ---- */

static bool stop (struct reader *r, int rc)
{
    r->src->stopped = err_set (r->err, -rc, "no memory to read " FILE_NAME);
    return false;
}

/* The sums of a device and step; NULL: damaged, or stopped. */
static struct step *step_of (struct reader *r, int64_t device, struct text id)
{
    struct step *s = r->steps;

    for (uint32_t i = 0; i <= r->nsteps && r->nsteps > 0; i++) {
        // the one of the row before is the usual case
        s = &r->steps[i == 0 ? r->current : i - 1];
        if (s->device == device && text_is (id, s->id)) {
            r->current = (uint32_t)(s - r->steps);
            return s;
        }
    }
    if (r->nsteps == STEPS_MAX || id.n >= STEP_ID_MAX) {
        (void)damaged (r, "not a step:", id);
        return NULL;
    }
    if (r->nsteps == r->cap) {
        uint32_t cap = r->cap ? 2 * r->cap : 16;

        if (!(s = realloc (r->steps, cap * sizeof (*s)))) {
            (void)stop (r, -ENOMEM);
            return NULL;
        }
        r->steps = s;
        r->cap = cap;
    }
    s = &r->steps[r->current = r->nsteps++];
    memset (s, 0, sizeof (*s));
    s->device = device;
    memcpy (s->id, id.s, id.n);
    return s;
}

static bool put_time (struct reader *r, struct text name, const char *id,
                      int64_t start, double us)
{
    struct batch *b = &r->time;
    char op[1024], step[STEP_ID_MAX + 8];
    const char *group;
    uint32_t n = b->nrows;

    if (name.n >= sizeof (op))
        return damaged (r, "a name is too long:", name);
    memcpy (op, name.s, name.n);
    op[name.n] = '\0';
    (void)snprintf (step, sizeof (step), "step%s", id);
    if (!steps_wanted (r->src->steps, step, strlen (step)))
        return true;
    group = comm_group_of (r->src->capture, op);
    b->nrows++;
    b->text[TIME_OP][n] = batch_text (b, op, name.n);
    b->text[TIME_GROUP][n] = group ? batch_text (b, group, strlen (group))
                                   : BATCH_NULL_TEXT;
    b->real[TIME_START][n] = (double)start / 1000.0;
    b->real[TIME_ELAPSE][n] = us / 1000.0;
    b->real[TIME_TRANSIT][n] = b->real[TIME_WAIT][n] = NAN;
    b->real[TIME_SYNC][n] = b->real[TIME_IDLE][n] = NAN;
    b->text[TIME_STEP][n] = batch_text (b, step, strlen (step));
    b->text[TIME_TYPE][n] = comm_op_is_p2p (op)
                                ? batch_text (b, "p2p", 3)
                                : batch_text (b, "collective", 10);
    return !batch_full (b) || source_flush (r->src, b, r->err);
}

static bool read_device (struct reader *r, const struct text *f, int64_t *ret)
{
    char digits[24];
    struct text t = r->where[K_DEVICE] >= 0 ? f[r->where[K_DEVICE]] : none;

    *ret = -1;
    if (t.n == 0)
        return true;
    if (t.n >= sizeof (digits))
        return damaged (r, "not a device:", t);
    memcpy (digits, t.s, t.n);
    digits[t.n] = '\0';
    return units_int (digits, -1, INT32_MAX, ret) == 0 ||
           damaged (r, "not a device:", t);
}

static bool is_step_id (struct text t)
{
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9')
            return false;
    }
    return true;
}

static bool read_row (struct reader *r, const struct text *f)
{
    struct text name = f[r->where[K_NAME]], core = f[r->where[K_CORE]];
    struct text at = f[r->where[K_START]], dur = f[r->where[K_DUR]];
    struct text id = r->where[K_STEP] >= 0 ? f[r->where[K_STEP]] : none;
    bool comm = text_is (core, "COMMUNICATION") || text_is (core, "HCCL");
    int64_t start, ns, device;
    struct step *s;
    double us;

    if (units_us_to_ns (at.s, at.n, &start) < 0 || start > NS_MAX)
        return damaged (r, "not a time:", at);
    if (units_real (dur.s, dur.n, &us) < 0 || us < 0 || us > NS_MAX / 1000)
        return damaged (r, "not a duration:", dur);
    if (units_us_to_ns (dur.s, dur.n, &ns) < 0)
        ns = (int64_t)(us * 1000);      // an exponent
    if (!is_step_id (id))
        return damaged (r, "not a step:", id);
    if (!read_device (r, f, &device) || !(s = step_of (r, device, id)))
        return false;
    if (!kernel_sums_add (&s->sums, start, start + ns, comm))
        return damaged (r, "starts before the row above it, of the same step:",
                        at);
    if (!comm)
        return true;
    if (name.n >= 12 && memcmp (name.s, "hcom_receive", 12) == 0 &&
        s->bubble <= NS_MAX)
        s->bubble += ns;
    return !r->want_time || put_time (r, name, s->id, start, us);
}

static bool read_rows (struct reader *r)
{
    struct text fields[FIELDS_MAX], row;
    bool good;

    if (!read_header (r))
        return false;
    while (next_row (r, &row, &good)) {
        if (trim (row).n == 0)
            continue;
        if (split (row, fields, r->last + 1) <= r->last)
            return damaged (r, "fewer fields than in the first line", none);
        if (!read_row (r, fields))
            return false;
    }
    return good;
}

/* ---- StepTraceTime ---- */

static double us (int64_t ns)
{
    return (double)ns / 1000.0;
}

static bool put_steps (struct reader *r)
{
    struct batch *b = &r->step;

    for (uint32_t i = 0; i < r->nsteps; i++) {
        struct step *s = &r->steps[i];
        struct kernel_sums *k = &s->sums;
        int64_t alone, span;
        uint32_t n = b->nrows;

        if (!steps_wanted (r->src->steps, s->id, strlen (s->id)))
            continue;
        kernel_sums_end (k);
        alone = k->communicating - k->both;
        span = k->at - k->start;
        b->nrows++;
        b->real[STEP_DEVICE][n] = s->device >= 0 ? (double)s->device : NAN;
        b->text[STEP_STEP][n] = s->id[0] ? batch_text (b, s->id,
                                                       strlen (s->id))
                                         : BATCH_NULL_TEXT;
        b->real[STEP_COMPUTING][n] = us (k->computing);
        b->real[STEP_NOT_OVERLAPPED][n] = us (alone);
        b->real[STEP_OVERLAPPED][n] = us (k->both);
        b->real[STEP_COMMUNICATION][n] = us (k->communicating);
        b->real[STEP_FREE][n] = us (span - k->either);
        b->real[STEP_STAGE][n] = us (span - s->bubble);
        b->real[STEP_BUBBLE][n] = us (s->bubble);
        b->real[STEP_EXCLUDE_RECEIVE][n] =
            us (alone > s->bubble ? alone - s->bubble : 0);
        b->real[STEP_PREPARING][n] = NAN;       // nothing of the host is here
        if (batch_full (b) && !source_flush (r->src, b, r->err))
            return false;
    }
    return source_flush (r->src, b, r->err);
}

static enum reading read_file (struct reader *r, bool want_step)
{
    enum reading how = watched_open (&r->file, r->src->out, FILE_NAME, r->err);
    bool good;

    if (how != READING_WHOLE)
        return how;
    r->buf = malloc (BUFFER);
    if (!r->buf || batch_init (&r->time, TABLE_TIME, r->err) < 0 ||
        batch_init (&r->step, TABLE_STEP, r->err) < 0) {
        (void)stop (r, -ENOMEM);
    } else {
        struct err why = { "" };

        good = read_rows (r);
        why = *r->err;
        if (!r->src->stopped && source_flush (r->src, &r->time, r->err) &&
            (!want_step || put_steps (r)) && !good) {
            *r->err = why;
            how = READING_DAMAGED;
        }
    }
    if (how == READING_WHOLE)
        how = watched_verdict (&r->file, r->src, NULL, r->err);
    watched_close (&r->file);
    return r->src->stopped ? READING_STOPPED : how;
}

void read_kernels (struct source *src, unsigned want, struct verdict *v,
                   struct err *err)
{
    struct err why = { "" };
    struct reader r = { .src = src, .err = &why };
    enum reading how;

    r.want_time = want >> TABLE_TIME & 1;
    how = read_file (&r, want >> TABLE_STEP & 1);
    // a world of one, or a level without communication, has no such rows
    if (how == READING_WHOLE && src->rows[TABLE_TIME] == 0)
        want &= ~(1u << TABLE_TIME);
    verdict_all (v, want, how, &why, err);
    free (r.steps);
    free (r.buf);
    batch_fini (&r.time);
    batch_fini (&r.step);
}
