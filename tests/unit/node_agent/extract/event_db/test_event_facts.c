/* tests/unit/node_agent/extract/event_db/test_event_facts.c - an event database
 * beside an analysis.db that has the four tables
 *
 * Of its large tables only those are to be read then that something comes of:
 * they take seconds.  And whatever is wrong with it, the four tables are there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "node_agent/extract/event_db/event_check.h"

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL_FOUR ((1u << TABLE_PROFILER_COUNT) - 1)

/* One row in each of the first tables. */
static void make_analysis (unsigned tables)
{
    char path[512], sql[2048];
    sqlite3 *db;

    (void)snprintf (path, sizeof (path), "%.*s/analysis.db",
                    (int)(strrchr (event_path (), '/') - event_path ()),
                    event_path ());
    (void)unlink (path);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    for (unsigned t = 0; t < TABLE_PROFILER_COUNT; t++) {
        const struct table *table = schema_table (t);
        size_t n = (size_t)snprintf (sql, sizeof (sql), "CREATE TABLE %s AS "
                                     "SELECT ", table->name);

        if (!(tables >> t & 1))
            continue;
        for (unsigned c = 0; c < table->ncolumns; c++)
            n += (size_t)snprintf (sql + n, sizeof (sql) - n, "%s%u AS %s",
                                   c > 0 ? ", " : "", c, table->columns[c].name);
        assert_int_equal (sqlite3_exec (db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

static void make_file (char path[512], const char *name, const char *text)
{
    FILE *f;

    (void)snprintf (path, 512, "%.*s/%s",
                    (int)(strrchr (event_path (), '/') - event_path ()),
                    event_path (), name);
    f = fopen (path, "w");
    assert_non_null (f);
    (void)fputs (text, f);
    assert_int_equal (fclose (f), 0);
}

static void make_operators (char path[512])
{
    make_file (path, "op_statistic.csv",
               "OP Type,Core Type,Count,Total Time(us),Min Time(us),"
               "Max Time(us)\nAdd,AI_VECTOR_CORE,2,5,2,3\n");
}

static void make_kernels (char path[512])
{
    make_file (path, "kernel_details.csv", "Name,Accelerator Core,"
               "Start Time(us),Duration(us)\nadd,AIV,1,3\n");
}

static void make_events (void)
{
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);"
                "INSERT INTO CANN_API VALUES (1000, 2000, 50, 1, 2, 1);"
                "INSERT INTO TASK VALUES (5000, 9000, 3, 2, 1, 0, 0, 0, 0, 0, "
                "0);"
                "INSERT INTO COMPUTE_TASK_INFO VALUES (6, 1, 1, 1, 7, 6);"
                "INSERT INTO COMMUNICATION_OP VALUES (1, 6000, 7000, 2, 5, 1, "
                "0, 0, 41, 0, 1000, 0);"
                "CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);"
                "INSERT INTO HOST_INFO VALUES ('17', 'node9');");
}

/* What has a value that cannot be, or no column, would be named if it were
 * read.
 */
static void test_tasks_are_not_read (void **state)
{
    char path[512], kernels[512];

    (void)state;
    make_analysis (ALL_FOUR);
    make_events ();
    make_operators (path);
    make_kernels (kernels);
    event_run ("UPDATE TASK SET startNs='x';"
               "UPDATE COMMUNICATION_OP SET startNs='x';"
               "DROP TABLE COMMUNICATION_TASK_INFO;"
               "CREATE TABLE COMMUNICATION_TASK_INFO (x);"
               "DROP TABLE COMPUTE_TASK_INFO;"
               "CREATE TABLE COMPUTE_TASK_INFO (x);");
    event_read (NULL);
    assert_string_equal (event_capture ()->reason, "");
    assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
    assert_string_equal (event_capture ()->source, "analysis.db");
    event_has_line (TABLE_STEP_EXTRA, "3|7|0|50|");
    event_has_line (TABLE_INFO, "host|hostName|node9");
    event_has_line (TABLE_API, "|node|Memcpy|1|1|1|1");
    event_has_line (TABLE_OPERATOR, "|Add|AI_VECTOR_CORE|2|5|2|3");
    event_has_line (TABLE_KERNEL, "||add||AIV||1|3|3|3|");
    assert_int_equal (unlink (path), 0);
    assert_int_equal (unlink (kernels), 0);
}

/* Sums of operators are to be had of tasks only, but of no op's. */
static void test_operators_are_read (void **state)
{
    (void)state;
    make_analysis (ALL_FOUR);
    make_events ();
    event_run ("DROP TABLE COMMUNICATION_TASK_INFO;"
               "CREATE TABLE COMMUNICATION_TASK_INFO (x);");
    event_read (NULL);
    assert_string_equal (event_capture ()->reason, "");
    assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
    event_has_line (TABLE_OPERATOR, "3|MatMul|AI_CORE|1|4|4|4");
}

/* The kernels of each step, with the means of their counters: of tasks in any
 * order, of which only those count that begin in a step on the device, as in
 * StepTraceTime.  Strings that are not there, and no column of shapes, are no
 * damage of it.
 */
static void test_kernels (void **state)
{
    static const int64_t spans[][2] = {
        { 5000, 9000 }, { 10000, 12000 }, { 21000, 24500 }, { 90000, 99000 },
    };

    (void)state;
    make_analysis (ALL_FOUR);
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 20000);"
                "INSERT INTO STEP_TIME VALUES (8, 20000, 50000);"
                "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name "
                "INTEGER, value NUMERIC);"
                "INSERT INTO STRING_IDS VALUES (60, 'aic_total_time'),"
                "(61, 'aic_mac_ratio'), (62, 'a\"b'), (63, '\"4,8;8,2\"');"
                "INSERT INTO TASK_PMU_INFO VALUES (11, 60, 3000), "
                "(10, 61, 0.5), (10, 60, 1000.5), (10, 62, 7), (12, 60, 0)");
    event_put_compute (10, spans, 4);
    event_read (NULL);
    assert_string_equal (event_capture ()->reason, "");
    assert_string_equal (event_rows (TABLE_KERNEL),
                         "3|7|MatMul|MatMul|AI_CORE||2|6|2|4|"
                         "{\"aic_total_time\":2.0002,\"aic_mac_ratio\":0.25}\n"
                         "3|8|MatMul|MatMul|AI_CORE||1|3.5|3.5|3.5|\n");
    event_run ("ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN inputShapes INTEGER;"
               "UPDATE COMPUTE_TASK_INFO SET inputShapes=63 WHERE "
               "globalTaskId=10");
    event_read ("7");
    assert_string_equal (event_rows (TABLE_KERNEL),
                         "3|7|MatMul|MatMul|AI_CORE|4,8;8,2|1|4|4|4|"
                         "{\"aic_total_time\":1.0005,\"aic_mac_ratio\":0.5}\n"
                         "3|7|MatMul|MatMul|AI_CORE||1|2|2|2|"
                         "{\"aic_total_time\":3}\n");
}

