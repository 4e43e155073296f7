/* tests/unit/node_agent/extract/input/test_profiler_db.c - databases that were
 * made to harm
 *
 * Whatever is in them, reading ends, and gives no more than they can hold.
 */
#include "node_agent/extract/capture_check.h"

#include <sqlite3.h>
#include <unistd.h>

#define DATABASE "ASCEND_PROFILER_OUTPUT/analysis.db"
#define PAGE 4096u
#define CELLS 500u              // of a page that is not a leaf
#define TABLE "CommAnalyzerTime"
#define COLUMNS "hccl_op_name, group_name, start_timestamp, elapse_time, " \
    "transit_time, wait_time, synchronization_time, idle_time, step, type"

#define TYPED "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, " \
    "elapse_time NUMERIC, transit_time NUMERIC, wait_time NUMERIC, " \
    "synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT"

static int setup (void **state)
{
    (void)state;
    return capture_begin ("a_ascend_pt");
}

/* The first number that the last statement gives. */
static int64_t run (const char *sql)
{
    sqlite3_stmt *st = NULL;
    sqlite3 *db;
    int64_t v = 0;

    assert_int_equal (sqlite3_open (capture_path (DATABASE), &db), SQLITE_OK);
    for (const char *at = sql; *at; ) {
        if (sqlite3_prepare_v2 (db, at, -1, &st, &at) != SQLITE_OK)
            fail_msg ("%s", sqlite3_errmsg (db));
        while (sqlite3_step (st) == SQLITE_ROW)
            v = sqlite3_column_int64 (st, 0);
        (void)sqlite3_finalize (st);
    }
    (void)sqlite3_close (db);
    return v;
}

static uint64_t rows_of (struct capture *c)
{
    uint64_t n = 0;
    const struct row_sink sink = { sink_count, sink_forget_nothing, &n };

    capture_init (c);
    assert_int_equal (extract_capture (capture_chosen (), NULL, &sink, c,
                                       NULL), 0);
    return n;
}

/* A page of a table that has the same page below it again and again. */
static void put_page (uint8_t page[PAGE], uint32_t below)
{
    size_t start = PAGE - 5 * CELLS;

    memset (page, 0, PAGE);
    page[0] = 5;                // an inner page
    page[3] = CELLS >> 8;
    page[4] = CELLS & 0xff;
    page[5] = (uint8_t)(start >> 8);
    page[6] = (uint8_t)start;
    page[11] = (uint8_t)below;
    for (size_t i = 0; i < CELLS; i++) {
        size_t at = start + 5 * i;

        page[at + 3] = (uint8_t)below;
        page[at + 4] = 1;       // the key
        page[12 + 2 * i] = (uint8_t)(at >> 8);
        page[13 + 2 * i] = (uint8_t)at;
    }
}

/* 500 * 500 * 500 rows, of one. */
static void test_circle (void **state)
{
    uint8_t page[PAGE], leaf[PAGE];
    uint32_t root, last;
    struct capture c;
    FILE *f;

    (void)state;
    root = (uint32_t)run ("CREATE TABLE " TABLE " (" COLUMNS ");"
                          "INSERT INTO " TABLE " VALUES ('a', 'g', 1, 2, 3, 4,"
                          " 5, 6, 'step1', 'p2p');"
                          "SELECT rootpage FROM sqlite_schema");
    assert_non_null (f = fopen (capture_path (DATABASE), "r+b"));
    assert_int_equal (fseek (f, 0, SEEK_END), 0);
    last = (uint32_t)(ftell (f) / PAGE);
    assert_int_equal (fseek (f, (long)((root - 1) * PAGE), SEEK_SET), 0);
    assert_int_equal (fread (leaf, PAGE, 1, f), 1);
    put_page (page, last + 1);
    assert_int_equal (fseek (f, (long)((root - 1) * PAGE), SEEK_SET), 0);
    assert_int_equal (fwrite (page, PAGE, 1, f), 1);
    assert_int_equal (fseek (f, (long)(last * PAGE), SEEK_SET), 0);
    for (uint32_t i = 2; i <= 3; i++) {
        put_page (page, last + i);
        assert_int_equal (fwrite (page, PAGE, 1, f), 1);
    }
    assert_int_equal (fwrite (leaf, PAGE, 1, f), 1);
    assert_int_equal (fseek (f, 31, SEEK_SET), 0);
    assert_int_equal (fputc ((int)last + 3, f), (int)last + 3);
    assert_int_equal (fclose (f), 0);
    assert_true (rows_of (&c) <= (last + 3) * PAGE / 4);
    assert_non_null (strstr (c.reason, "more than its 20480 bytes can hold"));
    capture_fini (&c);
}

