/* tests/unit/aggregator/postgres/test_facts.c - the list of tables agrees with
 * the databases that it names
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "postgres/facts.h"
#include "postgres/schema.h"
#include "store/db_rows.h"
#include "store/row_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void prepares (sqlite3 *db, const struct facts_table *t)
{
    sqlite3_stmt *st = NULL;
    struct err err = { "" };
    char sql[FACTS_QUERY_MAX];

    PRINT (sql, "SELECT %s FROM %s", t->select, t->from);
    if (db_prepare (db, sql, &st, &err) < 0)
        fail_msg ("%s: %s", t->name, err.text);
    assert_int_equal (sqlite3_column_count (st),
                      strlen (t->types));
    (void)sqlite3_finalize (st);
}

/* Each table has as many types as its query has columns. */
static void test_tables (void **state)
{
    struct catalogue *c;
    struct err err;

    (void)state;
    assert_int_equal (catalogue_open_copy (&c, &err), 0);
    assert_int_equal (facts_make_temp (catalogue_db (c), &err), 0);
    for (size_t i = 0; i < FACTS_TABLES; i++) {
        const struct facts_table *t = &facts_tables[i];

        assert_int_equal (strspn (t->types, "ift"), strlen (t->types));
        if (t->source == FACTS_CATALOGUE)
            prepares (catalogue_db (c), t);
    }
    catalogue_close (c);
}

static int column_of (const char *columns, const char *name)
{
    const char *at = strstr (columns, name);
    int n = 0;

    assert_non_null (at);
    for (const char *p = columns; p < at; p++)
        n += *p == ',';
    return n;
}

/* The bytes of a result are those of all its files. */
static void test_bytes_of_parts (void **state)
{
    const struct facts_table *t = &facts_tables[0];
    struct catalogue *c;
    char sql[FACTS_QUERY_MAX];
    struct db_rows r;

    (void)state;
    assert_int_equal (catalogue_open_copy (&c, NULL), 0);
    assert_int_equal (db_exec (catalogue_db (c), "INSERT INTO job_row (id, name,"
                               " file_ino, file_bytes, part_bytes) VALUES (1, "
                               "'a', 9, 5, 7)", NULL), 0);
    PRINT (sql, "SELECT %s FROM %s", t->select, t->from);
    r = db_rows (catalogue_db (c), NULL, sql, 1, "", "a");
    assert_true (db_step (&r));
    assert_int_equal (sqlite3_column_int (r.st, column_of (t->columns,
                                                           "file_bytes")), 12);
    assert_int_equal (db_end (&r), 0);
    catalogue_close (c);
}

/* The tables of the catalogue can be filled from there, by the same names. */
static void test_copy (void **state)
{
    struct catalogue *c;
    char sql[2000], path[PATH_MAX];
    sqlite3_stmt *st;
    struct err err;

    (void)state;
    assert_int_equal (catalogue_open_copy (&c, &err), 0);
    assert_int_equal (facts_make_temp (catalogue_db (c), &err), 0);
    for (size_t i = 0; i < FACTS_TABLES; i++) {
        const struct facts_table *t = &facts_tables[i];

        assert_true ((t->into != NULL) == (t->use != FACTS_PUSHED));
        if (!t->into)
            continue;
        (void)snprintf (sql, sizeof (sql), "SELECT %s FROM %s", t->columns,
                        t->into);
        assert_int_equal (db_prepare (catalogue_db (c), sql, &st, &err), 0);
        (void)sqlite3_finalize (st);
    }
    assert_int_equal (catalogue_count (c), 0);
    catalogue_set_beyond (c, (struct catalogue_beyond){ 7, true, false });
    assert_int_equal (catalogue_count (c), 7);
    assert_true (catalogue_has_users (c));
    assert_false (catalogue_has_tags (c));
    assert_false (catalogue_result_path (c, "a", path));
    assert_int_equal (db_exec (catalogue_db (c), "INSERT INTO job_row (name, "
                               "path) VALUES ('a', '/there')", &err), 0);
    assert_true (catalogue_result_path (c, "a", path));
    assert_string_equal (path, "/there");
    catalogue_close (c);
}

