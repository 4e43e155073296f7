/* aggregator/query/grid.c - print rows as a table, CSV or JSON */
#include "query/grid.h"

#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "json/json_out.h"
#include "query/quote.h"
#include "query/text_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct grid {
    FILE *f;
    enum grid_format format;
    size_t width;
    char **keys;                // of JSON objects
    unsigned n, at;             // columns, and the next one
    uint64_t rows;
    struct json_out json;
    struct columns *columns;    // of a table
    bool terminal;              // CSV on a terminal: escape control characters
    int failed;
};

struct grid *grid_create (FILE *f, enum grid_format format, size_t width)
{
    struct grid *g = calloc (1, sizeof (*g));

    if (!g)
        return NULL;
    g->f = f;
    g->json = (struct json_out){ .f = f, .comma = ", ", .colon = ": " };
    g->format = format;
    g->width = width;
    g->terminal = isatty (fileno (f));
    return g;
}

void grid_destroy (struct grid *g)
{
    if (!g)
        return;
    for (unsigned i = 0; g->keys && i < g->n; i++)
        free (g->keys[i]);
    free (g->keys);
    columns_destroy (g->columns);
    free (g);
}

static bool has_key (const struct grid *g, unsigned n, const char *key)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp (g->keys[i], key) == 0)
            return true;
    }
    return false;
}

/* 'name', with the lowest number appended that makes it unique. */
static char *new_key (const struct grid *g, unsigned n, const char *name)
{
    size_t size = strlen (name) + 16;
    char *key = malloc (size);

    if (!key)
        return NULL;
    (void)snprintf (key, size, "%s", name);
    for (unsigned k = 2; has_key (g, n, key); k++)
        (void)snprintf (key, size, "%s_%u", name, k);
    return key;
}

static void head_json (struct grid *g, const char *const *names)
{
    g->keys = calloc (g->n, sizeof (*g->keys));
    for (unsigned i = 0; i < g->n && !g->failed; i++) {
        if (!g->keys || !(g->keys[i] = new_key (g, i, names[i])))
            g->failed = -ENOMEM;
    }
    json_out_open (&g->json, '[');
}

static void put_csv (struct grid *g, const char *s, size_t n)
{
    char *shown = g->terminal ? malloc (UTF8_ESCAPED (n)) : NULL;

    if (g->terminal && !shown) {
        g->failed = -ENOMEM;
        return;
    }
    if (shown) {
        s = utf8_escape (s, UTF8_LINES, shown);
        n = strlen (s);
    }
    if (g->format == GRID_RAW_CSV)
        quote_raw_csv (g->f, s, n);
    else
        quote_csv (g->f, s, n);
    free (shown);
}

void grid_head (struct grid *g, const char *const *names, unsigned n)
{
    g->n = n;
    if (g->format == GRID_JSON) {
        head_json (g, names);
    } else if (g->format == GRID_TABLE) {
        if (!(g->columns = columns_create (g->f, g->width, names, n)))
            g->failed = -ENOMEM;
    } else {
        for (unsigned i = 0; i < n; i++) {
            (void)fputs (i ? "," : "", g->f);
            put_csv (g, names[i], strlen (names[i]));
        }
        (void)fputs ("\r\n", g->f);
    }
}

static void cell_to_json (struct grid *g, const char *text, size_t n,
                          bool number)
{
    if (g->at == 0)
        json_out_open_line (&g->json, '{');
    json_out_key (&g->json, g->keys[g->at]);
    if (number)
        json_out_raw (&g->json, text ? text : "null");
    else
        json_out_text (&g->json, text, n);
    if (g->at + 1 == g->n)
        json_out_close (&g->json, '}');
}

static void cell_to_csv (struct grid *g, const char *text, size_t n,
                         bool number)
{
    (void)fputs (g->at ? "," : "", g->f);
    if (!number)
        put_csv (g, text, n);
    else
        (void)fputs (text ? text : "", g->f);
    (void)fputs (g->at + 1 == g->n ? "\r\n" : "", g->f);
}

/* Append a cell; 'text' may be NULL, or be a number. */
static void put_cell (struct grid *g, const char *text, size_t n, bool number)
{
    if (g->failed)
        return;
    if (g->format == GRID_TABLE)
        g->failed = columns_cell (g->columns, text, n, number);
    else if (g->format == GRID_JSON)
        cell_to_json (g, text, n, number);
    else
        cell_to_csv (g, text, n, number);
    g->at = (g->at + 1) % g->n;
    g->rows += g->at == 0;
}

void grid_null (struct grid *g)
{
    put_cell (g, NULL, 0, true);
}

void grid_int (struct grid *g, int64_t v)
{
    char text[24];

    put_cell (g, text, (size_t)snprintf (text, sizeof (text), "%" PRId64, v),
              true);
}

/* Print 0.0377, not 0.03769999999999997, but no time in us as 1.76e+15. */
static void real_for_people (double v, char out[UNITS_REAL_TEXT])
{
    units_real_text (v, out);
    if (*out && strlen (out) > 15) {
        char brief[UNITS_REAL_TEXT];

        PRINT (brief, "%.15g", v);
        if (!strchr (brief, 'e'))
            (void)snprintf (out, UNITS_REAL_TEXT, "%s", brief);
    }
}

void grid_real (struct grid *g, double v)
{
    char text[UNITS_REAL_TEXT];

    if (g->format == GRID_TABLE)
        real_for_people (v, text);
    else
        units_real_text (v, text);
    // JSON has no infinity
    put_cell (g, *text ? text : NULL, strlen (text), true);
}

void grid_fixed (struct grid *g, double v, int decimals)
{
    char text[400];

    if (g->format != GRID_TABLE || !isfinite (v)) {
        grid_real (g, v);
        return;
    }
    PRINT (text, "%.*f", decimals, v);
    put_cell (g, text, strlen (text), true);
}

void grid_text (struct grid *g, const char *s, size_t n)
{
    put_cell (g, s, n, false);
}

void grid_word (struct grid *g, const char *s)
{
    if (s)
        grid_text (g, s, strlen (s));
    else
        grid_null (g);
}

void grid_blob (struct grid *g, const void *data, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = g->failed ? NULL : open_memstream (&text, &size);

    if (f)
        quote_blob (f, data, n);
    if (f && fclose (f) == 0)
        grid_text (g, text, size);
    else if (!g->failed)
        g->failed = -ENOMEM;
    free (text);
}

void grid_line (struct grid *g, const char *text)
{
    if (!g->failed && g->format == GRID_TABLE)
        g->failed = columns_line (g->columns, text);
}

void grid_keep_whole (struct grid *g, unsigned i)
{
    if (!g->failed && g->format == GRID_TABLE)
        columns_keep_whole (g->columns, i);
}

int grid_finish (struct grid *g)
{
    return grid_finish_why (g, NULL);
}

int grid_finish_why (struct grid *g, const char *why)
{
    if (!g->failed && g->columns)
        columns_finish (g->columns, why);
    if (!g->failed && g->format == GRID_JSON)
        (void)fputs (g->rows ? "\n]\n" : "]\n", g->f);
    if (!g->failed && ferror (g->f))
        g->failed = -EIO;
    return g->failed;
}
