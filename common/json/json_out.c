/* common/json/json_out.c - JSON, written as it comes */
#include "json/json_out.h"

#include "base/units.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

static void between (struct json_out *j)
{
    if (j->more)
        (void)fputs (j->comma, j->f);
    j->more = true;
}

void json_out_open (struct json_out *j, char bracket)
{
    between (j);
    (void)fputc (bracket, j->f);
    j->more = false;
}

void json_out_open_line (struct json_out *j, char bracket)
{
    (void)fputs (j->more ? ",\n" : "\n", j->f);
    j->more = false;
    json_out_open (j, bracket);
}

void json_out_close (struct json_out *j, char bracket)
{
    (void)fputc (bracket, j->f);
    j->more = true;
}

void json_out_key (struct json_out *j, const char *key)
{
    json_out_text (j, key, strlen (key));
    (void)fputs (j->colon, j->f);
    j->more = false;
}

void json_out_raw (struct json_out *j, const char *raw)
{
    between (j);
    (void)fputs (raw, j->f);
}

void json_out_text (struct json_out *j, const char *s, size_t n)
{
    between (j);
    json_out_string (j->f, s, n);
}

void json_out_int (struct json_out *j, int64_t v)
{
    between (j);
    (void)fprintf (j->f, "%" PRId64, v);
}

void json_out_real (struct json_out *j, double v)
{
    char text[UNITS_REAL_TEXT];

    units_real_text (v, text);
    json_out_raw (j, *text ? text : "null");
}

void json_out_open_of (struct json_out *j, const char *key, char bracket)
{
    json_out_key (j, key);
    json_out_open (j, bracket);
}

void json_out_text_of (struct json_out *j, const char *key, const char *s)
{
    json_out_key (j, key);
    json_out_text (j, s, strlen (s));
}

void json_out_int_of (struct json_out *j, const char *key, int64_t v)
{
    json_out_key (j, key);
    json_out_int (j, v);
}

/* ---- strings ---- */

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

void json_out_string (FILE *f, const char *s, size_t n)
{
    size_t size;

    (void)fputc ('"', f);
    for (size_t i = 0; i < n; i += size) {
        size = utf8_plain (s + i, n - i);
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
            (void)fwrite (size ? s + i : UTF8_REPLACEMENT_TEXT, 1, size ? size : 3, f);
        size += !size;          // an invalid byte
    }
    (void)fputc ('"', f);
}
