/* aggregator/query/text_table.c - print a table with aligned columns */
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
#define LETTER 2                // columns that one character takes at most
#define WORD_MOST 24            // words up to this width are not divided, if
                                // there is room

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

#define NUMBER 'n'              // first byte of a kept cell: its kind
#define TEXT 't'
#define LINE 'l'                // a line between rows, not a cell

struct columns {
    FILE *f;
    size_t width;
    unsigned n, at;
    struct column *v;
    const char **rest;          // of each column: what is still to be printed
    bool *number;               // ... and whether it is a number
    bool bold;                  // the head is bold, on a terminal
    struct buf kept;            // cells: kind, text, NUL
    unsigned rows;
    bool running;               // widths are chosen
};

static size_t width_of (const char *s)
{
    size_t used;

    (void)utf8_fit (s, SIZE_MAX, &used);
    return used;
}

/* The width of the first 'n' bytes. */
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

/* The width of the longest part; each part ends at one of the bytes in 'ends'.
 */
static size_t longest_word (const char *s, const char *ends)
{
    size_t longest = 0;

    for (size_t n; *s; s += n) {
        n = strcspn (s, ends);
        n += s[n] == '_' || s[n] == ',';
        size_t width = width_of_part (s, n);

        n += strspn (s + n, " ");

        if (longest < width)
            longest = width;
    }
    return longest < WORD_MOST ? longest : WORD_MOST;
}

/* Whether output may be emphasized: on a capable terminal, unless NO_COLOR is
 * in the environment.
 */
static bool columns_emphasize (FILE *f)
{
    const char *none = getenv ("NO_COLOR"), *term = getenv ("TERM");

    return isatty (fileno (f)) && !(none && *none) && term && *term &&
           strcmp (term, "dumb") != 0;
}

void columns_share (struct column *v, unsigned n, size_t total)
{
    size_t sum = n > 0 ? (n - 1) * GAP : 0;

    for (unsigned i = 0; i < n; i++)
        sum += v[i].wide;
    while (sum > total) {
        struct column *widest = NULL;

        for (unsigned i = 0; i < n; i++) {
            if (v[i].wide > COLUMNS_LEAST && v[i].wide > v[i].hard &&
                (!widest || v[i].wide > widest->wide))
                widest = &v[i];
        }
        if (!widest)
            return;             // they do not fit: lines get longer
        widest->wide--;
        sum--;
    }
}

void columns_destroy (struct columns *c)
{
    if (!c)
        return;
    for (unsigned i = 0; c->v && i < c->n; i++)
        free (c->v[i].name);
    free (c->v);
    free (c->rest);
    free (c->number);
    buf_fini (&c->kept);
    free (c);
}

/* Escape 'text' for the screen; the caller frees it. */
static char *shown (const char *text)
{
    char *out = malloc (UTF8_ESCAPED (strlen (text)));

    return out ? utf8_escape (text, UTF8_COLUMN, out) : NULL;
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
    c->v = calloc (n, sizeof (*c->v));
    c->rest = calloc (n, sizeof (*c->rest));
    c->number = calloc (n, sizeof (*c->number));
    c->bold = columns_emphasize (f);
    good = c->v && c->rest && c->number;
    for (unsigned i = 0; i < n && good; i++) {
        struct column *v = &c->v[i];

        if (!(good = (v->name = shown (names[i])) != NULL))
            break;
        v->wide = *v->name ? width_of (v->name) : 1;
        v->word = longest_word (v->name, " _");
    }
    if (good)
        return c;
    columns_destroy (c);
    return NULL;
}

/* How many characters a number has from its decimal point on. */
static size_t tail_of (const char *s)
{
    const char *point = strchr (s, '.');

    return point && !strchr (s, 'e') ? strlen (point) : 0;
}

/* How many blanks to put after a number so that decimal points are aligned. */
static size_t blanks_behind (const struct column *v, const char *s)
{
    size_t tail = tail_of (s);

    return tail < v->tail && width_of (s) + v->tail - tail <= v->wide
               ? v->tail - tail : 0;
}

/* One line of a row; blanks are printed only when something follows. */
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

/* How many bytes of a text go into one line; at best whole words, or parts of a
 * list or a name.  *skip includes the blanks after them.
 */
static size_t piece (const char *s, size_t want, size_t *skip)
{
    size_t used, n = utf8_fit (s, want, &used), at = n;

    while (s[n] && at > 0 && s[at] != ' ')
        at--;
    while (at > 0 && s[at - 1] == ' ' && s[n])
        at--;
    for (size_t i = n; at == 0 && s[n] && i > 1; i--) {
        if (strchr ("_/,", s[i - 1]))
            at = i;
    }
    if (at > 0)
        n = at;
    *skip = n + strspn (s + n, " ");
    return n;
}

/* Print what fits of a text into this line, aligned left or right.  If a text
 * starts late in a narrow column, it gets at least 'least' columns.
 */
