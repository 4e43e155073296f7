/* aggregator/table/text_table.c - a table for people, with aligned columns */
#include "table/text_table.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "table/grid.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2                   // blanks between columns
#define LEAST 8                 // columns that a cut text keeps

#define NUMBER 'n'              // what a kept cell begins with
#define TEXT 't'

struct columns {
    FILE *f;
    size_t width;
    unsigned n, at;
    char **names;
    size_t *wide;               // of each column
    size_t *lead, *tail;        // of its numbers: up to the point, and from it
    size_t *hard;               // both
    bool *texts;                // whether a column has a text
    struct buf kept;            // cells: kind, text, NUL
    unsigned rows;              // that are kept
    bool running;               // widths are chosen
};

size_t columns_fit (const char *s, size_t width, size_t *used)
{
    size_t at = 0, size;

    for (*used = 0; s[at]; at += size) {
        size = utf8_size (s + at);
        if (size == 0)
            size = 1;           // escaping leaves none
        unsigned w = utf8_columns (s + at, size);

        if (*used + w > width)
            break;
        *used += w;
    }
    return at;
}

static size_t width_of (const char *s)
{
    size_t used;

    (void)columns_fit (s, SIZE_MAX, &used);
    return used;
}

void columns_share (size_t *wide, const size_t *hard, unsigned n, size_t total,
                    size_t least)
{
    size_t sum = n > 0 ? (n - 1) * GAP : 0;

    for (unsigned i = 0; i < n; i++)
        sum += wide[i];
    while (sum > total) {
        unsigned widest = n;

        for (unsigned i = 0; i < n; i++) {
            if (wide[i] > least && wide[i] > hard[i] &&
                (widest == n || wide[i] > wide[widest]))
                widest = i;
        }
        if (widest == n)
            return;             // it does not fit, and lines are longer
        wide[widest]--;
        sum--;
    }
}

void columns_destroy (struct columns *c)
{
    if (!c)
        return;
    for (unsigned i = 0; c->names && i < c->n; i++)
        free (c->names[i]);
    free (c->names);
    free (c->wide);
    free (c->lead);
    free (c->tail);
    free (c->hard);
    free (c->texts);
    buf_fini (&c->kept);
    free (c);
}

static char *shown (const char *s)
{
    char *out = malloc (UTF8_ESCAPED (strlen (s)));

    return out ? utf8_escape (s, UTF8_COLUMN, out) : NULL;
}

struct columns *columns_create (FILE *f, size_t width,
                                const char *const *names, unsigned n)
{
    struct columns *c = calloc (1, sizeof (*c));
    bool good;

    if (!c)
        return NULL;
    c->f = f;
    c->width = width;
    c->n = n;
    buf_init (&c->kept, SIZE_MAX / 2);
    c->names = calloc (n, sizeof (*c->names));
    c->wide = calloc (n, sizeof (*c->wide));
    c->lead = calloc (n, sizeof (*c->lead));
    c->tail = calloc (n, sizeof (*c->tail));
    c->hard = calloc (n, sizeof (*c->hard));
    c->texts = calloc (n, sizeof (*c->texts));
    good = c->names && c->wide && c->lead && c->tail && c->hard && c->texts;
    for (unsigned i = 0; i < n && good; i++) {
        good = (c->names[i] = shown (names[i])) != NULL;
        if (good)
            c->wide[i] = *c->names[i] ? width_of (c->names[i]) : 1;
    }
    if (good)
        return c;
    columns_destroy (c);
    return NULL;
}

static void blanks (FILE *f, size_t n)
{
    while (n-- > 0)
        (void)fputc (' ', f);
}

/* How many characters a number has from its point on. */
static size_t tail_of (const char *s)
{
    const char *point = strchr (s, '.');

    return point && !strchr (s, 'e') ? strlen (point) : 0;
}

/* Blanks behind a number, so that points are below each other. */
static size_t blanks_behind (const struct columns *c, unsigned i, const char *s)
{
    size_t tail = tail_of (s);

    return tail < c->tail[i] && width_of (s) + c->tail[i] - tail <= c->wide[i]
               ? c->tail[i] - tail : 0;
}

