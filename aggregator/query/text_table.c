/* aggregator/query/text_table.c - a table for people, with aligned columns */
#include "query/text_table.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "query/grid.h"
#include "query/labels.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GAP 2                   // blanks between columns
#define LEAST 8                 // columns that a wrapped text keeps
#define LETTER 2                // columns of the widest one
#define WORD_MOST 24            // columns of a word that is not divided, if
                                // there is room

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

#define NUMBER 'n'              // what a kept cell begins with
#define TEXT 't'
#define LINE 'l'                // no cell

struct cell {
    char *text;                 // as it is shown
    bool number;
};

struct columns {
    FILE *f;
    size_t width;
    unsigned n, at;
    char **names;
    size_t *lead, *tail;        // of its numbers: up to the point, and from it
    size_t *hard;               // both
    size_t *wide, *body;        // of each column; and without its head
    size_t *word;               // the longest word
    bool *texts;                // whether a column has a text
    struct cell *row;           // the one that is being made
    bool bold;                  // the head, on a terminal
    struct buf kept;            // cells: kind, text, NUL
    unsigned rows;              // that are kept
    bool running;               // widths are chosen
};

static size_t width_of (const char *s)
{
    size_t used;

    (void)utf8_fit (s, SIZE_MAX, &used);
    return used;
}

/* Of the first 'n' bytes. */
static size_t width_of_part (const char *s, size_t n)
{
    size_t sum = 0;

    for (size_t at = 0, size; at < n; at += size) {
        size = utf8_size (s + at);
        if (size == 0)
            size = 1;
        sum += utf8_columns (s + at, size);
    }
    return sum;
}

/* Of the parts between 'ends', which a part has behind it. */
static size_t longest_word (const char *s, const char *ends)
{
    size_t longest = 0;

    for (size_t n; *s; s += n) {
        n = strcspn (s, ends);
        n += s[n] == '_';
        size_t width = width_of_part (s, n);

        n += strspn (s + n, " ");

        if (longest < width)
            longest = width;
    }
    return longest < WORD_MOST ? longest : WORD_MOST;
}

/* Whether what is printed may be emphasized: on a terminal that can, and not
 * with NO_COLOR in the environment.
 */
