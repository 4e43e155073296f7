/* aggregator/query/quote.c - quote values for CSV */
#include "query/quote.h"

#include "base/units.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Blanks at the ends are quoted, too, because some readers strip them. */
static int needs_quotes (const char *s, size_t n)
{
    if (n == 0 || s[0] == ' ' || s[n - 1] == ' ')
        return 1;
    for (size_t i = 0; i < n; i++) {
        if (strchr (",\"\r\n", s[i]))           // includes the NUL
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
        size = utf8_plain (s + i, n - i);
        if (size == 0 && (size = utf8_size (s + i)) == 0) {
            (void)fwrite (UTF8_REPLACEMENT_TEXT, 1, 3, f);
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

void quote_blob (FILE *f, const void *data, size_t n)
{
    const unsigned char *p = data;

    (void)fputs ("X'", f);
    for (size_t i = 0; i < n; i++)
        (void)fprintf (f, "%02X", p[i]);
    (void)fputc ('\'', f);
}
