/* tests/unit/node_agent/extract/event_db/test_event_steps.c - steps of event
 * databases
 *
 * The numbers are those of the profiler's own analysis of the same tasks:
 * another one would tell a person of waiting or of a slow link that is not.
 */
#include "node_agent/extract/event_db/event_check.h"

#include <stdio.h>

static void add_comm (int op, const char *name, int64_t start, int64_t end)
{
    char sql[128];

    event_put_op (op, name, start, end);
    (void)snprintf (sql, sizeof (sql), "INSERT INTO TASK VALUES (%lld, %lld, "
                    "3, %d, %d, 0,0,0,0,0,0)", (long long)start, (long long)end,
                    1000 + op, 900 + op);
    event_run (sql);
}

static void test_step_overlap (void **state)
{
    const int64_t spans[][2] = { { 20000, 30000 }, { 0, 10000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);");
    event_put_compute (1, spans, 2);
    add_comm (1, "hcom_allReduce__1_1_1", 5000, 12000);
    add_comm (2, "hcom_allReduce__1_2_1", 25000, 40000);
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|7|20|12|10|22|8|40|0|12|0\n");
    assert_string_equal (event_rows (TABLE_STEP_EXTRA), "3|7|0|50|\n");
    event_has_line (TABLE_OPERATOR, "3|MatMul|AI_CORE|2|20|10|10");
}

static void test_step_compute_only (void **state)
{
    const int64_t spans[][2] = { { 0, 10000 }, { 10000, 20000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);");
    event_put_compute (1, spans, 2);
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (event_rows (TABLE_STEP), "3|7|20|0|0|0|0|20|0|0|0\n");
    assert_string_equal (event_rows (TABLE_TIME), "");
}

/* Receiving is not merged, and a step that computes nothing has not prepared
 * anything: so does the profiler.
 */
static void test_step_receive_only (void **state)
{
    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 1000, 50000);");
    add_comm (1, "hcom_receive__1_1_1", 2000, 6000);
    add_comm (2, "hcom_receive__1_2_1", 4000, 8000);
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|7|0|6|0|6|0|-2|8|0|0\n");
}

/* A step's range on the device is that of what its calls launched. */
static void test_step_ranges (void **state)
{
    const int64_t spans[][2] = { { 9000, 9500 }, { 12000, 30000 },
                                 { 40000, 41000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 10000, 20000);"
                "INSERT INTO STEP_TIME VALUES (8, 20000, 32000);"
                "INSERT INTO STEP_TIME VALUES (9, 90000, 95000);"
                "INSERT INTO CANN_API VALUES (10100, 10200, 50, 1, 1, 1);"
                "INSERT INTO CANN_API VALUES (11000, 12000, 50, 1, 2, 1);"
                "INSERT INTO CANN_API VALUES (19000, 21000, 50, 1, 99, 1);"
                // it begins with step 8
                "INSERT INTO CANN_API VALUES (20000, 21000, 50, 1, 3, 1);"
                "INSERT INTO CANN_API VALUES (21000, 22000, 52, 1, 4, 1);");
    event_put_compute (1, spans, 3);
    add_comm (1, "hcom_allReduce__1_1_1", 25000, 26000);
    add_comm (2, "hcom_allReduce__1_2_1", 35000, 36000);
    event_read (NULL);
    event_is_complete ();
    // step 7: 9000 to 30000; step 8: 40000 to 41000
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|7|18.5|0|1|1|2.5|21|0|0|-1\n"
                         "3|8|1|0|0|0|0|1|0|0|20\n"
                         "3|9|0|0|0|0|0|0|0|0|0\n");
    // an op in no step belongs to none
    assert_string_equal (event_rows (TABLE_TIME),
                         "hcom_allReduce__1_1_1|" KEY "|25|0.001|||||step7|"
                         "collective\n");
    event_has_line (TABLE_API, "|node|Memcpy|4|4.1|0.1|2");
    event_read ("8");
    assert_string_equal (event_rows (TABLE_STEP),
                         "3|8|1|0|0|0|0|1|0|0|20\n");
    assert_string_equal (event_rows (TABLE_TIME), "");
}

/* Without a schedule there is one step, without a name. */
static void test_nameless_step (void **state)
{
    const int64_t spans[][2] = { { 5000, 9000 }, { 20000, 30000 } };

    (void)state;
    event_make ("DROP TABLE STEP_TIME;"
                "INSERT INTO CANN_API VALUES (11000, 12000, 50, 1, 2, 1);"
                "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, type "
                "INTEGER);"
                "INSERT INTO PYTORCH_API VALUES ('4000', '5000', 51);"
                "INSERT INTO PYTORCH_API VALUES ('1000', '5000', 52);");
    event_put_compute (1, spans, 2);
    event_read (NULL);
    event_is_complete ();
    // it begins with the first task of a call: 20000
    assert_string_equal (event_rows (TABLE_STEP),
                         "3||10|0|0|0|0|10|0|0|16\n");
    assert_string_equal (event_rows (TABLE_STEP_EXTRA), "");
}

/* An op whose tasks are on two devices counts on none; each device has rows. */
static void test_devices (void **state)
{
    const int64_t spans[][2] = { { 5000, 9000 } };

    (void)state;
    event_make ("INSERT INTO STEP_TIME VALUES (7, 0, 50000);"
                "INSERT INTO RANK_DEVICE_MAP VALUES (0, 1);"
                "INSERT INTO RANK_DEVICE_MAP VALUES (0, -1);");
    event_put_compute (1, spans, 1);
    add_comm (1, "hcom_allReduce__1_1_1", 10000, 11000);
    event_run ("INSERT INTO TASK VALUES (10500,10600,1,1001,90,0,0,0,0,0,0)");
    event_read (NULL);
    event_is_complete ();
    assert_string_equal (event_rows (TABLE_STEP),
                         "1|7|0|0|0|0|0|0|0|0|0\n3|7|4|0|0|0|0|4|0|0|5\n");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_step_overlap),
        cmocka_unit_test (test_step_compute_only),
        cmocka_unit_test (test_step_receive_only),
        cmocka_unit_test (test_step_ranges),
        cmocka_unit_test (test_nameless_step),
        cmocka_unit_test (test_devices),
    };

    return cmocka_run_group_tests (tests, event_check_setup,
                                   event_check_teardown);
}
