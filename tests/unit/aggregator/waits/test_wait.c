/* tests/unit/aggregator/waits/test_wait.c - waits and transits, from made
 * tables */
#include "aggregator/findings/job_check.h"

#include "store/db.h"
#include "builder/rollup.h"
#include "waits/wait.h"
#include "waits/wait_sums.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RANKS 4

static struct select_item items[RANKS];

static int setup (void **state)
{
    for (int i = 0; i < RANKS; i++) {
        capture_init (&items[i].capture);
        items[i].rank = i;
        (void)strcpy (items[i].capture.framework, "kineto");
        (void)strcpy (items[i].capture.host, i < 2 ? "a" : "b");
    }
    select_sort (items, RANKS);
    *state = job_make ();
    // as in a build, the sums of links are gone
    assert_int_equal (rollup_links (((struct job *)*state)->db, NULL), 0);
    return 0;
}

/* Also the sorted ops are gone, which were in a file beside the database. */
static int teardown (void **state)
{
    for (int i = 0; i < RANKS; i++)
        capture_fini (&items[i].capture);
    job_destroy (*state);
    return 0;
}

/* A group of these ranks, in their order. */
static void group (struct job *j, int id, const char *name, int first, int n)
{
    char sql[256];

    (void)snprintf (sql, sizeof (sql), "INSERT INTO CommGroup VALUES (%d, "
                    "'%s', 'x', NULL, 'collective', %d)", id, name, n);
    run (j, sql);
    for (int i = 0; i < n; i++) {
        (void)snprintf (sql, sizeof (sql), "INSERT INTO CommGroupMember VALUES"
                        " (%d, %d, %d)", id, i, first + i);
        run (j, sql);
    }
}

/* An op of a rank: 'name' quoted or NULL, times as text.  Rowids are those of
 * the builder, by capture.
 */
static void op (struct job *j, int rank, const char *op_name, const char *name,
                const char *step, const char *start, const char *elapse)
{
    static unsigned long long n;
    char sql[512];

    (void)snprintf (sql, sizeof (sql), "INSERT INTO CommAnalyzerTime (rowid, "
                    "hccl_op_name, group_name, start_timestamp, elapse_time, "
                    "step, type, rank, capture) VALUES (%llu, '%s', %s, %s, "
                    "%s, %s, '%s', %d, %d)",
                    ((unsigned long long)rank + 1) << 32 | n++, op_name, name,
                    start, elapse, step,
                    strstr (op_name, "send") || strstr (op_name, "rec")
                        ? "p2p" : "collective", rank, rank + 1);
    run (j, sql);
}

static void moved (struct job *j, int rank, const char *op_name,
                   const char *name, const char *mb)
{
    static unsigned long long n;
    char sql[512];

    (void)snprintf (sql, sizeof (sql), "INSERT INTO CommAnalyzerBandwidth "
                    "(rowid, hccl_op_name, group_name, transit_size, "
                    "package_size, count, step, type, rank, capture) VALUES "
                    "(%llu, '%s', %s, %s, %s, 1, 'step1', 'collective', %d, "
                    "%d)", ((unsigned long long)rank + 1) << 32 | n++, op_name,
                    name, mb, mb, rank, rank + 1);
    run (j, sql);
}

static void derive (struct job *j)
{
    struct err err = { "" };
    char temp[PATH_MAX];

    (void)snprintf (temp, sizeof (temp), "%s/t", j->dir);
    if (wait_derive (j->db, items, RANKS, temp, 3, NULL, &err) < 0)
        fail_msg ("%s", err.text);
}

/* What a query gives, columns by '|' and rows by ' '. */
static void check (struct job *j, const char *sql, const char *want)
{
    char got[2048] = "";
    sqlite3_stmt *st = NULL;
    size_t used = 0;

    assert_int_equal (db_prepare (j->db, sql, &st, NULL), 0);
    while (sqlite3_step (st) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count (st); i++) {
            const char *text = (const char *)sqlite3_column_text (st, i);

            used += (size_t)snprintf (got + used, sizeof (got) - used, "%s%s",
                                      i ? "|" : used ? " " : "",
                                      text ? text : "-");
        }
    }
    (void)sqlite3_finalize (st);
    assert_string_equal (got, want);
}

