/* tests/maker/event_schema.h - the tables of an event database, as SQL
 *
 * With some strings and enumerations, whose ids are none that a profiler has:
 * readers must go by their names.
 */
#ifndef ROLLCALL_TESTS_EVENT_SCHEMA_H
#define ROLLCALL_TESTS_EVENT_SCHEMA_H

#define EVENT_SCHEMA \
    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);" \
    "INSERT INTO STRING_IDS VALUES (1,'Memcpy'),(2,'Reduce_Inline')," \
    "(3,'Notify_Wait'),(4,'Notify_Record'),(5,'group_name_0'),(6,'MatMul')," \
    "(7,'AI_CORE'),(8,'RDMASend'),(9,'12345');" \
    "CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id INTEGER PRIMARY KEY, name " \
    "TEXT);" \
    "INSERT INTO ENUM_HCCL_TRANSPORT_TYPE VALUES (10,'SDMA'),(11,'RDMA')," \
    "(12,'LOCAL'),(99,'INVALID_TYPE');" \
    "CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY, name TEXT);" \
    "INSERT INTO ENUM_HCCL_LINK_TYPE VALUES (20,'ON_CHIP'),(21,'HCCS')," \
    "(22,'PCIE'),(23,'ROCE'),(24,'SIO'),(25,'HCCS_SW'),(99,'INVALID_TYPE');" \
    "CREATE TABLE ENUM_HCCL_RDMA_TYPE (id INTEGER PRIMARY KEY, name TEXT);" \
    "INSERT INTO ENUM_HCCL_RDMA_TYPE VALUES (30,'RDMA_SEND_NOTIFY')," \
    "(31,'RDMA_SEND_PAYLOAD'),(99,'INVALID_TYPE');" \
    "CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);" \
    "INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (40,'FP16'),(41,'FP32');" \
    "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);" \
    "INSERT INTO ENUM_API_TYPE VALUES (50,'node'),(51,'op'),(52,'acl');" \
    "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);" \
    "INSERT INTO RANK_DEVICE_MAP VALUES (0, 3);" \
    "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);" \
    "CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, " \
    "globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER);" \
    "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, " \
    "connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, taskType " \
    "INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId " \
    "INTEGER);" \
    "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER " \
    "PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER, taskType INTEGER, " \
    "opType INTEGER);" \
    "CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs " \
    "INTEGER, connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY " \
    "KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, " \
    "count NUMERIC, opType INTEGER);" \
    "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER," \
    "taskType INTEGER, planeId INTEGER, groupName INTEGER, notifyId INTEGER, " \
    "rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType " \
    "INTEGER, size INTEGER, dataType INTEGER, linkType INTEGER, opId " \
    "INTEGER);"

#endif
