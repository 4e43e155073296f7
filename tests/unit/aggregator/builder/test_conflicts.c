/* tests/unit/aggregator/builder/test_conflicts.c - rows that two captures both
 * have */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/conflicts.h"
#include "model/schema.h"
#include "store/db.h"
#include "row_sums/capture_sums.h"

#include <stdio.h>

#define CAPTURES 4
#define STEPS 300
#define STEP_TABLES 6           // that have steps

static bool has_steps (unsigned table)
{
    return schema_table (table)->step >= 0;
}

/* The rows that statements have gone through, one by one. */
static int64_t scanned;

static int count_scans (unsigned what, void *arg, void *st, void *ns)
{
    (void)what;
    (void)arg;
    (void)ns;
    scanned += sqlite3_stmt_status (st, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
    return 0;
}

static void make_table (sqlite3 *db, enum table_id id)
{
    const struct table *t = schema_table (id);

    assert_int_equal (db_execf (db, NULL, "CREATE TABLE %s (rank INTEGER, "
                                "capture INTEGER)", t->name), 0);
    for (unsigned c = 0; c < t->ncolumns; c++)
        assert_int_equal (db_execf (db, NULL, "ALTER TABLE %s ADD %s %s",
                                    t->name, t->columns[c].name,
                                    schema_affinity (&t->columns[c])), 0);
}

/* In each table that has steps, every capture has a row of every step, and one
 * of no step.  Some of them write a step as "step10".  Of the others each
 * capture has one row.
 */
static sqlite3 *make_db (void)
{
    sqlite3 *db = NULL;

    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        const char *name = schema_table (t)->name;

        if (!has_steps (t))
            continue;
        make_table (db, t);
        assert_int_equal (
            db_execf (db, NULL, "WITH c(x) AS (SELECT 1 UNION ALL SELECT x+1 "
                      "FROM c WHERE x<%d), s(y) AS (SELECT 0 UNION ALL SELECT "
                      "y+1 FROM s WHERE y<%d) INSERT INTO %s (step, capture) SELECT CASE WHEN "
                      "y=0 THEN NULL ELSE %Q || y END, x FROM c, s", CAPTURES,
                      STEPS, name, t % 2 ? "" : "step"), 0);
    }
    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        if (!has_steps (t))
            assert_int_equal (
                db_execf (db, NULL, "CREATE TABLE %s AS SELECT DISTINCT "
                          "capture FROM StepTraceTime",
                          schema_table (t)->name), 0);
    }
    for (unsigned id = 0; id < SUMS_COUNT; id++)
        assert_int_equal (db_execf (db, NULL, "CREATE TABLE %s (%s)",
                                    capture_sums_name (id),
                                    capture_sums_columns (id)), 0);
    (void)sqlite3_trace_v2 (db, SQLITE_TRACE_PROFILE, count_scans, NULL);
    scanned = 0;
    return db;
}

static int64_t rows (sqlite3 *db, const char *where)
{
    char sql[256];
    int64_t n = 0;

    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        if (!has_steps (t))
            continue;
        (void)snprintf (sql, sizeof (sql), "SELECT count(*) FROM %s WHERE %s",
                        schema_table (t)->name, where);
        n += db_int (db, sql, -1000000);
    }
    return n;
}

/* Nothing but these rows goes: of that capture and that step, also where the
 * step has no name.
 */
static void test_which (void **state)
{
    // the fourth capture has the steps, too, and is the newest
    const struct select_conflict list[] = {
        { 1, 0, "7", 0 }, { 4, 0, "7", 0 }, { 2, 0, "", 0 }, { 4, 0, "", 0 },
        { 3, 0, "70", 0 }, { 4, 0, "70", 0 }, { 1, 0, "7", 0 },
        { 1, 0, "it's", 0 },
    };
    sqlite3 *db = make_db ();
    int64_t before = rows (db, "1");

    (void)state;
    assert_int_equal (conflicts_drop (db, list, 8, NULL), 0);
    assert_int_equal (before - rows (db, "1"), 3 * STEP_TABLES);
    assert_int_equal (rows (db, "capture=1 AND step IN ('7', 'step7')"), 0);
    assert_int_equal (rows (db, "capture=2 AND step IS NULL"), 0);
    assert_int_equal (rows (db, "capture=3 AND step IN ('70', 'step70')"), 0);
    assert_int_equal (rows (db, "capture=1 AND step IN ('70', 'step70')"),
                      STEP_TABLES);
    // once more, within one transaction as in a build
    assert_int_equal (db_exec (db, "BEGIN", NULL), 0);
    assert_int_equal (conflicts_drop (db, list, 2, NULL), 0);
    assert_int_equal (db_exec (db, "COMMIT", NULL), 0);
    assert_int_equal (before - rows (db, "1"), 3 * STEP_TABLES);
    (void)sqlite3_close (db);
}