/* A text of column 'i', on the right or left.  Nothing is behind the last one.
 */
static void print_text (const struct columns *c, unsigned i, const char *s,
                        bool right)
{
    size_t used, want = c->wide[i];
    bool cut = c->width > 0 && width_of (s) > want;
    size_t bytes = columns_fit (s, cut ? want - 1 : SIZE_MAX, &used);

    used += cut;
    blanks (c->f, i ? GAP : 0);
    if (right && used < want)
        blanks (c->f, want - used);
    (void)fwrite (s, 1, bytes, c->f);
    (void)fputs (cut ? "\xe2\x80\xa6" : "", c->f);      // an ellipsis
    if (!right && used < want && i + 1 < c->n)
        blanks (c->f, want - used);
}

static void print_number (const struct columns *c, unsigned i, const char *s)
{
    size_t used = width_of (s), behind = blanks_behind (c, i, s);

    blanks (c->f, i ? GAP : 0);
    if (used + behind < c->wide[i])
        blanks (c->f, c->wide[i] - used - behind);
    (void)fputs (s, c->f);
    if (i + 1 < c->n)
        blanks (c->f, behind);
}

static void print_cell (const struct columns *c, unsigned i, const char *s,
                        bool number)
{
    if (number && !c->texts[i])
        print_number (c, i, s);
    else
        print_text (c, i, s, false);
}

static void end_line (const struct columns *c, unsigned i)
{
    if (i + 1 == c->n)
        (void)fputc ('\n', c->f);
}

/* Choose the widths, and print what was kept. */
static void start (struct columns *c)
{
    const char *p = (const char *)c->kept.data;
    const char *end = p + c->kept.size;

    c->running = true;
    for (unsigned i = 0; i < c->n; i++) {
        c->hard[i] = c->lead[i] + c->tail[i];
        if (!c->texts[i] && c->wide[i] < c->hard[i])
            c->wide[i] = c->hard[i];
    }
    if (c->width > 0)
        columns_share (c->wide, c->hard, c->n, c->width, LEAST);
    for (unsigned i = 0; i < c->n; i++) {
        print_text (c, i, c->names[i], !c->texts[i] && c->rows > 0);
        end_line (c, i);
    }
    for (unsigned i = 0; p < end; p += strlen (p) + 1, i = (i + 1) % c->n) {
        print_cell (c, i, p + 1, *p == NUMBER);
        end_line (c, i);
    }
    buf_fini (&c->kept);
}

static int keep (struct columns *c, const char *text, bool number)
{
    size_t w = width_of (text), tail = number ? tail_of (text) : 0;

    if (c->wide[c->at] < w)
        c->wide[c->at] = w;
    if (number && c->tail[c->at] < tail)
        c->tail[c->at] = tail;
    if (number && c->lead[c->at] < w - tail)
        c->lead[c->at] = w - tail;
    buf_put (&c->kept, number ? (const char[]){ NUMBER }
                              : (const char[]){ TEXT }, 1);
    buf_put (&c->kept, text, strlen (text) + 1);
    return c->kept.failed ? -ENOMEM : 0;
}

/* 'text' as it is shown; to be freed. */
static char *escaped (const char *text, size_t n)
{
    char *copy = strndup (text ? text : "-", text ? n : 1);
    char *out = copy ? shown (copy) : NULL;

    free (copy);
    return out;
}

int columns_cell (struct columns *c, const char *text, size_t n, bool number)
{
    char *s = escaped (text, n);
    int rc = 0;

    if (!s)
        return -ENOMEM;
    if (!number)
        c->texts[c->at] = true;
    if (c->running) {
        print_cell (c, c->at, s, number);
        end_line (c, c->at);
    } else {
        rc = keep (c, s, number);
    }
    free (s);
    c->at = (c->at + 1) % c->n;
    if (c->at == 0 && !c->running &&
        (++c->rows >= GRID_LOOK_AHEAD_ROWS ||
         c->kept.size >= GRID_LOOK_AHEAD_BYTES))
        start (c);
    return rc;
}

int columns_finish (struct columns *c)
{
    if (!c->running)
        start (c);
    if (c->rows == 0)
        (void)fputs ("(no rows)\n", c->f);
    return 0;
}
