/* node_agent/extract/input/plain_schema.c - find a table in the schema of a
 * database without SQLite
 */
#include "extract/input/plain_schema.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct word {
    const char *s;
    size_t n;
};

static bool is_word (struct word w, const char *text)
{
    return strlen (text) == w.n && strncasecmp (w.s, text, w.n) == 0;
}

static struct word text_of (const struct db_row *row, unsigned column)
{
    return row->texts >> column & 1
               ? (struct word){ row->text[column], row->size[column] }
               : (struct word){ "", 0 };
}

static bool same (struct word a, struct word b)
{
    return a.n == b.n && memcmp (a.s, b.s, a.n) == 0;
}

static void skip_space (struct word *sql)
{
    while (sql->n > 0 && isspace ((unsigned char)*sql->s)) {
        sql->s++;
        sql->n--;
    }
}

static struct word take_name (struct word *sql)
{
    struct word w;

    skip_space (sql);
    w = (struct word){ sql->s, 0 };
    while (w.n < sql->n &&
           (isalnum ((unsigned char)w.s[w.n]) || w.s[w.n] == '_'))
        w.n++;
    sql->s += w.n;
    sql->n -= w.n;
    return w;
}

static bool take_sign (struct word *sql, char sign)
{
    skip_space (sql);
    if (sql->n == 0 || *sql->s != sign)
        return false;
    sql->s++;
    sql->n--;
    return true;
}

static bool is_type (struct word w)
{
    return is_word (w, "TEXT") || is_word (w, "NUMERIC") ||
           is_word (w, "INTEGER") || is_word (w, "REAL");
}

static void note_column (struct word name, const char *const *names,
                         unsigned n, struct plain_columns *ret)
{
    uint8_t *slot = &ret->slot[ret->n++];

    *slot = PLAIN_NOT_WANTED;
    for (unsigned i = 0; i < n && *slot == PLAIN_NOT_WANTED; i++) {
        if (is_word (name, names[i])) {
            *slot = (uint8_t)i;
            ret->least = ret->n;
        }
    }
}

/* CREATE TABLE name (column type, ...). */
static bool take_table (struct word sql, struct word table,
                        const char *const *names, unsigned n,
                        struct plain_columns *ret)
{
    if (!is_word (take_name (&sql), "CREATE") ||
        !is_word (take_name (&sql), "TABLE") ||
        !same (take_name (&sql), table) || !take_sign (&sql, '('))
        return false;
    do {
        struct word name = take_name (&sql);

        if (ret->n == PLAIN_COLUMNS_MAX || name.n == 0 ||
            !is_type (take_name (&sql)))
            return false;
        note_column (name, names, n, ret);
    } while (take_sign (&sql, ','));
    return take_sign (&sql, ')') && sql.n == 0;
}

void plain_schema_columns (struct plain_columns *ret)
{
    *ret = (struct plain_columns){ .n = PLAIN_SCHEMA, .least = PLAIN_SCHEMA };
    for (unsigned i = 0; i < PLAIN_SCHEMA; i++)
        ret->slot[i] = (uint8_t)i;
}

int plain_schema_row (const struct db_row *row, const char *table,
                      const char *const *names, unsigned n,
                      struct plain_columns *ret)
{
    struct word name = text_of (row, PLAIN_NAME);

    *ret = (struct plain_columns){ .n = 0 };
    if (!is_word (text_of (row, PLAIN_TYPE), "table") || name.n == 0 ||
        !same (text_of (row, PLAIN_TABLE), name) ||
        !take_table (text_of (row, PLAIN_SQL), name, names, n, ret))
        return -1;
    return is_word (name, table);
}
