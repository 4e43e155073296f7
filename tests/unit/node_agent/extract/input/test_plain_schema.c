/* tests/unit/node_agent/extract/input/test_plain_schema.c - which definitions
 * of tables are read without SQLite
 *
 * A table that SQLite reads in another way, and is taken for plain, would give
 * wrong values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/input/plain_schema.h"

#include <string.h>

#define NAMES 3

static const char *const names[NAMES] = { "a", "b", "c" };

static void set (struct db_row *row, unsigned column, const char *text)
{
    row->text[column] = text;
    row->size[column] = (uint32_t)strlen (text);
    row->texts |= 1u << column;
}

static int read_row (const char *type, const char *name, const char *table,
                     const char *sql, struct plain_columns *ret)
{
    struct db_row row = { .texts = 0 };

    set (&row, PLAIN_TYPE, type);
    set (&row, PLAIN_NAME, name);
    set (&row, PLAIN_TABLE, table);
    set (&row, PLAIN_SQL, sql);
    return plain_schema_row (&row, "t", names, NAMES, ret);
}

static int read_sql (const char *sql, struct plain_columns *ret)
{
    return read_row ("table", "t", "t", sql, ret);
}

static void test_plain (void **state)
{
    struct plain_columns c;

    (void)state;
    assert_int_equal (read_sql ("CREATE TABLE t (x TEXT, c REAL, A NUMERIC, "
                                "y INTEGER)", &c), 1);
    assert_int_equal (c.n, 4);
    assert_int_equal (c.least, 3);
    assert_int_equal (c.slot[0], PLAIN_NOT_WANTED);
    assert_int_equal (c.slot[1], 2);
    assert_int_equal (c.slot[2], 0);
    assert_int_equal (c.key, PLAIN_NOT_WANTED);
    assert_true (c.converted);          // c
    assert_int_equal (read_sql ("CREATE TABLE t(\n a INTEGER PRIMARY KEY,\n"
                                " b numeric\n)", &c), 1);
    assert_int_equal (c.key, 0);
    assert_false (c.converted);
    // other tables are plain, too, or the schema is not
    assert_int_equal (read_row ("table", "u", "u", "CREATE TABLE u (a TEXT)",
                                &c), 0);
    assert_int_equal (read_row ("table", "T", "T", "CREATE TABLE T (a TEXT)",
                                &c), 1);
}

static void test_not_plain (void **state)
{
    static const char *const odd[] = {
        "", "CREATE TABLE t", "CREATE TABLE t (", "CREATE TABLE t ()",
        "CREATE TABLE t (a)", "CREATE TABLE t (a TEXT", "CREATE TABLE u (a TEXT)",
        "CREATE TABLE t (a TEXT) WITHOUT ROWID", "CREATE TABLE t (a TEXT) STRICT",
        "CREATE TABLE t (a TEXT,)", "CREATE TABLE t (a TEXT PRIMARY KEY)",
        "CREATE TABLE t (a INTEGER PRIMARY KEY DESC)",
        "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)",
        "CREATE TABLE t (a INTEGER PRIMARY)", "CREATE TABLE t (a UNIQUE)",
        "CREATE TABLE t (a TEXT, UNIQUE (a))",
        "CREATE TABLE t (a INTEGER, b INTEGER, PRIMARY KEY (a, b))",
        "CREATE TABLE t (a TEXT DEFAULT 'x')", "CREATE TABLE t (a TEXT NOT NULL)",
        "CREATE TABLE t (a INTEGER AS (1))", "CREATE TABLE t (a VARCHAR(5))",
        "CREATE TABLE t (\"a b\" TEXT)", "CREATE TABLE t (a TEXT) -- more",
        "CREATE TABLE t AS SELECT 1", "CREATE VIRTUAL TABLE t USING fts5(a)",
        "CREATE TABLE t (a TEXT /* b TEXT */)",
    };
    struct plain_columns c;

    (void)state;
    for (size_t i = 0; i < sizeof (odd) / sizeof (odd[0]); i++) {
        if (read_sql (odd[i], &c) != -1)
            fail_msg ("%s is plain", odd[i]);
    }
    assert_int_equal (read_row ("view", "v", "v", "CREATE TABLE v (a TEXT)",
                                &c), -1);
    assert_int_equal (read_row ("index", "i", "t", "CREATE INDEX i ON t (a)",
                                &c), -1);
    assert_int_equal (read_row ("table", "t", "u", "CREATE TABLE t (a TEXT)",
                                &c), -1);
}

static void test_names (void **state)
{
    struct db_row row = { .texts = 0 };

    (void)state;
    assert_false (plain_schema_names (&row, "t"));
    set (&row, PLAIN_NAME, "T");
    assert_true (plain_schema_names (&row, "t"));
    assert_false (plain_schema_names (&row, "ta"));
}

/* More columns than are known of. */
static void test_many (void **state)
{
    char sql[16384] = "CREATE TABLE t (a TEXT";
    struct plain_columns c;

    (void)state;
    for (unsigned i = 1; i < PLAIN_COLUMNS_MAX; i++)
        strcat (sql, ", x TEXT");
    strcat (sql, ")");
    assert_int_equal (read_sql (sql, &c), 1);
    assert_int_equal (c.n, PLAIN_COLUMNS_MAX);
    sql[strlen (sql) - 1] = '\0';
    strcat (sql, ", x TEXT)");
    assert_int_equal (read_sql (sql, &c), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_plain),
        cmocka_unit_test (test_not_plain),
        cmocka_unit_test (test_names),
        cmocka_unit_test (test_many),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