static const char *put_text (const struct columns *c, unsigned i,
                             const char *s, size_t least, bool right,
                             struct line *l)
{
    size_t wide = c->v[i].wide, n = strlen (s), skip = n, used;

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

static void put_number (const struct column *v, const char *s, struct line *l)
{
    size_t used = width_of (s), behind = blanks_behind (v, s);

    if (used + behind < v->wide)
        l->blanks += v->wide - used - behind;
    text_table_put (l, s, strlen (s));
    l->blanks += behind;
}

/* Print the row in as many lines as its longest text needs. */
static void print_row (const struct columns *c)
{
    bool more = true;

    for (bool first = true; more; first = false) {
        struct line l = { .f = c->f };

        more = false;
        for (unsigned i = 0; i < c->n; i++) {
            l.blanks += i ? GAP : 0;
            if (c->number[i] && first)
                put_number (&c->v[i], c->rest[i], &l);
            else if (c->number[i])
                l.blanks += c->v[i].wide;
            else
                c->rest[i] = put_text (c, i, c->rest[i], COLUMNS_LEAST, false,
                                       &l);
            more = more || (!c->number[i] && *c->rest[i]);
        }
        (void)fputc ('\n', c->f);
    }
}

/* Print a line between rows as indented text. */
static void print_line (const struct columns *c, const char *text)
{
    struct buf out;

    buf_init (&out, SIZE_MAX / 2);
    labels_line (&out, c->width, "  ", text);
    (void)fputs (buf_text (&out), c->f);
    buf_fini (&out);
}

static void print_head (const struct columns *c)
{
    bool more = false;

    for (unsigned i = 0; i < c->n; i++) {
        c->rest[i] = c->v[i].name;
        more = more || *c->v[i].name;
    }
    if (!more)
        return;
    (void)fputs (c->bold ? BOLD : "", c->f);
    while (more) {
        struct line l = { .f = c->f };

        more = false;
        for (unsigned i = 0; i < c->n; i++) {
            l.blanks += i ? GAP : 0;
            c->rest[i] = put_text (c, i, c->rest[i], LETTER,
                                   !c->v[i].texts && c->rows > 0, &l);
            more = more || *c->rest[i];
        }
        (void)fputs (c->bold && !more ? PLAIN "\n" : "\n", c->f);
    }
}

static size_t larger (size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Divide words, if the columns fit then: else lines get longer anyway. */
static void divide_words (struct columns *c)
{
    size_t sum = (c->n - 1) * GAP;

    for (unsigned i = 0; i < c->n; i++) {
        struct column *v = &c->v[i];

        v->hard = v->whole ? v->body : v->lead + v->tail;
        sum += v->wide < COLUMNS_LEAST ? v->wide
                                       : larger (v->hard, COLUMNS_LEAST);
    }
    if (sum <= c->width)
        columns_share (c->v, c->n, c->width);
}

/* Shrink heads first, then wrap texts between words; never shrink numbers. */
static void choose_widths (struct columns *c)
{
    size_t sum = (c->n - 1) * GAP;

    for (unsigned i = 0; i < c->n; i++) {
        struct column *v = &c->v[i];
        size_t number = v->lead + v->tail;

        if (!v->texts)
            v->wide = larger (v->wide, number);
        if (v->whole)
            number = larger (v->body, number);
        v->hard = v->word = larger (v->word, number);
        sum += v->wide;
    }
    if (c->width == 0)
        return;
    for (unsigned i = 0; sum > c->width && i < c->n; i++) {
        size_t least = larger (c->v[i].body, c->v[i].word);

        if (least < c->v[i].wide)
            c->v[i].wide = least;
    }
    columns_share (c->v, c->n, c->width);
    divide_words (c);
}

/* Print the kept rows and drop them. */
static void print_kept (struct columns *c)
{
    const char *p = (const char *)c->kept.data;
    const char *end = p + c->kept.size;

    for (unsigned i = 0; p < end; p += strlen (p) + 1) {
        if (*p == LINE) {
            print_line (c, p + 1);
            continue;
        }
        c->rest[i] = p + 1;
        c->number[i] = *p == NUMBER && !c->v[i].texts;
        i = (i + 1) % c->n;
        if (i == 0)
            print_row (c);
    }
    buf_clear (&c->kept);
}

static void text_table_start (struct columns *c)
{
    c->running = true;
    choose_widths (c);
    print_head (c);
    print_kept (c);
}

static void measure (struct column *v, const char *text, bool number)
{
    size_t w = width_of (text), tail = number ? tail_of (text) : 0;

    v->wide = larger (v->wide, w);
    v->body = larger (v->body, w);
    if (number) {
        v->tail = larger (v->tail, tail);
        v->lead = larger (v->lead, w - tail);
    } else {
        v->word = larger (v->word, longest_word (text, " ,"));
    }
}

/* Keep the first 'n' bytes of a text, escaped, to be printed later. */
static int keep (struct columns *c, char kind, const char *text, size_t n)
{
    char *copy = strndup (text, n);
    char *s = copy ? shown (copy) : NULL;

    free (copy);
    if (!s)
        return -ENOMEM;
    if (!c->running && kind != LINE)
        measure (&c->v[c->at], s, kind == NUMBER);
    buf_put (&c->kept, &kind, 1);
    buf_put (&c->kept, s, strlen (s) + 1);
    free (s);
    return c->kept.failed ? -ENOMEM : 0;
}

int columns_cell (struct columns *c, const char *text, size_t n, bool number)
{
    int rc = keep (c, number ? NUMBER : TEXT, text ? text : "-", text ? n : 1);

    if (rc < 0)
        return rc;
    if (!number)
        c->v[c->at].texts = true;
    c->at = (c->at + 1) % c->n;
    if (c->at > 0)
        return 0;
    c->rows++;
    if (c->running)
        print_kept (c);
    else if (c->rows >= GRID_LOOK_AHEAD_ROWS ||
             c->kept.size >= GRID_LOOK_AHEAD_BYTES)
        text_table_start (c);
    return 0;
}

int columns_line (struct columns *c, const char *text)
{
    int rc = keep (c, LINE, text, strlen (text));

    if (rc == 0 && c->running)
        print_kept (c);
    return rc;
}

void columns_keep_whole (struct columns *c, unsigned i)
{
    c->v[i].whole = true;
}

void columns_finish (struct columns *c, const char *why)
{
    if (!c->running)
        text_table_start (c);
    if (c->rows == 0)
        (void)fprintf (c->f, "(no rows%s%s)\n", why ? ": " : "",
                       why ? why : "");
}
