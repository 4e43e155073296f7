/* aggregator/query/quote.c - values as JSON and as CSV have them */
#include "query/quote.h"

#include "base/units.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"      // U+FFFD

static void json_escape (FILE *f, unsigned code)
{
    static const char shorts[] = "b\bt\tn\nf\fr\r\"\"\\\\";

    for (size_t i = 0; i + 1 < sizeof (shorts); i += 2) {
        if ((unsigned char)shorts[i + 1] == code) {
            (void)fputc ('\\', f);
            (void)fputc (shorts[i], f);
            return;
        }
    }
    (void)fprintf (f, "\\u%04x", code);
}

/* How many bytes need nothing: ASCII without controls, quotes, backslashes. */
static size_t plain_run (const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' &&
           s[i] != '\\')
        i++;
    return i;
}

void quote_json (FILE *f, const char *s, size_t n)
{
    size_t size;

    (void)fputc ('"', f);
    for (size_t i = 0; i < n; i += size) {
        size = plain_run (s + i, n - i);
        if (size > 0) {
            (void)fwrite (s + i, 1, size, f);
            continue;
        }
        size = utf8_size (s + i);
        if (size == 1)
            json_escape (f, (unsigned char)s[i]);
        else if (size == 2 && s[i] == '\xc2' && (unsigned char)s[i + 1] < 0xa0)
            json_escape (f, (unsigned char)s[i + 1]);
        else if (utf8_bidi (s + i))
            json_escape (f, utf8_bidi (s + i));
        else
            (void)fwrite (size ? s + i : REPLACEMENT, 1, size ? size : 3, f);
        size += !size;          // an invalid byte
    }
    (void)fputc ('"', f);
}

/* Blanks at the ends need none, but some readers strip them without. */
static int needs_quotes (const char *s, size_t n)
{
    if (n == 0 || s[0] == ' ' || s[n - 1] == ' ')
        return 1;
    for (size_t i = 0; i < n; i++) {
        if (strchr (",\"\r\n", s[i]))           // the NUL, too
            return 1;
    }
    return 0;
}

static void put_csv (FILE *f, const char *before, const char *s, size_t n)
{
    int quotes = needs_quotes (s, n);
    size_t size;

    if (quotes)
        (void)fputc ('"', f);
    (void)fputs (before, f);
    for (size_t i = 0; i < n; i += size) {
        size = plain_run (s + i, n - i);
        if (size == 0 && (size = utf8_size (s + i)) == 0) {
            (void)fwrite (REPLACEMENT, 1, 3, f);
            size = 1;
            continue;
        }
        if (s[i] == '"')
            (void)fputc ('"', f);
        (void)fwrite (s + i, 1, size, f);
    }
    if (quotes)
        (void)fputc ('"', f);
}

void quote_raw_csv (FILE *f, const char *s, size_t n)
{
    put_csv (f, "", s, n);
}

void quote_csv (FILE *f, const char *s, size_t n)
{
    bool formula = n > 0 && *s && strchr ("=+-@\t\r", *s);
    double x;

    put_csv (f, formula && units_real (s, n, &x) < 0 ? "'" : "", s, n);
}

void quote_real (FILE *f, double x, const char *none)
{
    char text[UNITS_REAL_TEXT];

    units_real_text (x, text);
    (void)fputs (*text ? text : none, f);
}

void quote_blob (FILE *f, const void *data, size_t n)
{
    const unsigned char *p = data;

    (void)fputs ("X'", f);
    for (size_t i = 0; i < n; i++)
        (void)fprintf (f, "%02X", p[i]);
    (void)fputc ('\'', f);
}
