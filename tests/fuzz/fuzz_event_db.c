/* tests/fuzz/fuzz_event_db.c - an event database that a profiler wrote
 *
 * The input becomes the database of a capture (fuzz_db.h).  Whatever comes,
 * the capture gets a state and a reason, nothing is written beside it, and
 * there are not more rows than steps and devices can give.
 */
#include "base/fileio.h"
#include "extract/extract.h"
#include "fuzz_db.h"
#include "fuzz_rows.h"

#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define OUT "capture/ASCEND_PROFILER_OUTPUT"
static const char base_sql[] =
    "PRAGMA page_size=512;"
    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO STRING_IDS VALUES (1,'Memcpy'),(2,'Reduce_Inline'),"
    "(3,'Notify_Wait'),(4,'Notify_Record'),(5,'group_name_0'),(6,'MatMul'),"
    "(7,'AI_CORE'),(8,'RDMASend'),(9,'12345');"
    "CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id INTEGER PRIMARY KEY, name "
    "TEXT);"
    "INSERT INTO ENUM_HCCL_TRANSPORT_TYPE VALUES (10,'SDMA'),(11,'RDMA'),"
    "(12,'LOCAL'),(99,'INVALID_TYPE');"
    "CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY, name TEXT);"
    "INSERT INTO ENUM_HCCL_LINK_TYPE VALUES (20,'ON_CHIP'),(21,'HCCS'),"
    "(22,'PCIE'),(23,'ROCE'),(24,'SIO'),(25,'HCCS_SW'),(99,'INVALID_TYPE');"
    "CREATE TABLE ENUM_HCCL_RDMA_TYPE (id INTEGER PRIMARY KEY, name TEXT);"
    "INSERT INTO ENUM_HCCL_RDMA_TYPE VALUES (30,'RDMA_SEND_NOTIFY'),"
    "(31,'RDMA_SEND_PAYLOAD'),(99,'INVALID_TYPE');"
    "CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);"
    "INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (40,'FP16'),(41,'FP32');"
    "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);"
    "INSERT INTO ENUM_API_TYPE VALUES (50,'node'),(51,'op'),(52,'acl');"
    "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
    "INSERT INTO RANK_DEVICE_MAP VALUES (0, 3);"
    "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);"
    "CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, "
    "globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER);"
    "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, "
    "connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, taskType "
    "INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId "
    "INTEGER);"
    "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER "
    "PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER, taskType INTEGER, "
    "opType INTEGER);"
    "CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs "
    "INTEGER, connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY "
    "KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, "
    "count NUMERIC, opType INTEGER);"
    "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER,"
    "taskType INTEGER, planeId INTEGER, groupName INTEGER, notifyId INTEGER, "
    "rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType "
    "INTEGER, size INTEGER, dataType INTEGER, linkType INTEGER, opId "
    "INTEGER);"
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

/* How many files there are, and their bytes. */
static unsigned files (uint64_t *bytes)
{
    char path[PATH_MAX];
    DIR *dir = opendir (fuzz_path (path, OUT));
    struct dirent *e;
    struct stat st;
    unsigned n = 0;
    int rc;

    if (!dir)
        abort ();
    *bytes = 0;
    for (; (e = fileio_next_entry (dir, &rc)); n++) {
        if (fstatat (dirfd (dir), e->d_name, &st, 0) == 0)
            *bytes += (uint64_t)st.st_size;
    }
    (void)closedir (dir);
    return n;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct fuzz_base base;
    struct fuzz_rows_seen seen = { 0, 0 };
    const struct row_sink sink = fuzz_rows (&seen);
    char path[PATH_MAX];
    struct capture c;
    uint64_t bytes;
    unsigned before;

    if (!base.data)
        base = fuzz_base_of_sql (base_sql);
    fuzz_remove ("capture");
    fuzz_mkdir (OUT);
    fuzz_db_write (OUT "/ascend_pytorch_profiler.db", base, data, size);
    before = files (&bytes);
    capture_init (&c);
    if (extract_capture (fuzz_path (path, "capture"), NULL, &sink, &c, NULL) <
        0)
        abort ();
    if (c.state != CAPTURE_COMPLETE && !c.reason[0])
        abort ();               // a person would not know why
    if (files (&bytes) != before || seen.rows > 64 * bytes)
        abort ();
    capture_fini (&c);
    return 0;
}
