/* node_agent/extract/input/csv.c - read a CSV file of a capture by records */
#include "extract/input/csv.h"

#include "base/units.h"
#include "base/utf8.h"
#include "json/scan_number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define BUFFER (2 * CSV_RECORD_MAX)
#define TEXT_MAX 4096u          // bytes of a text that csv_text repairs
#define PAD 16u                 // zeros after the last byte, for scan_number

static const struct csv_field none = { NULL, 0 };

enum reading csv_open (struct csv *c, struct source *src, int dir,
                       const char *name, struct err *err)
{
    enum reading how;

    *c = (struct csv){ .src = src };
    if ((how = capture_file_open (&c->file, src, dir, name, err)) !=
        READING_WHOLE)
        return how;
    if (!(c->buf = malloc (BUFFER + PAD + 3 * TEXT_MAX + 1))) {
        src->stopped = err_set (err, ENOMEM, "no memory to read %s", name);
        capture_file_close (&c->file);
        return READING_STOPPED;
    }
    c->fixed = c->buf + BUFFER + PAD;
    c->at = c->end = c->buf;
    c->next_line = 1;
    return READING_WHOLE;
}

enum reading csv_close (struct csv *c, struct err *err)
{
    enum reading how = READING_DAMAGED;

    if (!c->failed && c->bad_line > 0) {
        c->line = c->bad_line;
        (void)csv_fail (c, "not valid UTF-8 (stored as U+FFFD)", none);
    }
    if (c->src->stopped || !c->failed)
        how = capture_file_verdict (&c->file, NULL, err);
    else
        *err = c->why;
    capture_file_close (&c->file);
    free (c->buf);
    c->buf = NULL;
    return how;
}

bool csv_fail (struct csv *c, const char *what, struct csv_field f)
{
    if (!c->failed)
        err_set (&c->why, EBADMSG, "%s: line %llu: %s%s%.*s%s", c->file.name,
                 (unsigned long long)c->line, what, f.s ? " \"" : "",
                 f.s ? (int)(f.n > 60 ? 60 : f.n) : 0, f.s ? f.s : "",
                 f.s ? "\"" : "");
    c->failed = true;
    return false;
}

/* ---- records ---- */

/* Read more bytes; those in the buffer move to its start.  False at the end of
 * the file and after a failure.
 */
static bool csv_fill (struct csv *c)
{
    size_t have = (size_t)(c->end - c->at);
    ssize_t n;

    if (c->eof || c->failed)
        return false;
    if (have >= CSV_RECORD_MAX) {
        c->line = c->next_line;
        return csv_fail (c, "it is too long", none);
    }
    memmove (c->buf, c->at, have);
    c->at = c->buf;
    c->end = c->buf + have;
    n = capture_file_read (&c->file, c->end, BUFFER - have);
    if (n < 0) {
        c->line = c->next_line;
        return csv_fail (c, strerror ((int)-n), none);
    }
    c->end += n;
    memset (c->end, 0, PAD);
    c->eof = n == 0;
    return n > 0;
}

/* Get the field at *at of a record that ends at 'stop', and remove its quotes
 * in place.  *at becomes the byte after its comma, or NULL after the last
 * field.
 */
static struct csv_field take_field (char **at, char *stop)
{
    char *p = *at, *out = *at;
    struct csv_field f = { *at, 0 };
    bool quoted = p < stop && *p == '"';

    if (quoted) {
        for (p++; p < stop; p++) {
            if (*p == '"' && !(p + 1 < stop && p[1] == '"'))
                break;
            p += *p == '"';
            *out++ = *p;
        }
        p += p < stop;
    }
    while (p < stop && *p != ',') {
        if (quoted)
            *out++ = *p;
        p++;
    }
    f.n = (size_t)((quoted ? out : p) - f.s);
    *at = p < stop ? p + 1 : NULL;
    return f;
}

/* Find the end of the record at c->at: after a line end with an even number of
 * quotes before it, or at the end of the file.  NULL after a failure.
 */