static bool columns_emphasize (FILE *f)
{
    const char *none = getenv ("NO_COLOR"), *term = getenv ("TERM");

    return isatty (fileno (f)) && !(none && *none) && term && *term &&
           strcmp (term, "dumb") != 0;
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
    free (c->word);
    free (c->body);
    for (unsigned i = 0; c->row && i < c->n; i++)
        free (c->row[i].text);
    free (c->row);
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
    c->word = calloc (n, sizeof (*c->word));
    c->body = calloc (n, sizeof (*c->body));
    c->row = calloc (n, sizeof (*c->row));
    c->bold = columns_emphasize (f);
    good = c->names && c->wide && c->lead && c->tail && c->hard && c->texts &&
           c->word && c->body && c->row;
    for (unsigned i = 0; i < n && good; i++) {
        good = (c->names[i] = shown (names[i])) != NULL;
        if (!good)
            break;
        c->wide[i] = *c->names[i] ? width_of (c->names[i]) : 1;
        c->word[i] = longest_word (c->names[i], " _");
    }
    if (good)
        return c;
    columns_destroy (c);
    return NULL;
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

/* One line of a row; blanks are printed with what stands behind them. */
struct line {
    FILE *f;
    size_t blanks;
};

static void text_table_put (struct line *l, const char *s, size_t n)
{
    for (; n > 0 && l->blanks > 0; l->blanks--)
        (void)fputc (' ', l->f);
    (void)fwrite (s, 1, n, l->f);
}

/* How many bytes of a text come into one line, at best whole words, or parts of
 * a name; *skip with the blanks behind them.
 */
static size_t piece (const char *s, size_t want, size_t *skip)
{
    size_t used, n = utf8_fit (s, want, &used), at = n;

    while (s[n] && at > 0 && s[at] != ' ')
        at--;
    while (at > 0 && s[at - 1] == ' ' && s[n])
        at--;
    for (size_t i = n; at == 0 && s[n] && i > 1; i--) {
        if (strchr ("_/", s[i - 1]))
            at = i;
    }
    if (at > 0)
        n = at;
    *skip = n + strspn (s + n, " ");
    return n;
}

/* What comes of a text into this line, on the right or left; of a late one in a
 * narrow column 'least' columns at least.
 */
static const char *put_text (const struct columns *c, unsigned i,
                             const char *s, size_t least, bool right,
                             struct line *l)
{
    size_t wide = c->wide[i], n = strlen (s), skip = n, used;

    if (c->width > 0 && width_of (s) > wide)
        n = piece (s, wide < least ? least : wide, &skip);
    used = width_of_part (s, n);
    if (used > wide)
        wide = used;
    l->blanks += right ? wide - used : 0;
    text_table_put (l, s, n);
    l->blanks += right ? 0 : wide - used;
    return s + skip;
}

static void put_number (const struct columns *c, unsigned i, const char *s,
                        struct line *l)
{
    size_t used = width_of (s), behind = blanks_behind (c, i, s);

    if (used + behind < c->wide[i])
        l->blanks += c->wide[i] - used - behind;
    text_table_put (l, s, strlen (s));
    l->blanks += behind;
}

/* The row, in as many lines as its longest text needs. */
static void print_row (const struct columns *c, const char **rest,
                       const bool *number)
{
    bool more = true;

    for (bool first = true; more; first = false) {
        struct line l = { .f = c->f };

        more = false;
        for (unsigned i = 0; i < c->n; i++) {
            l.blanks += i ? GAP : 0;
            if (number[i] && first)
                put_number (c, i, rest[i], &l);
            else if (number[i])
                l.blanks += c->wide[i];
            else
                rest[i] = put_text (c, i, rest[i], LEAST, false, &l);
            more = more || (!number[i] && *rest[i]);
        }
        (void)fputc ('\n', c->f);
    }
}

/* A line between rows: as a text that is indented. */
static void print_line (const struct columns *c, const char *text)
{
    struct buf out;

    buf_init (&out, SIZE_MAX / 2);
    buf_printf (&out, "  %s\n", text);
    if (c->width > 0) {
        struct buf whole = out;

        buf_init (&out, SIZE_MAX / 2);
        labels_put (&out, c->width, buf_text (&whole));
        buf_fini (&whole);
    }
    (void)fputs (buf_text (&out), c->f);
    buf_fini (&out);
}

static bool has_head (const struct columns *c)
{
    bool has = false;

    for (unsigned i = 0; i < c->n; i++)
        has = has || *c->names[i];
    return has;
}

static void print_head (const struct columns *c, const char **rest)
{
    bool more = has_head (c);

    if (!more)
        return;

    for (unsigned i = 0; i < c->n; i++)
        rest[i] = c->names[i];
    (void)fputs (c->bold ? BOLD : "", c->f);
    while (more) {
        struct line l = { .f = c->f };

        more = false;
        for (unsigned i = 0; i < c->n; i++) {
            l.blanks += i ? GAP : 0;
            rest[i] = put_text (c, i, rest[i], LETTER,
                                !c->texts[i] && c->rows > 0, &l);
            more = more || *rest[i];
        }
        (void)fputs (c->bold && !more ? PLAIN "\n" : "\n", c->f);
    }
}

static size_t least_of (const struct columns *c, unsigned i)
{
    size_t least = c->body[i] > c->word[i] ? c->body[i] : c->word[i];

    return least < c->wide[i] ? least : c->wide[i];
}

/* Heads give way first, then texts at words; no number ever. */
static void choose_widths (struct columns *c)
{
    size_t sum = (c->n - 1) * GAP;

    for (unsigned i = 0; i < c->n; i++) {
        c->hard[i] = c->lead[i] + c->tail[i];
        if (!c->texts[i] && c->wide[i] < c->hard[i])
            c->wide[i] = c->hard[i];
        if (c->word[i] < c->hard[i])
            c->word[i] = c->hard[i];
        sum += c->wide[i];
    }
    for (unsigned i = 0; c->width > 0 && sum > c->width && i < c->n; i++)
        c->wide[i] = least_of (c, i);
    if (c->width > 0) {
        columns_share (c->wide, c->word, c->n, c->width, LEAST);
        columns_share (c->wide, c->hard, c->n, c->width, LEAST);
    }
}

/* Choose the widths, and print what was kept. */
static int text_table_start (struct columns *c)
{
    const char *p = (const char *)c->kept.data;
    const char *end = p + c->kept.size;
    const char **rest = calloc (c->n, sizeof (*rest));
    bool *number = calloc (c->n, sizeof (*number));
    int rc = rest && number ? 0 : -ENOMEM;

    c->running = true;
    if (rc == 0) {
        choose_widths (c);
        print_head (c, rest);
    }
    for (unsigned i = 0; rc == 0 && p < end; p += strlen (p) + 1) {
        if (*p == LINE) {
            print_line (c, p + 1);
            continue;
        }
        rest[i] = p + 1;
        number[i] = *p == NUMBER && !c->texts[i];
        i = (i + 1) % c->n;
        if (i == 0)
            print_row (c, rest, number);
    }
    buf_fini (&c->kept);
    free (rest);
    free (number);
    return rc;
}

/* The row is complete: print it. */
static int end_row (struct columns *c)
{
    const char **rest = calloc (c->n, sizeof (*rest));
    bool *number = calloc (c->n, sizeof (*number));
    int rc = rest && number ? 0 : -ENOMEM;

    for (unsigned i = 0; i < c->n && rc == 0; i++) {
        rest[i] = c->row[i].text;
        number[i] = c->row[i].number && !c->texts[i];
    }
    if (rc == 0)
        print_row (c, rest, number);
    for (unsigned i = 0; i < c->n; i++) {
        free (c->row[i].text);
        c->row[i].text = NULL;
    }
    free (rest);
    free (number);
    return rc;
}

static int text_table_keep (struct columns *c, const char *text, bool number)
{
    size_t w = width_of (text), tail = number ? tail_of (text) : 0;

    size_t word = number ? 0 : longest_word (text, " ");

    if (c->wide[c->at] < w)
        c->wide[c->at] = w;
    if (c->body[c->at] < w)
        c->body[c->at] = w;
    if (c->word[c->at] < word)
        c->word[c->at] = word;
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
        c->row[c->at] = (struct cell){ s, number };
        if (c->at + 1 == c->n)
            rc = end_row (c);
    } else {
        rc = text_table_keep (c, s, number);
        free (s);
    }
    c->at = (c->at + 1) % c->n;
    if (c->at == 0 && !c->running && rc == 0 &&
        (++c->rows >= GRID_LOOK_AHEAD_ROWS ||
         c->kept.size >= GRID_LOOK_AHEAD_BYTES))
        rc = text_table_start (c);
    return rc;
}

int columns_line (struct columns *c, const char *text)
{
    char *s = escaped (text, strlen (text));

    if (!s)
        return -ENOMEM;
    if (c->running) {
        print_line (c, s);
    } else {
        buf_put (&c->kept, (const char[]){ LINE }, 1);
        buf_put (&c->kept, s, strlen (s) + 1);
    }
    free (s);
    return c->kept.failed ? -ENOMEM : 0;
}

int columns_finish (struct columns *c)
{
    int rc = c->running ? 0 : text_table_start (c);

    if (c->rows == 0)
        (void)fputs ("(no rows)\n", c->f);
    return rc;
}