#define WAITS "SELECT step, comm_group, late_rank, waiting_rank, ops, " \
    "round(wait_ms, 6), round(clock_error_ms, 6) FROM Wait"

/* S = 9000: rank 0 waits 8 ms, rank 1 6 ms of the 5 that it took. */
static void test_trace (void **state)
{
    struct job *j = *state;

    group (j, 1, "7", 0, 3);
    op (j, 0, "nccl_allReduce__7_0_1", "'7'", "'step1'", "1000", "10");
    op (j, 1, "nccl_allReduce__7_0_1", "'7'", "'step1'", "3000", "5");
    op (j, 2, "nccl_allReduce__7_0_1", "'7'", "'step1'", "9000", "2");
    moved (j, 0, "nccl_allReduce__7_0_1", "'7'", "3");
    moved (j, 1, "nccl_allReduce__7_0_1", "'7'", "3");
    moved (j, 2, "nccl_allReduce__7_0_1", "'7'", "NULL");
    derive (j);
    // ends at 11, 8 and 11: offsets 0, -3 and 0
    check (j, WAITS, "step1|1|2|0|1|8.0|0.0 step1|1|2|1|1|5.0|3.0");
    check (j, "SELECT rank, transit_time, wait_time, synchronization_time, "
              "idle_time FROM CommAnalyzerTime",
           "0|2|8|8|0 1|0|5|5|0 2|2|0|0|0");
    // hosts a, a, b; nothing moved in no time, and nothing known is nothing
    check (j, "SELECT rank, transport_type, transit_size, transit_time, "
              "bandwidth, total_duration FROM CommAnalyzerBandwidth",
           "0|RDMA|3|2|1.5|2 1|RDMA|3|0|-|0 2|RDMA|-|2|-|2");
    check (j, "SELECT rank, capture, kind, name, value FROM CaptureInfo",
           "0|1|clock|offset_ms|0.000000 1|2|clock|offset_ms|-3.000000 "
           "2|3|clock|offset_ms|0.000000");
    check (j, "SELECT value FROM Job WHERE key IN ('wait_rule', 'wait_ops', "
              "'clock_end_skew_ms') ORDER BY key",
           "3.000000 1 latest start");
}

/* On one host a row of the link and one of its sum, in the order of ranks;
 * where a host is not known none; 2/3 is rounded.
 */
static void test_transports (void **state)
{
    struct job *j = *state;

    group (j, 1, "7", 0, 2);
    group (j, 2, "8", 2, 2);
    items[3].capture.host[0] = '\0';
    for (int r = 0; r < RANKS; r++) {
        const char *name = r < 2 ? "'7'" : "'8'";

        op (j, r, "nccl_allGather__7_0_1", name, "'step1'", "1000", "3");
        moved (j, r, "nccl_allGather__7_0_1", name, "2");
        moved (j, r, "nccl_broadcast__7_0_1", name, "2");
    }
    derive (j);
    check (j, "SELECT rank, hccl_op_name='nccl_allGather__7_0_1', "
              "transport_type, transit_time, bandwidth, package_size, count, "
              "total_duration FROM CommAnalyzerBandwidth WHERE rank IN (0, 3) "
              "ORDER BY rowid",
           "0|1|HCCS|3|0.6667|2|1|3 0|1|SDMA|3|0.6667|0|0|0 "
           "0|0|HCCS|-|-|2|1|- 0|0|SDMA|-|-|0|0|0 "
           "3|1|-|3|0.6667|2|1|3 3|0|-|-|-|2|1|-");
    check (j, "SELECT count(*), sum(rowid >> 32 = rank + 1) FROM "
              "CommAnalyzerBandwidth", "12|12");
    check (j, "SELECT count(*), sum(packets) FROM LinkRow JOIN "
              "CommAnalyzerBandwidth b ON b.rowid=LinkRow.rowid AND "
              "packets=count", "12|8");
}

