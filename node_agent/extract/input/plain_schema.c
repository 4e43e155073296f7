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

static inline bool is_word (struct word w, const char *text)
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

/* Read what follows a column's name, up to the comma; '*key': it is the row
 * number.
 */
static bool take_type (struct word *sql, bool *integer, bool *key)
{
    struct word type = take_name (sql), next;

    *key = false;
    *integer = is_word (type, "INTEGER") || is_word (type, "NUMERIC");
    if (!*integer && !is_word (type, "TEXT") && !is_word (type, "REAL"))
        return false;
    next = take_name (sql);
    if (next.n == 0)
        return true;
    *key = is_word (type, "INTEGER") && is_word (next, "PRIMARY") &&
           is_word (take_name (sql), "KEY");
    return *key;
}

static uint8_t slot_of (struct word name, const char *const *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (is_word (name, names[i]))
            return (uint8_t)i;
    }
    return PLAIN_NOT_WANTED;
}

static bool take_column (struct word *sql, const char *const *names, unsigned n,
                         struct plain_columns *ret)
{
    struct word name = take_name (sql);
    bool integer, key;
    uint8_t slot;

    if (ret->n == PLAIN_COLUMNS_MAX || name.n == 0 ||
        !take_type (sql, &integer, &key))
        return false;
    slot = slot_of (name, names, n);
    ret->slot[ret->n++] = slot;
    if (slot == PLAIN_NOT_WANTED)
        return true;
    ret->least = ret->n;
    ret->converted = ret->converted || !integer;
    ret->key = key ? slot : ret->key;
    return true;
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
        if (!take_column (&sql, names, n, ret))
            return false;
    } while (take_sign (&sql, ','));
    return take_sign (&sql, ')') && sql.n == 0;
}

void plain_schema_columns (struct plain_columns *ret)
{
    *ret = (struct plain_columns){ .n = PLAIN_SCHEMA, .least = PLAIN_SCHEMA,
                                   .key = PLAIN_NOT_WANTED };
    for (unsigned i = 0; i < PLAIN_SCHEMA; i++)
        ret->slot[i] = (uint8_t)i;
}

bool plain_schema_names (const struct db_row *row, const char *table)
{
    return is_word (text_of (row, PLAIN_NAME), table);
}

int plain_schema_row (const struct db_row *row, const char *table,
                      const char *const *names, unsigned n,
                      struct plain_columns *ret)
{
    struct word name = text_of (row, PLAIN_NAME);

    *ret = (struct plain_columns){ .key = PLAIN_NOT_WANTED };
    if (!is_word (text_of (row, PLAIN_TYPE), "table") || name.n == 0 ||
        !same (text_of (row, PLAIN_TABLE), name) ||
        !take_table (text_of (row, PLAIN_SQL), name, names, n, ret))
        return -1;
    return is_word (name, table);
}