static int64_t sum_of (sqlite3 *db)
{
    char sql[2000];

    (void)snprintf (sql, sizeof (sql), "SELECT %s FROM job_row", facts_sum);
    return db_int (db, sql, 0);
}

/* The checksum is another one after each change, of what only the ledger knows,
 * too.
 */
static void test_sum (void **state)
{
    static const char *const changes[] = {
        "UPDATE job_row SET high=1", "UPDATE job_row SET tags='a'",
        "UPDATE job_row SET file_bytes=7", "UPDATE job_row SET part_bytes=7",
        "UPDATE job_row SET file_ns=7", "UPDATE job_row SET its_command='x'",
        "INSERT INTO temp.claim VALUES (1, 0, 3, '', '', 8)",
        "UPDATE temp.claim SET world_size=9",
        "INSERT INTO temp.clock VALUES (1, 0, 'k', 'h', 5, 1)",
        "UPDATE temp.clock SET offset_ns=6",
        "INSERT INTO temp.rest VALUES (1, 0, 'home', 'tcp://a:1')",
        "UPDATE temp.rest SET value='tcp://b:1'",
    };
    enum { CHANGES = sizeof (changes) / sizeof (changes[0]) };
    int64_t seen[CHANGES + 1];
    struct catalogue *c;
    sqlite3 *db;

    (void)state;
    assert_int_equal (catalogue_open_copy (&c, NULL), 0);
    db = catalogue_db (c);
    assert_int_equal (facts_make_temp (db, NULL), 0);
    assert_int_equal (row_sum_register (db), SQLITE_OK);
    assert_int_equal (db_exec (db, "INSERT INTO job_row (id, name) VALUES (1, "
                                   "'a')", NULL), 0);
    seen[0] = sum_of (db);
    assert_int_not_equal (seen[0], 0);
    for (size_t i = 0; i < CHANGES; i++) {
        assert_int_equal (db_exec (db, changes[i], NULL), 0);
        seen[i + 1] = sum_of (db);
        for (size_t k = 0; k <= i; k++)
            assert_int_not_equal (seen[i + 1], seen[k]);
    }
    catalogue_close (c);
}

static int take_claim (void *arg, const struct size_claim *w)
{
    struct size_claim *out = arg;

    *out = *w;
    return 0;
}

static int take_clock (void *arg, const struct ledger_clock *k)
{
    struct ledger_clock *out = arg;

    *out = *k;
    return 0;
}

static int take_rest (void *arg, const struct ledger_fact *f)
{
    struct ledger_fact *out = arg;

    *out = *f;
    return 0;
}

static void test_rest (void **state)
{
    struct ledger_fact f = { .key = FACT_TAG };
    struct catalogue *c;

    (void)state;
    assert_int_equal (catalogue_open_copy (&c, NULL), 0);
    assert_int_equal (facts_make_temp (catalogue_db (c), NULL), 0);
    assert_int_equal (db_exec (catalogue_db (c), "INSERT INTO job_row (id, name) "
                               "VALUES (4, 'a');INSERT INTO temp.rest VALUES "
                               "(4, 1, 'raw_at', 'tcp://b:1')", NULL), 0);
    assert_false (facts_is_rest (&f));
    assert_int_equal (facts_each_rest (c, "b", take_rest, &f, NULL), 0);
    assert_string_equal (f.key, FACT_TAG);
    assert_int_equal (facts_each_rest (c, "a", take_rest, &f, NULL), 0);
    assert_true (facts_is_rest (&f));
    assert_string_equal (f.value, "tcp://b:1");
    f.gone = true;
    assert_false (facts_is_rest (&f));
    catalogue_close (c);
}