/* Clocks of Ascend captures are not asked, and their own waits stay. */
static void test_ascend (void **state)
{
    struct job *j = *state;

    for (int i = 0; i < RANKS; i++)
        (void)strcpy (items[i].capture.framework, "ascend_pt");
    group (j, 1, "7", 0, 3);
    op (j, 0, "hcom_allReduce__7_0_1", "'7'", "'step1'", "9e15", "10");
    op (j, 1, "hcom_allReduce__7_0_1", "'7'", "'step1'", "NULL", "4");
    op (j, 2, "hcom_allReduce__7_0_1", "'7'", "'step1'", "0", "5.5");
    // the first op asks no clock, since not all starts are known
    op (j, 0, "hcom_allReduce__7_1_1", "'7'", "'step1'", "1", "2");
    op (j, 1, "hcom_allReduce__7_1_1", "'7'", "'step1'", "1001", "1");
    op (j, 2, "hcom_allReduce__7_1_1", "'7'", "'step1'", "4001", "1");
    run (j, "UPDATE CommAnalyzerTime SET wait_time=0.5");
    derive (j);
    check (j, WAITS, "step1|1|1|0|2|7.0|0.0 step1|1|1|2|2|1.5|3.0");
    check (j, "SELECT DISTINCT wait_time, transit_time FROM CommAnalyzerTime",
           "0.5|-");
    check (j, "SELECT rank, value FROM CaptureInfo WHERE kind='clock'",
           "0|0.000000 1|0.000000 2|3.000000");
    check (j, "SELECT value FROM Job WHERE key='wait_rule'",
           "shortest elapse");
}

/* The middle of two clocks says nothing of either: a rank's largest groups
 * tell its offset.
 */
static void test_clock_of_large_groups (void **state)
{
    struct job *j = *state;

    group (j, 1, "7", 0, 2);
    group (j, 2, "8", 0, 4);
    for (int r = 0; r < RANKS; r++) {
        const char *start = r == 1 ? "50001000" : "1000";

        (void)strcpy (items[r].capture.framework, "ascend_pt");
        for (int i = 0; r < 2 && i < 3; i++)
            op (j, r, "hcom_allReduce__7_1_1", "'7'",
                (const char *[]){ "'step1'", "'step2'", "'step3'" }[i], start,
                "1");
        op (j, r, "hcom_allReduce__8_1_1", "'8'", "'step1'", start, "1");
    }
    derive (j);
    check (j, "SELECT rank, value FROM CaptureInfo WHERE kind='clock'",
           "0|0.000000 1|50000.000000 2|0.000000 3|0.000000");
}

/* What cannot be compared is not: a rank or a time that is missing, an op twice
 * in a step, a root, a group that nobody explains.
 */
static void test_left_out (void **state)
{
    static const char *const bad[] = { "NULL", "-1", "9e999", "'x'", "1e300" };
    struct job *j = *state;
    char name[64];

    group (j, 1, "7", 0, 2);
    run (j, "INSERT INTO CommGroup VALUES (2, '8', NULL, NULL, NULL, NULL)");
    run (j, "INSERT INTO CommGroupMember VALUES (2, NULL, 0), (2, NULL, 1)");
    op (j, 0, "nccl_allReduce__7_0_1", "'7'", "'step1'", "1", "1");
    op (j, 0, "nccl_allReduce__7_1_1", "'7'", "'step1'", "1", "1");
    op (j, 0, "nccl_allReduce__7_1_1", "'7'", "'step1'", "1", "1");
    op (j, 1, "nccl_allReduce__7_1_1", "'7'", "'step1'", "1", "1");
    for (int r = 0; r < 2; r++) {
        op (j, r, "nccl_broadcast__7_2_1", "'7'", "'step1'", "1", "1");
        op (j, r, "nccl_allReduce__8_3_1", "'8'", "'step1'", "1", "1");
        op (j, r, "nccl_allReduce__9_4_1", "'9'", "'step1'", "1", "1");
        op (j, r, "nccl_allReduce__9_5_1", "NULL", "'step1'", "1", "1");
        op (j, r, "", "'7'", "'step1'", "1", "1");
        op (j, r, "nccl_allReduce__7_6_1", "'7'", r ? "'step1'" : "'step2'",
            "1", "1");
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        (void)snprintf (name, sizeof (name), "nccl_allReduce__7_b%zu_1", i);
        op (j, 0, name, "'7'", "'step1'", "1", "1");
        op (j, 1, name, "'7'", "'step1'", "1", strcmp (bad[i], "'x'") == 0
                                                   ? "NULL" : bad[i]);
        (void)snprintf (name, sizeof (name), "nccl_allReduce__7_c%zu_1", i);
        op (j, 0, name, "'7'", "'step1'", "1", "1");
        op (j, 1, name, "'7'", "'step1'", strcmp (bad[i], "-1") == 0
                                              ? "1" : bad[i], "1");
    }
    derive (j);
    // one of the starts is one
    check (j, "SELECT count(*), sum(ops) FROM Wait", "1|1");
    check (j, "SELECT count(wait_time) FROM CommAnalyzerTime", "2");
    check (j, "SELECT key, value FROM Job WHERE key LIKE 'wait_ops%' ORDER BY "
              "key", "wait_ops|1 wait_ops_ambiguous|1 wait_ops_incomplete|12");
}

