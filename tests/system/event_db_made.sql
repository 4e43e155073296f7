-- tests/system/event_db_made.sql - an event database of rank 0 of 4
--
-- 3 steps of 20 ops with 24 tasks each, on 4 planes, and a kernel between and
-- below them.  Everything that varies comes of h(): the same in every run.

CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO STRING_IDS VALUES (1,'Memcpy'), (2,'Reduce_Inline'),
 (3,'Notify_Wait'), (4,'Notify_Record'), (5,'9876543210'), (6,'MatMul'),
 (7,'AI_CORE'), (8,'aclnnMatMul');
CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_HCCL_TRANSPORT_TYPE VALUES (70,'SDMA'), (71,'RDMA'),
 (72,'LOCAL'), (79,'INVALID_TYPE');
CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_HCCL_LINK_TYPE VALUES (80,'ON_CHIP'), (81,'HCCS'),
 (82,'PCIE'), (83,'SIO'), (84,'HCCS_SW'), (89,'INVALID_TYPE');
CREATE TABLE ENUM_HCCL_RDMA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_HCCL_RDMA_TYPE VALUES (91,'RDMA_SEND_PAYLOAD'),
 (99,'INVALID_TYPE');
CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (4,'FP32');
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_API_TYPE VALUES (10000,'node');
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
INSERT INTO RANK_DEVICE_MAP VALUES (0, 3);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER,
 globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER,
 connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER,
 taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER,
 modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY,
 blockDim INTEGER, mixBlockDim INTEGER, taskType INTEGER, opType INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER,
 connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY KEY,
 relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER,
 count NUMERIC, opType INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER,
 taskType INTEGER, planeId INTEGER, groupName INTEGER, notifyId INTEGER,
 rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER,
 size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER,
 isMaster INTEGER);

-- ops 1 to 60, a millisecond apart; h is a hash of (op, task)
CREATE TABLE o AS
 WITH RECURSIVE n (op) AS (SELECT 1 UNION ALL SELECT op + 1 FROM n
                           WHERE op < 60)
 SELECT op, 1736410576000000000 + op * 1000000 AS t,
  13 + (op - 1) / 20 AS step, op % 3 AS master,
  CASE op % 3 WHEN 0 THEN 'hcom_allReduce__210_' WHEN 1 THEN
   'hcom_allGather__210_' ELSE 'hcom_alltoallv__210_' END || op || '_1' AS name
 FROM n;
CREATE TABLE k AS
 WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 23)
 SELECT op, i, i % 4 AS plane,
  ((op * 31 + i) * 2654435761 % 4294967296) / 4096 AS h, t, master FROM o, n;

INSERT INTO STRING_IDS SELECT 1000 + op, name FROM o;
INSERT INTO STEP_TIME SELECT step, min(t) - 300000, max(t) + 690000 FROM o
 GROUP BY step;
INSERT INTO CANN_API SELECT t - 200000, t - 190000, 10000, 77, op, 8 FROM o;
INSERT INTO CANN_API SELECT t - 180000, t - 170000, 10000, 77, 1000 + op, 8
 FROM o;
INSERT INTO COMMUNICATION_OP SELECT 1000 + op, t, t + 600000, op, 5, op, 0, 0,
 4, 5, 4096, 5 FROM o;
-- tasks of a plane never overlap: each has 25 us, of which it takes 1 to 24
INSERT INTO TASK SELECT t + i * 25000, t + i * 25000 + 1000 + h % 23000, 3, op,
 op * 100 + 99 - i, 1, 7, 0, plane, i, 0 FROM k;
INSERT INTO COMMUNICATION_TASK_INFO SELECT 1, op * 100 + 99 - i,
 CASE WHEN i < 6 THEN 3 ELSE 1 + h / 7 % 4 END, plane, 5, 0, 99, 0, h / 11 % 4,
 70, 10000000 << (h / 13 % 3), 4, CASE WHEN h / 11 % 4 = 0 THEN 80 ELSE
 81 + h / 17 % 4 END, op, plane = master FROM k;
-- kernels: some reach into an op, some lie within one, some in between
INSERT INTO TASK SELECT t + 500000 + op % 7 * 20000, t + 500000 + op % 7 * 20000
 + 100000 + op * 1000, 3, 1000 + op, 90000 + op, 1, 7, 0, 20, 0, 0 FROM o;
INSERT INTO COMPUTE_TASK_INFO SELECT 6, 90000 + op, 8, 0, 7, 6 FROM o;
DROP TABLE o; DROP TABLE k;