static void test_claims (void **state)
{
    struct size_claim w = { .world_size = 0 };
    struct ledger_clock k = { .offset_ns = 0 };
    struct catalogue *c;
    sqlite3 *db;

    (void)state;
    assert_int_equal (catalogue_open_copy (&c, NULL), 0);
    db = catalogue_db (c);
    assert_int_equal (facts_make_temp (db, NULL), 0);
    assert_int_equal (db_exec (db, "INSERT INTO job_row (id, name) VALUES (4, "
                               "'a');INSERT INTO temp.claim VALUES (4, 0, 3, "
                               "'key', 'node', 8);INSERT INTO temp.clock VALUES"
                               " (4, 0, 'k', 'h', 5, 1)", NULL), 0);
    assert_int_equal (facts_each_claim (c, "b", take_claim, &w, NULL), 0);
    assert_int_equal (w.world_size, 0);
    assert_int_equal (facts_each_claim (c, "a", take_claim, &w, NULL), 0);
    assert_int_equal (w.by, CLAIM_EXPECT);
    assert_int_equal (w.world_size, 8);
    assert_string_equal (w.host, "node");
    assert_string_equal (w.who, "key");
    assert_int_equal (facts_each_clock (c, "a", take_clock, &k, NULL), 0);
    assert_int_equal (k.offset_ns, 5);
    assert_string_equal (k.host, "h");
    catalogue_close (c);
}

/* The types of a table as PostgreSQL makes it, behind its first columns; and the
 * names that it has in the catalogue, too.
 */
static void is_made (const struct facts_table *t, const char *sql,
                     const char *before, const char *until)
{
    const char *at = strstr (sql, before), *end, *name = t->columns;
    char types[80] = "";

    assert_non_null (at);
    at += strlen (before);
    assert_non_null (end = strstr (at, until));
    for (size_t i = 0; at < end; i++) {
        size_t n = strcspn (at, " ");

        if (name) {
            assert_int_equal (strcspn (name, ","), n);
            assert_memory_equal (name, at, n);
            name += n + strspn (name + n, ", ");
        }
        at += n + 1;
        types[i] = *at == 'b' ? 'i' : *at;
        at += strcspn (at, ",'");
        at += strspn (at, ", ");
    }
    assert_string_equal (types, t->types);
}

/* "job" without the column that a later step adds. */
static const char *without (const struct facts_table *t, const char *column,
                            char out[1200])
{
    const char *at = strstr (t->columns, column);

    assert_non_null (at);
    (void)snprintf (out, 1200, "%.*s%s", (int)(at - t->columns), t->columns,
                    at + strlen (column));
    return out;
}

static const char *without_one (const struct facts_table *t, const char *column,
                                char out[80])
{
    const int at = column_of (t->columns, column);

    (void)snprintf (out, 80, "%.*s%s", at, t->types, t->types + at + 1);
    return out;
}

/* The steps to the present version are there, in order. */
static void test_migrations (void **state)
{
    struct facts_table later;
    char text[120], columns[1200], types[80];

    (void)state;
    assert_true (pg_migration_count >= 2);
    for (size_t i = 0; i < pg_migration_count; i++) {
        assert_int_equal (atoi (pg_migration[i].name), i + 1);
        assert_null (pg_migration[i].query);
    }
    later = facts_tables[0];
    later.columns = without (&later, ", known_by", columns);
    later.types = without_one (&facts_tables[0], "known_by", types);
    is_made (&later, pg_migration[0].sql, "sum bigint NOT NULL, ", "UNIQUE (");
    assert_non_null (strstr (pg_migration[3].sql, "ADD COLUMN known_by text;"));
    for (size_t i = 1; i < FACTS_TABLES; i++) {
        PRINT (text, "('%s', '", facts_tables[i].name);
        if (strstr (pg_migration[0].sql, text)) {
            is_made (&facts_tables[i], pg_migration[0].sql, text, "')");
            continue;
        }
        PRINT (text, "CREATE TABLE %s (job bigint NOT NULL, at timestamptz NOT "
               "NULL, ", facts_tables[i].name);
        is_made (&facts_tables[i], pg_migration[3].sql, text, ")");
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_tables),
        cmocka_unit_test (test_copy), cmocka_unit_test (test_bytes_of_parts),
        cmocka_unit_test (test_sum),
        cmocka_unit_test (test_claims), cmocka_unit_test (test_rest),
        cmocka_unit_test (test_migrations),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