/* Nothing to wait for alone; no rows, no groups: no harm. */
static void test_one_rank (void **state)
{
    struct job *j = *state;

    derive (j);
    check (j, "SELECT count(*) FROM Job", "0");
    group (j, 1, "7", 2, 1);
    op (j, 2, "nccl_allReduce__7_0_1", "'7'", "NULL", "1", "4");
    derive (j);
    check (j, "SELECT count(*) FROM Wait", "0");
    check (j, "SELECT wait_time, transit_time FROM CommAnalyzerTime", "0|4");
}

/* Two groups of one name; a step that has none. */
static void test_shared_name (void **state)
{
    struct job *j = *state;

    group (j, 1, "7", 0, 2);
    group (j, 2, "7", 2, 2);
    for (int r = 0; r < RANKS; r++)
        op (j, r, "nccl_allReduce__7_0_1", "'7'", "NULL",
            r % 2 ? "1000" : "4000", "5");
    derive (j);
    check (j, WAITS, "-|1|0|1|1|3.0|3.0 -|2|2|3|1|3.0|3.0");
}

/* A name that goes on behind a NUL is that of no group. */
static void test_name_with_zero (void **state)
{
    struct job *j = *state;

    group (j, 1, "g", 0, 2);
    for (int r = 0; r < 2; r++) {
        op (j, r, "nccl_allReduce__7_0_1", "'g'||char(0)||'j'", "NULL", "1000",
            "5");
        op (j, r, "nccl_allReduce__7_1_1", "'g'", "NULL", r ? "1000" : "4000",
            "5");
    }
    derive (j);
    check (j, WAITS, "-|1|0|1|1|3.0|3.0");
}

/* A send and its receive are one op where a group has no others. */
static void test_p2p (void **state)
{
    struct job *j = *state;

    group (j, 1, "7", 0, 2);
    group (j, 2, "8", 1, 3);
    op (j, 0, "nccl_send__7_0_1", "'7'", "'step1'", "1000", "4");
    op (j, 1, "nccl_receive__7_0_1", "'7'", "'step1'", "2000", "3");
    op (j, 1, "nccl_send__8_0_1", "'8'", "'step1'", "1000", "4");
    op (j, 2, "nccl_receive__8_0_1", "'8'", "'step1'", "2000", "3");
    derive (j);
    check (j, WAITS, "step1|1|1|0|1|1.0|0.0");
}

/* Traces that name no group: an op of all ranks is one of the world, unless one
 * of them ended before another began.
 */
