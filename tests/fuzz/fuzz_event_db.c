/* tests/fuzz/fuzz_event_db.c - an event database that a profiler wrote
 *
 * The input becomes the database of a capture (fuzz_db.h).  Whatever comes,
 * the capture gets a state and a reason, nothing is written beside it, and
 * there are not more rows than steps and devices can give.
 */
#include "../maker/event_schema.h"
#include "fuzz_capture_db.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static const char base_sql[] =
    "PRAGMA page_size=512;"
    EVENT_SCHEMA
    "CREATE TABLE META_DATA (name TEXT, value TEXT);"
    "INSERT INTO META_DATA VALUES ('parallel_group_info', '{\"group_name_0\": "
    "{\"group_name\": \"tp\", \"group_rank\": 1, \"global_ranks\": [2, 0]}}');"
    "CREATE TABLE NPU_MEM (type INTEGER, ddr NUMERIC, hbm NUMERIC, "
    "timestampNs INTEGER, deviceId INTEGER);"
    "CREATE TABLE HCCS (deviceId INTEGER, timestampNs INTEGER, txThroughput "
    "INTEGER, rxThroughput INTEGER);"
    "CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType "
    "INTEGER, message INTEGER, domainId INTEGER, connectionId INTEGER);"
    "INSERT INTO STRING_IDS VALUES (20, 'hcom_allReduce__1_1_1'), (21, "
    "'{\\\"opName\\\":\\\"HcclSend\\\",\\\"groupName\\\":\\\"g\\\","
    "\\\"dataType\\\":\\\"fp16\\\",\\\"count\\\":\\\"8\\\","
    "\\\"streamId\\\":\\\"3\\\",\\\"destRank\\\":\\\"1\\\"}');"
    "INSERT INTO MSTX_EVENTS VALUES (1, 2, 2, 21, 20, 7);"
    "INSERT INTO NPU_MEM VALUES (1, 2, 3, 4, 3);"
    "INSERT INTO HCCS VALUES (3, 1, 2, 3);"
    "INSERT INTO STEP_TIME VALUES (7, 0, 50000), (8, 50000, 90000);"
    "INSERT INTO CANN_API VALUES (100, 200, 50, 1, 1, 1), (60000, 60001, 50, "
    "1, 5, 1);"
    "INSERT INTO TASK VALUES (1000, 2000, 3, 1, 1, 0, 0, 0, 0, 0, 0), "
    "(1500, 3000, 3, 5, 2, 0, 0, 0, 0, 0, 0), (3100, 3200, 3, 5, 3, 0, 0, 0, 0,"
    " 0, 0), (3300, 3400, 3, 7, 4, 0, 0, 0, 0, 0, 0);"
    "INSERT INTO COMPUTE_TASK_INFO VALUES (6, 1, 1, 1, 7, 6);"
    "INSERT INTO COMMUNICATION_OP VALUES (20, 1400, 3500, 5, 5, 1, 0, 0, 41, 0,"
    " 1000, 0);"
    "INSERT INTO COMMUNICATION_TASK_INFO VALUES (0, 2, 3, 1, 5, 0, 99, 0, 1, "
    "99, 0, 99, 99, 1), (0, 3, 1, 1, 5, 0, 99, 0, 1, 10, 4000, 99, 21, 1), "
    "(0, 4, 8, 0, 5, 0, 31, 0, 1, 11, 4000, 99, 23, 1);";

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct fuzz_base base;
    uint64_t bytes, rows;

    if (!base.data)
        base = fuzz_base_of_sql (base_sql);
    rows = fuzz_capture_of_db ("ascend_pytorch_profiler.db", base, data, size,
                               &bytes);
    if (rows > 64 * bytes)
        abort ();
    return 0;
}
