/* tests/unit/aggregator/waits/test_wait_totals.c - the pairs that waited longest
 * in all */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/db_rows.h"
#include "waits/wait_totals.h"

#include <stdlib.h>

#define GROUPS 60u
#define RANKS 24u               // of a group

static sqlite3 *make_db (void)
{
    sqlite3 *db = NULL;

    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (
        db_exec (db, "CREATE TABLE WaitTotal (late_rank, waiting_rank,"
                     " comm_group, ops, wait_ms NUMERIC, clock_error_ms);"
                     "CREATE TABLE one (late_rank, waiting_rank, comm_group,"
                     " ops, wait_ms)", NULL), 0);
    return db;
}

/* Some pairs of a group in one step, sorted; also into table 'one'. */
static void add_step (struct wait_totals *t, sqlite3 *db, uint32_t group,
                      uint32_t step, unsigned *seed)
{
    struct wait_sum list[RANKS * RANKS];
    size_t n = 0;

    for (uint32_t late = 0; late < RANKS; late++) {
        for (uint32_t waiting = 0; waiting < RANKS; waiting++) {
            unsigned v = (unsigned)rand_r (seed) / 16;

            if (v % 3 == 0 || late == waiting)
                continue;
            list[n] = (struct wait_sum){ step, group, late, waiting, 1 + v % 5,
                                         v / 8 % 4096 / 2.0 };
            assert_int_equal (
                db_execf (db, NULL, "INSERT INTO one VALUES (%u, %u, %u, %u,"
                          " %f)", late, waiting, group, list[n].ops,
                          list[n].wait_ms), 0);
            n++;
        }
    }
    assert_int_equal (wait_totals_add (t, list, n, NULL), 0);
}

/* All groups have steps, and there are more pairs than rows are kept: those are
 * kept that SQL finds, in its order.
 */
static void test_longest (void **state)
{
    struct clock_skew *skew = clock_skew_create ();
    struct wait_totals t = { 0 };
    sqlite3 *db = make_db ();
    unsigned seed = 1;

    (void)state;
    for (uint32_t group = 1; group <= GROUPS; group++) {
        for (uint32_t step = 0; step < group % 4; step++)
            add_step (&t, db, group, step, &seed);
    }
    assert_int_equal (wait_totals_write (&t, db, skew, NULL), 0);
    assert_int_equal (
        db_exec (db, "CREATE TABLE want AS SELECT late_rank, waiting_rank,"
                     " comm_group, sum(ops) AS ops, sum(wait_ms) AS wait_ms"
                     " FROM one GROUP BY 1, 2, 3 ORDER BY 5 DESC, 1, 2, 3",
                 NULL), 0);
    assert_true (db_int (db, "SELECT count(*) FROM want", 0) >
                 2 * WAIT_TOTALS_MAX);
    assert_int_equal (db_int (db, "SELECT count(*) FROM WaitTotal", 0),
                      WAIT_TOTALS_MAX);
    assert_int_equal (
        db_int (db, "SELECT count(*) FROM WaitTotal g JOIN want w ON w.rowid="
                    "g.rowid WHERE (g.late_rank, g.waiting_rank, g.comm_group,"
                    " g.ops, g.wait_ms) = (w.late_rank, w.waiting_rank,"
                    " w.comm_group, w.ops, w.wait_ms) AND g.clock_error_ms IS"
                    " NULL", 0), WAIT_TOTALS_MAX);
    wait_totals_fini (&t);
    clock_skew_destroy (skew);
    (void)sqlite3_close (db);
}

/* What is not known as a whole is not told in part. */
static void test_given_up (void **state)
{
    struct clock_skew *skew = clock_skew_create ();
    struct wait_totals t = { 0 };
    sqlite3 *db = make_db ();
    unsigned seed = 1;

    (void)state;
    add_step (&t, db, 1, 0, &seed);
    add_step (&t, db, 2, 0, &seed);
    wait_totals_give_up (&t);
    add_step (&t, db, 3, 0, &seed);
    assert_int_equal (wait_totals_write (&t, db, skew, NULL), 0);
    assert_int_equal (db_int (db, "SELECT count(*) FROM WaitTotal", 1), 0);
    wait_totals_fini (&t);
    clock_skew_destroy (skew);
    (void)sqlite3_close (db);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_longest),
        cmocka_unit_test (test_given_up),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