static void test_no_names (void **state)
{
    struct job *j = *state;

    run (j, "INSERT INTO Roster (rank, expected) VALUES (0,1), (1,1), (2,1), "
            "(3,1)");
    group (j, 3, "w", 0, 4);
    for (int r = 0; r < RANKS; r++) {
        op (j, r, "gloo_barrier__unknown_0_1", "NULL", "'step1'",
            r == 2 ? "9000" : "1000", "10");
        op (j, r, "gloo_allReduce__unknown_0_1", "NULL", "'step1'",
            r == 2 ? "9000" : "1000", "5");
    }
    derive (j);
    check (j, "SELECT late_rank, sum(ops), sum(wait_ms) FROM Wait GROUP BY 1",
           "2|3|24");
    check (j, "SELECT value FROM Job WHERE key='wait_ops_without_group'", "1");
}

/* Whatever the order of the ops. */
static void test_order_of_pairs (void **state)
{
    struct job *j = *state;
    char name[40];

    group (j, 1, "7", 0, 3);
    for (int late = 2; late >= 0; late--) {
        (void)snprintf (name, sizeof (name), "nccl_allReduce__7_%d_1", late);
        for (int r = 0; r < 3; r++)
            op (j, r, name, "'7'", "'step1'", r == late ? "9000" : "1000",
                r == late ? "2" : "10");
    }
    derive (j);
    check (j, "SELECT late_rank, waiting_rank FROM Wait",
           "0|1 0|2 1|0 1|2 2|0 2|1");
}

/* More pairs than there is room for are summed up elsewhere, the same. */
static void test_many_pairs (void **state)
{
    struct job *j = *state;
    struct wait_sums *p = wait_sums_create (j->db);
    struct clock_skew *skew = clock_skew_create ();
    struct texts steps = { .used = 0 };

    assert_int_equal (texts_intern (&steps, "step1", 5), 0);
    for (uint32_t k = 0; k < 2 * 300; k++) {
        struct wait_sum list[1100];

        for (uint32_t i = 0; i < 1100; i++)
            list[i] = (struct wait_sum){ 0, 1, 1099 - i, k % 300, 1, 0.5 };
        assert_int_equal (wait_sums_add (p, list, 1100, false, NULL), 0);
    }
    assert_int_equal (wait_sums_write (p, &steps, skew, NULL), 0);
    check (j, "SELECT count(*), sum(ops), sum(wait_ms), min(ops), max(ops) "
              "FROM Wait", "330000|660000|330000|2|2");
    check (j, "SELECT late_rank, waiting_rank FROM Wait LIMIT 3", "0|0 0|1 "
           "0|2");
    texts_fini (&steps);
    clock_skew_destroy (skew);
    wait_sums_destroy (p);
}

/* Doubles do not associate: parts of a sum are added in the order in which they
 * came, or the last digits would depend on how many threads there are.
 */
static void test_order_of_parts (void **state)
{
    static const double parts[] = { 1, 1e16, -1e16, 3, 1e16, 1, -1e16 };
    struct job *j = *state;
    struct wait_sums *p = wait_sums_create (j->db);
    struct clock_skew *skew = clock_skew_create ();
    struct texts steps = { .used = 0 };
    double sum = 0;
    char text[64];

    assert_int_equal (texts_intern (&steps, "step1", 5), 0);
    for (size_t i = 0; i < sizeof (parts) / sizeof (parts[0]); i++) {
        struct wait_sum list[] = { { 0, 2, 5, 6, 1, parts[i] },
                                   { 0, 2, 5, 7, 2, 0.5 } };

        sum += parts[i];
        assert_int_equal (wait_sums_add (p, list, 2, false, NULL), 0);
    }
    assert_int_equal (wait_sums_write (p, &steps, skew, NULL), 0);
    (void)snprintf (text, sizeof (text), "6|7|%g 7|14|3.5", sum);
    check (j, "SELECT waiting_rank, ops, wait_ms FROM Wait", text);
    texts_fini (&steps);
    clock_skew_destroy (skew);
    wait_sums_destroy (p);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_trace),     TEST (test_transports), TEST (test_ascend),
        TEST (test_clock_of_large_groups),
        TEST (test_left_out),  TEST (test_one_rank),   TEST (test_shared_name),
        TEST (test_name_with_zero), TEST (test_p2p),   TEST (test_no_names),
        TEST (test_order_of_pairs), TEST (test_many_pairs),
        TEST (test_order_of_parts),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
