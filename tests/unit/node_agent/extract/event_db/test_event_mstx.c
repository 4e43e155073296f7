/* tests/unit/node_agent/extract/event_db/test_event_mstx.c - captures that hold
 * only marks
 *
 * Large clusters are profiled like this: elapsed times and payloads must be
 * right, and nothing may be made up.
 */
#include "node_agent/extract/event_db/event_check.h"

#include <stdio.h>
#include <string.h>

static const char marks[] =
    "DROP TABLE COMPUTE_TASK_INFO; DROP TABLE COMMUNICATION_OP;"
    "DROP TABLE COMMUNICATION_TASK_INFO;"
    "INSERT INTO STEP_TIME VALUES (7, 0, 50000);"
    "CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType "
    "INTEGER, rangeId INTEGER, category INTEGER, message INTEGER, globalTid "
    "INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER);"
    "INSERT INTO STRING_IDS VALUES (40, 'communication'), (41, "
    "'{\\\"streamId\\\": \\\"32\\\",\\\"count\\\": \\\"25701386\\\","
    "\\\"dataType\\\": \\\"fp16\\\",\\\"groupName\\\": \\\"group_name_0\\\","
    "\\\"opName\\\": \\\"HcclAllreduce\\\"}'), (42, "
    "'{\\\"opName\\\": \\\"HcclSend\\\",\\\"groupName\\\": \\\"group_name_0\\\","
    "\\\"dataType\\\": \\\"fp32\\\",\\\"count\\\": \\\"1000000\\\","
    "\\\"streamId\\\": \\\"32\\\",\\\"destRank\\\": \\\"3\\\"}'), (43, "
    "'{\\\"opName\\\": \\\"HcclAlltoAllV\\\",\\\"groupName\\\": "
    "\\\"group_name_0\\\",\\\"dataType\\\": \\\"fp32\\\",\\\"count\\\": "
    "\\\"8\\\",\\\"streamId\\\": \\\"32\\\"}'), (44, "
    "'comm_old:HcclBroadcast,group_name_0,int8,500'), (45, 'step 7');"
    "CREATE TABLE META_DATA (name TEXT, value TEXT);"
    "INSERT INTO META_DATA VALUES ('parallel_group_info', "
    "'{\"group_name_0\": {\"group_name\": \"pp\", \"group_rank\": 2, "
    "\"global_ranks\": [8, 4, 0, 12]}}');";

static void add (int64_t host, int message, int64_t connection, int64_t start,
                 int64_t end)
{
    char sql[256];

    (void)snprintf (sql, sizeof (sql),
                    "INSERT INTO MSTX_EVENTS VALUES (%lld, %lld, 2, 4294967295,"
                    " 0, %d, 1, 1, 40, %lld)", (long long)host,
                    (long long)host + 10, message, (long long)connection);
    event_run (sql);
    if (end > 0) {
        (void)snprintf (sql, sizeof (sql), "INSERT INTO TASK VALUES (%lld, "
                        "%lld, 3, %lld, 0, 0, 0, 0, 0, 0, 0)",
                        (long long)start, (long long)end,
                        (long long)connection);
        event_run (sql);
    }
}

static void test_marks (void **state)
{
    (void)state;
    event_make (marks);
    add (1000, 41, 4000000002, 2000, 5000);
    add (1100, 42, 4000000003, 4000, 8000);
    add (1200, 41, 4000000004, 9000, 10000);
    add (1300, 43, 4000000005, 11000, 12000);
    add (1400, 44, 4000000006, 13000, 14000);
    add (1500, 45, 4000000007, 15000, 16000);   // of something else
    add (1600, 41, 4000000000, 0, 0);           // on the host only
    add (1700, 41, 4000000008, 60000, 61000);   // in no step
    event_read (NULL);
    assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
    assert_string_equal (event_capture ()->source, "mstx");
    assert_non_null (strstr (event_capture ()->reason, "marks only"));
    assert_string_equal (
        event_rows (TABLE_TIME),
        "HcclAllreduce__612_0_1|" KEY "|2|0.003|||||step7|collective\n"
        "HcclSend__612_0_1|" KEY "|4|0.004|||||step7|p2p\n"
        "HcclAllreduce__612_1_1|" KEY "|9|0.001|||||step7|collective\n"
        "HcclAlltoAllV__612_0_1|" KEY "|11|0.001|||||step7|collective\n"
        "HcclBroadcast__612_0_1|" KEY "|13|0.001|||||step7|collective\n");
    event_has_line (TABLE_BANDWIDTH, "HcclAllreduce__612_0_1|" KEY "||"
                    "51.402772|||||||step7|collective");
    event_has_line (TABLE_BANDWIDTH, "HcclBroadcast__612_0_1|" KEY "||"
                    "0.0005|||||||step7|collective");
    assert_null (strstr (event_rows (TABLE_BANDWIDTH), "AlltoAllV"));
    // this rank is number 2 of the group
    event_has_line (TABLE_MATRIX, "send-total|" KEY "|2|3||4|0.004|1000|step7|"
                    "p2p|");
    assert_string_equal (event_rows (TABLE_STEP), "3|7||||9|||||\n");
}

/* Without any mark nothing is known but that there was a step. */
static void test_no_marks (void **state)
{
    (void)state;
    event_make (marks);
    event_read (NULL);
    assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
    assert_string_equal (event_rows (TABLE_STEP), "3|7|||||||||\n");
}

static void test_bad_marks (void **state)
{
    static const char *const sql[] = {
        "UPDATE MSTX_EVENTS SET startNs='x'",
        "UPDATE MSTX_EVENTS SET message=9999",
        "ALTER TABLE MSTX_EVENTS DROP COLUMN message",
    };
    static const char *const harmless[] = {
        "UPDATE STRING_IDS SET value='{' WHERE id=41",
        "UPDATE STRING_IDS SET value='{\"opName\":[[[[' WHERE id=41",
        "UPDATE STRING_IDS SET value='comm_old:,,,' WHERE id=41",
        "UPDATE STRING_IDS SET value='' WHERE id=41",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (sql) / sizeof (sql[0]); i++) {
        event_make (marks);
        add (1000, 41, 4000000002, 2000, 5000);
        event_run (sql[i]);
        event_read (NULL);
        assert_true (event_capture ()->state == CAPTURE_PARTIAL ||
                     event_capture ()->state == CAPTURE_FAILED);
        assert_true (event_capture ()->reason[0] != '\0');
    }
    for (size_t i = 0; i < sizeof (harmless) / sizeof (harmless[0]); i++) {
        event_make (marks);
        add (1000, 41, 4000000002, 2000, 5000);
        event_run (harmless[i]);
        event_read (NULL);
        assert_int_equal (event_capture ()->state, CAPTURE_COMPLETE);
        assert_string_equal (event_rows (TABLE_TIME), "");
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_marks),
        cmocka_unit_test (test_no_marks),
        cmocka_unit_test (test_bad_marks),
    };

    return cmocka_run_group_tests (tests, event_check_setup,
                                   event_check_teardown);
}