/* Overwrite a byte of a page of a table of 2000 rows that is defined so, and
 * read it.
 */
static uint64_t damaged_rows (const char *columns, unsigned at, uint8_t value,
                              struct capture *c)
{
    char sql[1024];
    uint32_t page;
    FILE *f;

    (void)unlink (capture_path (DATABASE));
    (void)snprintf (sql, sizeof (sql), "CREATE TABLE " TABLE " (%s);"
                    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 "
                    "FROM n LIMIT 2000) INSERT INTO " TABLE " SELECT 'op'||x, "
                    "'g', x, 2, 3.5, 4, 5, 6, 'step1', 'p2p' FROM n; "
                    "PRAGMA page_count", columns);
    page = (uint32_t)run (sql) - 5;
    assert_non_null (f = fopen (capture_path (DATABASE), "r+b"));
    assert_int_equal (fseek (f, (long)((page - 1) * PAGE + at), SEEK_SET), 0);
    assert_int_equal (fputc (value, f), value);
    assert_int_equal (fclose (f), 0);
    return rows_of (c);
}

/* What comes from pages, and what is said, is the same as from a query, which
 * columns without types need.
 */
static void test_damaged_page (void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } bad[] = {
        { 0, 0 },               // of no kind
        { 0, 10 },              // of an index
        { 3, 255 },             // more cells than it has room for
        { 8, 255 },             // a cell behind the page
    };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        struct capture pages, query;
        uint64_t rows = damaged_rows (TYPED, bad[i].at, bad[i].value, &pages);

        assert_int_equal (damaged_rows (COLUMNS, bad[i].at, bad[i].value,
                                        &query), rows);
        assert_string_equal (pages.reason, query.reason);
        assert_int_equal (pages.state, query.state);
        if (rows < 1000 || rows > 1999 ||
            !strstr (pages.reason, "analysis.db: database disk image is "
                                   "malformed"))
            fail_msg ("%u: %u rows: %s", (unsigned)i, (unsigned)rows,
                      pages.reason);
        capture_fini (&pages);
        capture_fini (&query);
    }
}

/* A value that is none of its column, after rows from pages. */
static void test_odd_value (void **state)
{
    struct capture c;

    (void)state;
    (void)run ("CREATE TABLE " TABLE " (" TYPED ");"
               "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n "
               "LIMIT 500) INSERT INTO " TABLE " SELECT 'op'||x, 'g', x, CASE x "
               "WHEN 400 THEN 'long' ELSE 2 END, 3.5, 4, 5, 6, 'step1', 'p2p' "
               "FROM n");
    assert_true (rows_of (&c) < 450);
    assert_non_null (strstr (c.reason, "CommAnalyzerTime.elapse_time is not a "
                                       "number: \"long\""));
    capture_fini (&c);
}

/* A column that was added has its default in every row. */
static void test_default (void **state)
{
    char sql[20000] = "ALTER TABLE " TABLE " ADD COLUMN group_name DEFAULT '";
    size_t n = strlen (sql);
    struct capture c;

    (void)state;
    memset (sql + n, 'x', sizeof (sql) - n);
    memcpy (sql + sizeof (sql) - 2, "'", 2);
    (void)run ("CREATE TABLE " TABLE " (step, start_timestamp, elapse_time, "
               "transit_time, wait_time, synchronization_time, idle_time, "
               "type, hccl_op_name);"
               "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n "
               "LIMIT 20000) INSERT INTO " TABLE " (type) SELECT x FROM n;");
    (void)run (sql);
    assert_true (rows_of (&c) < 200);
    assert_non_null (strstr (c.reason, "bytes can hold"));
    capture_fini (&c);
}

