/* aggregator/findings/finding_text.c - fill templates with values */
#include "findings/finding_text.h"

#include "base/units.h"

#include <errno.h>
#include <string.h>

// Names that templates use for the columns of a rule's query.
static const char *const names[] = { "step", "rank", "peer", "comm_group",
                                     "effect", "percent", "value", "baseline",
                                     "a", "b", "c", "d" };

#define NAMES ((int)(sizeof (names) / sizeof (names[0])))

static void put_number (struct buf *out, double v)
{
    buf_printf (out, "%.*f", units_decimals (v), v);
}

static void put_quoted (struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_put (out, "'", 1);
        buf_put (out, text, 1);
    }
}

static void put_value (struct buf *out, sqlite3_stmt *st, int column, bool sql)
{
    switch (sqlite3_column_type (st, column)) {
    case SQLITE_NULL:
        buf_put (out, sql ? "NULL" : "?", sql ? 4 : 1);
        break;
    case SQLITE_FLOAT:
        put_number (out, sqlite3_column_double (st, column));
        break;
    default:
        if (sql)
            put_quoted (out, (const char *)sqlite3_column_text (st, column));
        else
            buf_printf (out, "%s", (const char *)sqlite3_column_text (st,
                                                                      column));
    }
}

int finding_text (struct buf *out, const char *template, sqlite3_stmt *st,
                  bool sql)
{
    while (*template) {
        size_t n = strcspn (template, "{");
        const char *name = template + n + 1, *end;
        int i = 0;

        buf_put (out, template, n);
        if (!template[n])
            break;
        end = strchr (name, '}');
        while (i < NAMES && (strlen (names[i]) != (size_t)(end - name) ||
                             strncmp (names[i], name, strlen (names[i])) != 0))
            i++;
        if (i < NAMES)
            put_value (out, st, i, sql);
        template = end + 1;
    }
    return out->failed ? -ENOMEM : 0;
}
