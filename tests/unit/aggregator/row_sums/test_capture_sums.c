/* tests/unit/aggregator/row_sums/test_capture_sums.c - sums that are added up while
 * rows go by are those that SQL finds in the rows afterwards
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/part.h"
#include "store/db_rows.h"
#include "row_sums/capture_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPTURES 5

struct made {
    char dir[64], path[96];
    struct part *part;
    struct batch batches[3];    // the tables that are summed up
    unsigned seed;
};

static unsigned any (struct made *m, unsigned n)
{
    return (unsigned)rand_r (&m->seed) / 16 % n;
}

/* One of a few texts, or NULL. */
static uint32_t some_text (struct made *m, struct batch *b,
                           const char *const *of, unsigned n)
{
    unsigned i = any (m, n + 1);

    return i < n ? batch_string (b, of[i]) : BATCH_NULL_TEXT;
}

/* Halves, so that sums do not depend on their order; or NULL. */
static double some_number (struct made *m)
{
    unsigned v = any (m, 12);

    return v == 11 ? (double)NAN : v / 2.0 - 1;
}

static void flush (struct made *m, struct batch *b)
{
    assert_int_equal (batch_flush (b, part_sink (m->part), NULL), 0);
}

static void fill_row (struct made *m, struct batch *b)
{
    static const char *const texts[] = { "step1", "step2", "", "p2p" };
    const struct table *t = schema_table (b->table);

    for (unsigned c = 0; c < t->ncolumns; c++) {
        if (b->text[c])
            b->text[c][b->nrows] = some_text (m, b, texts, 4);
        else
            b->real[c][b->nrows] = some_number (m);
    }
}

static void add_op (struct made *m, int number)
{
    static const char *const kinds[] = { "a__1", "a__2", "b", "__c" };
    struct batch *b = &m->batches[0];

    (void)number;
    fill_row (m, b);
    b->text[TIME_OP][b->nrows++] = some_text (m, b, kinds, 4);
    if (any (m, 4) == 0)
        flush (m, b);
}

/* An op of a name of its own, over several transports, each with some sizes;
 * batches end anywhere between them.
 */
static void add_packets (struct made *m, int number)
{
    static const char *const transports[] = { "HCCS", "RDMA" };
    struct batch *b = &m->batches[1];
    char name[32];

    (void)snprintf (name, sizeof (name), "op%d", number);
    for (unsigned t = 0; t < 3; t++) {
        double mb = some_number (m), ms = some_number (m);

        for (unsigned n = 1 + any (m, 3); n > 0; n--) {
            fill_row (m, b);
            b->text[BW_OP][b->nrows] = batch_string (b, name);
            b->text[BW_GROUP][b->nrows] = batch_string (b, "g");
            b->text[BW_STEP][b->nrows] = batch_string (b, number % 2 ? "step1"
                                                                     : "");
            b->text[BW_TRANSPORT][b->nrows] =
                t < 2 ? batch_string (b, transports[t]) : BATCH_NULL_TEXT;
            b->real[BW_SIZE][b->nrows] = mb;
            b->real[BW_TIME][b->nrows++] = ms;
            if (any (m, 4) == 0)
                flush (m, b);
        }
    }
}

static void add_link (struct made *m, int number)
{
    static const char *const ops[] = { "allreduce-total", "allreduce-top1",
                                       "total", "-total" };
    static const char *const ranks[] = { "0", "1", "10" };
    struct batch *b = &m->batches[2];

    (void)number;
    fill_row (m, b);
    b->text[MATRIX_OP][b->nrows] = some_text (m, b, ops, 4);
    b->text[MATRIX_SRC][b->nrows] = some_text (m, b, ranks, 3);
    b->text[MATRIX_DST][b->nrows++] = some_text (m, b, ranks, 3);
    if (any (m, 4) == 0)
        flush (m, b);
}