/* Where one of the four tables is missing, tasks are read for it. */
static void test_tasks_are_read (void **state)
{
    (void)state;
    make_analysis (ALL_FOUR & ~(1u << TABLE_STEP));
    make_events ();
    event_read (NULL);
    assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
    event_has_line (TABLE_OPERATOR, "3|MatMul|AI_CORE|1|4|4|4");
    // without ops and kernels there is nothing to be had of them
    make_analysis (1u << TABLE_STEP);
    make_events ();
    event_run ("DELETE FROM COMMUNICATION_OP; DELETE FROM COMPUTE_TASK_INFO;"
               "UPDATE TASK SET startNs='x'");
    event_read (NULL);
    assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
    assert_string_equal (event_rows (TABLE_OPERATOR), "");
}

/* The four tables are whole, and are said to be, whatever the reason names. */
static void has_four (const char *what)
{
    const struct capture *c = event_capture ();

    if ((c->whole_tables & ALL_FOUR) != ALL_FOUR ||
        (c->state != CAPTURE_COMPLETE && c->state != CAPTURE_PARTIAL))
        fail_msg ("%s: state %d (%s)", what, (int)c->state, c->reason);
    for (unsigned t = 0; t < TABLE_PROFILER_COUNT; t++)
        assert_string_not_equal (event_rows (t), "");
}

/* Nothing of it could be read: that is named. */
static void is_named (const char *what)
{
    has_four (what);
    if (event_capture ()->state != CAPTURE_PARTIAL ||
        !strstr (event_capture ()->reason, "ascend_pytorch_profiler_0.db"))
        fail_msg ("%s: %s", what, event_capture ()->reason);
}

static void test_damage (void **state)
{
    struct stat st;
    char junk[512];

    (void)state;
    make_analysis (ALL_FOUR);
    make_events ();
    event_run ("UPDATE STEP_TIME SET startNs='x'");
    event_read (NULL);
    is_named ("a step without a time");
    make_events ();
    assert_int_equal (truncate (event_path (), 0), 0);
    event_read (NULL);
    is_named ("an empty file");
    make_events ();
    assert_int_equal (stat (event_path (), &st), 0);
    memset (junk, 0xa5, sizeof (junk));
    for (off_t at = 0; at < st.st_size; at += 512) {
        int fd;

        make_events ();
        assert_true ((fd = open (event_path (), O_WRONLY)) >= 0);
        assert_int_equal (pwrite (fd, junk, sizeof (junk), at), 512);
        assert_int_equal (close (fd), 0);
        event_read (NULL);
        if (at == 0)
            is_named ("no header");
        else
            has_four ("a page of junk");
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_tasks_are_not_read),
        cmocka_unit_test (test_operators_are_read),
        cmocka_unit_test (test_tasks_are_read),
        cmocka_unit_test (test_kernels),
        cmocka_unit_test (test_damage),
    };

    return cmocka_run_group_tests (tests, event_check_setup,
                                   event_check_teardown);
}