/* A table that the newer capture has no rows of, or not whole, stays that of
 * the older one; ranks have nothing to do with each other.
 */
static void test_tables (void **state)
{
    const uint64_t all = (1u << TABLE_COUNT) - 1;
    const struct select_conflict list[] = {
        { 1, 0, "7", all }, { 2, 0, "7", all & ~(1u << TABLE_TIME) },
        { 1, 0, "8", all }, { 2, 0, "8", all }, { 3, 1, "7", 0 },
        { 4, 2, "7", all },
    };
    sqlite3 *db = make_db ();

    (void)state;
    assert_int_equal (db_exec (db, "DELETE FROM CommAnalyzerMatrix WHERE "
                                   "capture=2", NULL), 0);
    assert_int_equal (conflicts_drop (db, list, 6, NULL), 0);
    assert_int_equal (rows (db, "capture=1 AND step IN ('7', 'step7')"), 2);
    assert_int_equal (rows (db, "capture=2 AND step IN ('7', 'step7')"),
                      STEP_TABLES - 2);
    assert_int_equal (rows (db, "capture=1 AND step IN ('8', 'step8')"), 1);
    assert_int_equal (rows (db, "capture>2 AND step IN ('7', 'step7')"),
                      2 * STEP_TABLES);
    assert_int_equal (db_int (db, "SELECT capture FROM CommAnalyzerTime WHERE "
                              "step='step7' AND capture<3", 0), 1);
    assert_int_equal (db_int (db, "SELECT capture FROM CommAnalyzerMatrix "
                              "WHERE step='step7' AND capture<3", 0), 1);
    (void)sqlite3_close (db);
}

/* All that a capture gave, whatever its steps. */
static void test_capture (void **state)
{
    const struct select_conflict list[] = { { 3, 0, NULL, 0 } };
    sqlite3 *db = make_db ();
    int64_t before = rows (db, "1");

    (void)state;
    assert_int_equal (conflicts_drop (db, list, 1, NULL), 0);
    assert_int_equal (rows (db, "capture=3"), 0);
    assert_int_equal (rows (db, "1"), before / CAPTURES * (CAPTURES - 1));
    assert_int_equal (db_int (db, "SELECT sum(capture) FROM CaptureInfo", 0),
                      1 + 2 + 4);
    (void)sqlite3_close (db);
}

/* However many conflicts: each table is read twice, and for its sums. */
static void test_once (void **state)
{
    static struct select_conflict list[2 * STEPS];
    static char names[STEPS][8];
    sqlite3 *db = make_db ();
    int64_t all = rows (db, "1");

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        (void)snprintf (names[i], sizeof (names[i]), "%d", i + 1);
        list[2 * i] = (struct select_conflict){ 2, 0, names[i], 0 };
        list[2 * i + 1] = (struct select_conflict){ 4, 0, names[i], 0 };
    }
    scanned = 0;
    assert_int_equal (conflicts_drop (db, list, 2 * STEPS, NULL), 0);
    if (scanned > 3 * all + 32 * STEPS)
        fail_msg ("%lld rows were looked at, of %lld", (long long)scanned,
                  (long long)all);
    assert_int_equal (all - rows (db, "1"), STEPS * STEP_TABLES);
    scanned = 0;
    assert_int_equal (conflicts_drop (db, list, 0, NULL), 0);
    assert_int_equal (scanned, 0);
    (void)sqlite3_close (db);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_which),
        cmocka_unit_test (test_tables),
        cmocka_unit_test (test_capture),
        cmocka_unit_test (test_once),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