static int take_length (void *arg, const struct batch *b, struct err *err)
{
    (void)err;
    (void)batch_text_at (b, b->text[TIME_OP][0], arg);
    return 0;
}

/* Of a text that is too long, a character is stored whole or not at all. */
static void test_cut (void **state)
{
    size_t length = 0;
    const struct row_sink sink = { take_length, sink_forget_nothing, &length };
    struct capture c;

    (void)state;
    capture_init (&c);
    (void)run ("CREATE TABLE " TABLE " (" COLUMNS ");"
               "INSERT INTO " TABLE " VALUES ('a'||replace(printf("
               "'%040000d', 0), '0', '\xc3\xa9'), 'g', 1, 2, 3, 4, 5, 6,"
               " 'step1', 'p2p');");
    assert_int_equal (extract_capture (capture_chosen (), NULL, &sink, &c,
                                       NULL), 0);
    assert_int_equal (length, 65535);
    assert_non_null (strstr (c.reason, "1 text of " TABLE " had more than "
                                       "65536 bytes, and lost the rest"));
    capture_fini (&c);
}

/* A virtual table that says it is a true one is none. */
static void test_virtual (void **state)
{
    struct capture c;

    (void)state;
    (void)run ("CREATE TABLE " TABLE " (" COLUMNS ");"
               "PRAGMA writable_schema=ON;"
               "UPDATE sqlite_schema SET sql='CREATE VIRTUAL TABLE " TABLE
               " USING fts5(" COLUMNS ")'");
    assert_int_equal (rows_of (&c), 0);
    assert_null (strstr (c.reason, "analysis.db: "));     // it was not called
    capture_fini (&c);
}

/* Whatever it is added to would be infinite, and no JSON could hold it. */
static void test_infinite (void **state)
{
    struct capture c;

    (void)state;
    (void)run ("CREATE TABLE " TABLE " (" COLUMNS ");"
               "INSERT INTO " TABLE " VALUES ('a', 'g', 1, 2, 3, 4, 5, 6, "
               "'step1', 'p2p'), ('b', 'g', 1, 9e999, 3, 4, 5, 6, 'step1', "
               "'p2p')");
    assert_int_equal (rows_of (&c), 1);
    assert_non_null (strstr (c.reason, "CommAnalyzerTime.elapse_time is not a "
                                       "number: \"Inf\""));
    capture_fini (&c);
}

/* A log whose frame is damaged: without a word it would be as if what it
 * holds had never been written.
 */
static void test_damaged_log (void **state)
{
    struct capture c;
    uint64_t rows;
    sqlite3 *db;
    FILE *f;

    (void)state;
    (void)run ("CREATE TABLE " TABLE " (" COLUMNS ")");
    assert_int_equal (sqlite3_open (capture_path (DATABASE), &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (
        db, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
        "INSERT INTO " TABLE " VALUES ('a', 'g', 1, 2, 3, 4, 5, 6, 'step1', "
        "'p2p')", NULL, NULL, NULL), SQLITE_OK);
    rows = rows_of (&c);        // others, too: of its files
    assert_null (strstr (c.reason, "analysis.db-wal"));
    capture_fini (&c);
    assert_non_null (f = fopen (capture_path (DATABASE "-wal"), "r+b"));
    assert_int_equal (fseek (f, 1000, SEEK_SET), 0);
    assert_int_equal (fputc (0x55, f), 0x55);
    assert_int_equal (fclose (f), 0);
    assert_int_equal (rows_of (&c), rows - 1);
    assert_non_null (strstr (c.reason, "analysis.db-wal is damaged"));
    capture_fini (&c);
    (void)sqlite3_close (db);
}

int main (void)
{
#define IN_TOP(f) cmocka_unit_test_setup_teardown (f, setup, capture_teardown)
    const struct CMUnitTest tests[] = {
        IN_TOP (test_circle), IN_TOP (test_default), IN_TOP (test_cut),
        IN_TOP (test_damaged_page), IN_TOP (test_odd_value),
        IN_TOP (test_virtual),
        IN_TOP (test_infinite), IN_TOP (test_damaged_log),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