static void add_capture (struct made *m, int64_t id)
{
    const struct row_sink *sink = part_sink (m->part);
    const struct select_item item = { .id = id, .rank = id == 2 ? -1 : id * 3,
                                      .first_row = id << 32,
                                      .rows_max = UINT32_MAX };

    part_begin_capture (m->part, &item);
    for (int again = 0; again < 2; again++) {
        for (int i = 60 * again; i < 60 * (again + 1); i++) {
            add_op (m, i);
            add_packets (m, i);
            add_link (m, i);
        }
        for (unsigned i = 0; i < 3; i++)
            flush (m, &m->batches[i]);
        // the first try is dropped for some
        for (unsigned i = 0; i < 3 && again == 0 && id % 2; i++)
            assert_int_equal (sink->forget (sink->arg, m->batches[i].table,
                                            NULL), 0);
    }
    assert_int_equal (part_end_capture (m->part, NULL), 0);
}

static sqlite3 *make (struct made *m)
{
    static const enum table_id tables[] = { TABLE_TIME, TABLE_BANDWIDTH,
                                            TABLE_MATRIX };
    const atomic_bool no = false;
    struct row_file *file = NULL;
    sqlite3 *db = NULL;

    (void)snprintf (m->dir, sizeof (m->dir), "/tmp/test_sums.XXXXXX");
    assert_non_null (mkdtemp (m->dir));
    (void)snprintf (m->path, sizeof (m->path), "%s/db", m->dir);
    assert_int_equal (row_file_create (m->path, &file, NULL), 0);
    assert_int_equal (part_create (file, &no, &m->part, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal (batch_init (&m->batches[i], tables[i], NULL), 0);
    for (int64_t id = 1; id <= CAPTURES; id++)
        add_capture (m, id);
    assert_int_equal (part_close (m->part, NULL), 0);
    part_destroy (m->part);
    assert_int_equal (row_file_finish (file, NULL, 0, 1, &no, NULL), 0);
    row_file_close (file);
    for (unsigned i = 0; i < 3; i++)
        batch_fini (&m->batches[i]);
    assert_int_equal (db_open (m->path, SQLITE_OPEN_READWRITE, &db), SQLITE_OK);
    return db;
}

static int64_t rows_of (sqlite3 *db, const char *schema, const char *name)
{
    char text[128];

    (void)snprintf (text, sizeof (text), "SELECT count(*) FROM %s.%s", schema,
                    name);
    return db_int (db, text, -1);
}

static int64_t rows_that_differ (sqlite3 *db, const char *name)
{
    char text[256];

    (void)snprintf (text, sizeof (text), "SELECT count(*) FROM (SELECT %s* FROM "
                    "main.%s EXCEPT SELECT * FROM temp.%s)",
                    strcmp (name, "LinkRow") == 0 ? "rowid, " : "", name, name);
    return db_int (db, text, -1);
}

/* Every table of sums, row by row, with NULLs; those of one capture that is
 * computed again alone do not touch the others'.
 */
static void test_same_as_sql (void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 5; seed++) {
        struct made m = { .seed = seed };
        sqlite3 *db = make (&m);

        for (unsigned id = 0; id < SUMS_COUNT; id++)
            assert_int_equal (db_execf (db, NULL, "CREATE TEMP TABLE %s AS "
                                        "SELECT %s* FROM main.%s",
                                        capture_sums_name (id),
                                        id == SUMS_FIRST ? "rowid AS row, "
                                                         : "",
                                        capture_sums_name (id)), 0);
        assert_int_equal (capture_sums_again (db, "SELECT 3", true, NULL), 0);
        assert_int_equal (capture_sums_again (db, "VALUES (1), (2), (4), (5)",
                                              true, NULL), 0);
        for (unsigned id = 0; id < SUMS_COUNT; id++) {
            const char *name = capture_sums_name (id);

            assert_true (rows_of (db, "temp", name) > 2 * CAPTURES);
            assert_int_equal (rows_of (db, "main", name),
                              rows_of (db, "temp", name));
            assert_int_equal (rows_that_differ (db, name), 0);
        }
        (void)sqlite3_close (db);
        (void)unlink (m.path);
        (void)rmdir (m.dir);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_same_as_sql),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