static char *record_end (struct csv *c)
{
    size_t done = 0;            // bytes that were examined
    bool open = false;

    for (;;) {
        char *from = c->at + done;
        char *lf = memchr (from, '\n', (size_t)(c->end - from));
        char *stop = lf ? lf : c->end;

        for (char *q = from; (q = memchr (q, '"', (size_t)(stop - q))); q++)
            open = !open;
        done = (size_t)(stop - c->at) + (lf != NULL);
        if (lf && !open)
            return lf;
        if (!lf && !csv_fill (c)) {
            if (!c->failed && open) {
                c->line = c->next_line;
                (void)csv_fail (c, "a quote that does not end", none);
            }
            return c->failed ? NULL : c->end;
        }
    }
}

static void csv_split (struct csv *c, char *stop)
{
    char *p = c->at;

    c->line = c->next_line;
    for (char *q = p; (q = memchr (q, '\n', (size_t)(stop - q))); q++)
        c->next_line++;
    c->next_line++;
    c->at = stop < c->end ? stop + 1 : stop;
    if (stop > p && stop[-1] == '\r')
        stop--;
    c->nfields = 0;
    while (p && c->nfields < CSV_FIELDS_MAX)
        c->fields[c->nfields++] = take_field (&p, stop);
}

bool csv_next (struct csv *c)
{
    do {
        char *stop = c->failed ? NULL : record_end (c);

        if (!stop || (stop == c->at && stop == c->end))
            return false;
        if (stop == c->end && c->next_line > 1) {     // numbers may be
                                                      // truncated
            c->line = c->next_line;
            return csv_fail (c, "the line has no end: the file was cut off",
                             none);
        }
        csv_split (c, stop);
    } while (c->nfields == 1 && c->fields[0].n == 0);
    return true;
}

bool csv_columns (struct csv *c, const struct csv_column *columns, size_t n,
                  int *where)
{
    static const char bom[] = "\xef\xbb\xbf";

    (void)csv_fill (c);
    if (c->end - c->at >= 3 && memcmp (c->at, bom, 3) == 0)
        c->at += 3;
    c->line = 1;
    if (!csv_next (c) && c->failed)
        return false;
    for (size_t col = 0; col < n; col++) {
        size_t size = strlen (columns[col].name);

        where[col] = -1;
        for (int i = 0; i < c->nfields; i++) {
            if (c->fields[i].n == size &&
                memcmp (c->fields[i].s, columns[col].name, size) == 0)
                where[col] = i;
        }
        if (where[col] < 0 && !columns[col].optional)
            return csv_fail (c, "no column",
                             (struct csv_field){ columns[col].name, size });
    }
    return true;
}

/* ---- fields ---- */

bool csv_field (struct csv *c, int i, struct csv_field *ret)
{
    *ret = none;
    if (i >= c->nfields)
        return csv_fail (c, "fewer fields than in the first line", none);
    if (i >= 0)
        *ret = c->fields[i];
    return true;
}

bool csv_real (struct csv *c, int i, double *ret)
{
    struct scan_number number;
    struct csv_field f;

    *ret = NAN;
    if (!csv_field (c, i, &f))
        return false;
    while (f.n > 0 && (f.s[f.n - 1] == '\t' || f.s[f.n - 1] == ' '))
        f.n--;
    if (f.n == 0 || (f.n == 3 && memcmp (f.s, "N/A", 3) == 0))
        return true;
    if (scan_number (f.s, &number) == f.s + f.n && !number.slow) {
        *ret = number.value;
        return true;
    }
    return units_real (f.s, f.n, ret) == 0 || csv_fail (c, "not a number:", f);
}

static bool is_ascii (struct csv_field f)
{
    unsigned char all = 0;

    for (size_t i = 0; i < f.n; i++)
        all |= (unsigned char)f.s[i];
    return all < 128;
}

bool csv_text (struct csv *c, int i, size_t max, struct csv_field *ret)
{
    char raw[TEXT_MAX + 1];
    uint64_t bad = 0;

    if (!csv_field (c, i, ret))
        return false;
    max = max < TEXT_MAX ? max : TEXT_MAX;
    if (ret->n <= max && is_ascii (*ret))
        return true;
    ret->n = utf8_cut (ret->s, ret->n, max);
    memcpy (raw, ret->n ? ret->s : "", ret->n);
    raw[ret->n] = '\0';
    ret->n = utf8_repair (raw, ret->n, c->fixed, &bad);
    ret->s = c->fixed;
    if (bad > 0 && c->bad_line == 0)
        c->bad_line = c->line;
    return true;
}
