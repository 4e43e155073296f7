/* tests/unit/aggregator/builder/test_tables.c - views of the tables beside those
 * of rows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/tables.h"
#include "store/db_rows.h"

#include <stdio.h>

static void run (sqlite3 *db, const char *sql)
{
    struct err err = { "" };

    assert_int_equal (db_exec (db, sql, &err), 0);
}

/* Group 1 has 3 ranks, 2 as many as are listed, 3 one more; 4 is rank 5 alone,
 * and nobody's list tells how large it is.
 */
static void make_groups (sqlite3 *db)
{
    run (db, "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name"
             " TEXT, rank INTEGER, capture INTEGER);"
             "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name, group_name,"
             " transport_type, transit_size, transit_time, bandwidth,"
             " large_packet_ratio, count, step, type, rank, capture);"
             "CREATE TABLE StepTraceTime (rank, step, capture, deviceId,"
             " computing, communication_not_overlapped, overlapped,"
             " communication, free, stage, bubble, preparing)");
    assert_int_equal (tables_create (db, NULL), 0);
    run (db, "INSERT INTO CommGroup (id, group_name, size) VALUES (1, 'a', 3),"
             " (2, 'b', 64), (3, 'c', 65), (4, 'd', NULL);"
             "INSERT INTO CommGroupMember VALUES (1, 0, 15), (1, 1, 5),"
             " (1, 2, 51), (4, NULL, 5);"
             "WITH r(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM r WHERE"
             " x < 64) INSERT INTO CommGroupMember SELECT g, x, x FROM r,"
             " (SELECT 2 AS g UNION ALL SELECT 3) WHERE g = 3 OR x < 64;"
             "INSERT INTO CommAnalyzerTime SELECT 'op', group_name, 5, 1"
             " FROM CommGroup");
}

static void test_peers (void **state)
{
    struct db_rows r;
    const char *name, *peers;
    int64_t n, row = 0;
    sqlite3 *db = NULL;

    (void)state;
    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    make_groups (db);
    r = db_rows (db, NULL, "SELECT group_name, ifnull(peers, 'none'),"
                 " length(peers) - length(replace(peers, ',', '')) FROM CommOp"
                 " ORDER BY comm_group");
    while (db_row (&r, name, peers, n)) {
        assert_int_equal (name[0], "abcd"[row]);
        if (row == 1)
            assert_int_equal (n, 62);
        else
            assert_string_equal (peers, row == 0 ? "15,51" : "none");
        row++;
    }
    assert_int_equal (db_end (&r), 0);
    assert_int_equal (row, 4);
    (void)sqlite3_close (db);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_peers),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
