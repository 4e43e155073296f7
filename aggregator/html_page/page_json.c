/* aggregator/html_page/page_json.c - write JSON for a page */
#include "html_page/page_json.h"

#include "base/utf8.h"
#include "store/db_rows.h"

#include <math.h>
#include <string.h>

/* Escape bidirectional controls, so that the page shows them and does not obey
 * them.
 */
static size_t show_bidi (const char *s, size_t n, char *out)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (i + UTF8_BIDI_SIZE <= n && utf8_bidi (s + i)) {
            used += (size_t)sprintf (out + used, "\\u%04x",
                                     utf8_bidi (s + i));
            i += UTF8_BIDI_SIZE - 1;
        } else {
            out[used++] = s[i];
        }
    }
    return used;
}

void page_json_text (struct json_out *j, const char *s, size_t n)
{
    char copy[2 * PAGE_TEXT_MAX + sizeof ("...")];  // 3 bytes become \u202e
    size_t fits = utf8_cut (s, n, PAGE_TEXT_MAX);
    size_t used = show_bidi (s, fits, copy);

    memcpy (copy + used, "...", sizeof ("..."));
    if (fits == n)
        copy[used] = '\0';
    json_out_text (j, copy, fits == n ? used : used + 3);
}

void page_json_real (struct json_out *j, double x)
{
    char text[32] = "null";

    if (isfinite (x))
        (void)snprintf (text, sizeof (text), "%.6g", x);
    json_out_raw (j, text);
}

/* Append the value of a column. */
static void page_json_value (struct json_out *j, sqlite3_stmt *st, int column)
{
    switch (sqlite3_column_type (st, column)) {
    case SQLITE_INTEGER:
        json_out_int (j, sqlite3_column_int64 (st, column));
        break;
    case SQLITE_FLOAT:
        page_json_real (j, sqlite3_column_double (st, column));
        break;
    case SQLITE_TEXT: {
        const char *s = (const char *)sqlite3_column_text (st, column);

        page_json_text (j, s ? s : "",
                        s ? (size_t)sqlite3_column_bytes (st, column) : 0);
        break;
    }
    default:                    // rollcall never writes blobs
        page_json_real (j, NAN);
    }
}

/* The replacement for the character at 's', or NULL; *size is its length. */
static const char *replaced (const char *s, size_t n, size_t *size)
{
    *size = 1;
    if (*s == '<')
        return "\\u003c";
    *size = 3;
    if (n >= 3 && memcmp (s, "\xe2\x80\xa8", 3) == 0)
        return "\\u2028";
    if (n >= 3 && memcmp (s, "\xe2\x80\xa9", 3) == 0)
        return "\\u2029";
    return NULL;
}

void page_json_embed (FILE *f, const char *json, size_t n)
{
    size_t from = 0, size;

    for (size_t i = 0; i < n; i++) {
        const char *instead = json[i] == '<' || json[i] == '\xe2'
                                  ? replaced (json + i, n - i, &size) : NULL;

        if (!instead)
            continue;
        (void)fwrite (json + from, 1, i - from, f);
        (void)fputs (instead, f);
        from = i + size;
        i = from - 1;
    }
    (void)fwrite (json + from, 1, n - from, f);
}

int page_json_rows (struct json_out *j, sqlite3 *db, const char *key,
                    const char *sql, struct err *err)
{
    struct db_rows r = db_rows (db, err, sql);
    int n = sqlite3_column_count (r.st);

    if (r.rc < 0)
        return db_end (&r);
    json_out_open_of (j, key, '{');
    json_out_open_of (j, "columns", '[');
    for (int i = 0; i < n; i++)
        page_json_text (j, sqlite3_column_name (r.st, i),
                        strlen (sqlite3_column_name (r.st, i)));
    json_out_close (j, ']');
    json_out_open_of (j, "rows", '[');
    while (db_step (&r)) {
        json_out_open (j, '[');
        for (int i = 0; i < n; i++)
            page_json_value (j, r.st, i);
        json_out_close (j, ']');
    }
    json_out_close (j, ']');
    json_out_close (j, '}');
    return db_end (&r);
}
