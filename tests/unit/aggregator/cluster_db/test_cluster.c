/* tests/unit/aggregator/cluster_db/test_cluster.c - cluster_analysis.db, of
 * what no profiler writes but an analysis.db may hold */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster_db/cluster.h"
#include "cluster_db/cluster_groups.h"
#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
    char dir[64];
    sqlite3 *in, *out;
    struct cluster_result made;
};

static const char schema[] =
    "CREATE TABLE CommAnalyzerTime (hccl_op_name, group_name,"
    " start_timestamp, elapse_time, transit_time, wait_time,"
    " synchronization_time, idle_time, step, type, rank INTEGER, capture);"
    "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name, group_name,"
    " transport_type, transit_size, transit_time, bandwidth,"
    " large_packet_ratio, package_size, count, total_duration, step, type,"
    " rank INTEGER, capture);"
    "CREATE TABLE CommAnalyzerMatrix (hccl_op_name, group_name, src_rank TEXT,"
    " dst_rank TEXT, transport_type, transit_size, transit_time, bandwidth,"
    " step, type, op_name, rank INTEGER, capture);"
    "CREATE TABLE StepTraceTime (deviceId, step TEXT, computing,"
    " communication_not_overlapped, overlapped, communication, free, stage,"
    " bubble, communication_not_overlapped_and_exclude_receive, preparing,"
    " rank INTEGER, capture);"
    "CREATE TABLE CommGroup (id INTEGER PRIMARY KEY, group_name TEXT,"
    " group_id TEXT, pg_name TEXT, type TEXT, size INTEGER);"
    "CREATE TABLE CommGroupMember (comm_group INTEGER, group_rank INTEGER,"
    " rank INTEGER);"
    "CREATE TABLE Roster (rank INTEGER PRIMARY KEY, host, local_rank,"
    " device_id, expected, state, reason);"
    "CREATE TABLE Capture (id INTEGER PRIMARY KEY, rank, name, state);"
    "CREATE TABLE CaptureInfo (kind, name, value, rank, capture);";

static void setup_db (struct place *p, const char *sql)
{
    char path[128];
    struct err err = { "" };

    (void)snprintf (path, sizeof (path), "%s/analysis.db", p->dir);
    (void)unlink (path);
    assert_int_equal (sqlite3_open (path, &p->in), SQLITE_OK);
    if (db_exec (p->in, schema, &err) < 0 || db_exec (p->in, sql, &err) < 0)
        fail_msg ("%s", err.text);
    (void)sqlite3_close (p->in);
}

static void make (struct place *p, const char *sql)
{
    struct publish out;
    struct err err = { "" };
    char path[128];

    setup_db (p, sql);
    (void)sqlite3_close (p->out);
    (void)snprintf (path, sizeof (path), "%s/analysis.db", p->dir);
    assert_int_equal (publish_open (&out, p->dir, NULL, false, &err), 0);
    if (cluster_make (&out, path, 2, NULL, &p->made, &err) < 0)
        fail_msg ("%s", err.text);
    publish_close (&out);
    assert_int_equal (sqlite3_open (p->made.path, &p->out), SQLITE_OK);
}

/* All columns of all rows, as text. */
static void assert_rows (struct place *p, const char *sql, const char *expected)
{
    sqlite3_stmt *st = NULL;
    struct err err = { "" };
    char text[4096] = "";

    if (db_prepare (p->out, sql, &st, &err) < 0)
        fail_msg ("%s", err.text);
    while (sqlite3_step (st) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count (st); i++) {
            const char *v = (const char *)sqlite3_column_text (st, i);
            size_t n = strlen (text);

            (void)snprintf (text + n, sizeof (text) - n, "%s%s",
                            i ? "|" : n ? " " : "", v ? v : "NULL");
        }
    }
    (void)sqlite3_finalize (st);
    assert_string_equal (text, expected);
}

static int setup (void **state)
{
    struct place *p = calloc (1, sizeof (*p));

    *state = p;
    // characters that mean something in a URI
    (void)snprintf (p->dir, sizeof (p->dir), "/tmp/test_cluster%%?#XXXXXX");
    return p && mkdtemp (p->dir) ? 0 : -1;
}

static int teardown (void **state)
{
    struct place *p = *state;

    (void)sqlite3_close (p->out);
    (void)fileio_remove_tree (p->dir, NULL);
    free (p);
    return 0;
}

#define GROUPS_OF_ONE_NAME \
    "INSERT INTO CommGroup VALUES (1,'77','a','dp','collective',2)," \
    " (2,'77','a','dp','collective',2), (3,'88','b','dp','mixed',2);" \
    "INSERT INTO CommGroupMember VALUES (1,0,0),(1,1,1),(2,0,2),(2,1,3)," \
    " (3,0,1),(3,1,0);"

#define OPS \
    "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name, step, rank)" \
    " VALUES "

/* A reader joins by name alone, and lists by the program's name and ranks. */
static void test_names_are_unique (void **state)
{
    struct place *p = *state;

    make (p, GROUPS_OF_ONE_NAME OPS
          "('x','77','step1',0),('x','88','step1',0),('x','77','step1',2);");
    assert_rows (p, "SELECT type, rank_set, group_name, group_id, pg_name FROM "
                    "CommunicationGroupMapping",
                 "collective|(0,1)|77|a|dp collective|(2,3)|77_2|a|dp "
                 "collective|(0,1)|88|b|dp_2");
    assert_rows (p, "SELECT rank_id, group_name FROM ClusterCommunicationTime "
                    "WHERE hccl_op_name='x' ORDER BY rowid",
                 "0|77 0|88 2|77_2");
}

/* Viewers take ranks of a set for places of a chart. */
static void test_ranks_are_listed_once (void **state)
{
    struct place *p = *state;

    make (p, "INSERT INTO CommGroup VALUES (1,'77','a','dp','collective',4);"
             "INSERT INTO CommGroupMember VALUES (1,0,2),(1,1,0),(1,2,2),"
             " (1,3,0);" OPS "('x','77','step1',0);");
    assert_rows (p, "SELECT rank_set FROM CommunicationGroupMapping", "(0,2)");
}

/* What no group has is not lost, and is of one that is called so. */
static void test_ops_of_no_group (void **state)
{
    struct place *p = *state;

    make (p, "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name, "
             "elapse_time, step, rank) VALUES ('x',NULL,1,'step1',3),"
             " ('y','99',2,'step1',3), ('x',NULL,4,'step1',5);");
    assert_rows (p, "SELECT * FROM CommunicationGroupMapping",
                 "collective|(3,5)|unknown||");
    assert_rows (p, "SELECT rank_id, elapsed_time, transit_time FROM "
                    "ClusterCommunicationTime WHERE hccl_op_name="
                    "'Total Op Info'", "3|3.0|NULL 5|4.0|NULL");
}

#define LINKS \
    "INSERT INTO CommAnalyzerMatrix (hccl_op_name, group_name, src_rank," \
    " dst_rank, transport_type, transit_size, transit_time, step, rank) VALUES "

#define LONG(n) "printf('%0600d', " #n ")"

/* Ops are brought together by their names: what was changed is the same on all
 * ranks, and what were two stay two.
 */
static void test_names_are_cleaned (void **state)
{
    struct place *p = *state;

    make (p, GROUPS_OF_ONE_NAME OPS
          "('recv 0<-1','77','step1',0), ('recv 0>-1','77','step1',0),"
          " ('recv 0<-1','77','step1',1), ('Total Op Info','77','step1',0),"
          " (" LONG (1) ",'77','step1',0), (" LONG (2) ",'77','step1',0),"
          " (" LONG (1) ",'77','step1',1);");
    assert_rows (p, "SELECT hccl_op_name GLOB 'recv 0_-1_*', "
                    "max(length(hccl_op_name)), count(*) FROM "
                    "ClusterCommunicationTime WHERE hccl_op_name<>"
                    "'Total Op Info' GROUP BY hccl_op_name ORDER BY 1, 3",
                 "0|500|1 0|500|2 1|26|1 1|26|2");
    assert_rows (p, "SELECT count(*) FROM ClusterCommunicationTime WHERE "
                    "hccl_op_name='Total Op Info'", "2");
}

/* Names of groups that are alike in all that a viewer takes: rows must not
 * change the group, and no character may be cut in two.
 */
static void test_groups_of_long_names (void **state)
{
    struct place *p = *state;

    make (p, "WITH n(i) AS (VALUES (1), (2), (3)) INSERT INTO CommGroup SELECT"
             " i, replace(" LONG (0) ", '0', 'é')||((i+1)/2), 'a;'||i,"
             " replace(" LONG (0) ", '00', 'é0')||i, 'collective', 1 FROM n;"
             "INSERT INTO CommGroupMember VALUES (1,0,0),(2,0,1),(3,0,0);"
             "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name, step,"
             " rank) SELECT 'op '||id, group_name, 'step1', m.rank FROM"
             " CommGroup JOIN CommGroupMember m ON comm_group=id;");
    assert_rows (p, "SELECT g.rank_set, t.rank_id, t.hccl_op_name,"
                    " length(CAST(g.group_name AS BLOB))<=500,"
                    " length(CAST(g.pg_name AS BLOB))<=500,"
                    " rtrim(rtrim(group_name, '0123456789abcdef_'), 'é')='',"
                    " replace(substr(pg_name, 1, 100), 'é0', '')=''"
                    " FROM ClusterCommunicationTime t"
                    " JOIN CommunicationGroupMapping g USING (group_name)"
                    " WHERE hccl_op_name LIKE 'op %' ORDER BY hccl_op_name",
                 "(0)|0|op 1|1|1|1|1 (1)|1|op 2|1|1|1|1 (0)|0|op 3|1|1|1|1");
    assert_rows (p, "SELECT count(DISTINCT group_name), count(DISTINCT "
                    "pg_name), count(DISTINCT group_id), sum(group_id LIKE "
                    "'%;%') FROM CommunicationGroupMapping", "3|3|3|0");
}

/* The communication of a step is asked for as "step" and the step's name, the
 * name being what viewers take.  All of them say so: whatever the profiler put
 * before it, a step is one.
 */
static void test_steps_of_any_name (void **state)
{
    struct place *p = *state;

    make (p, GROUPS_OF_ONE_NAME
          "INSERT INTO StepTraceTime (step, computing, rank) VALUES"
          " ('13',1,0),('warm up',1,0),('a;b',1,0),('a|b',1,0),"
          " ('stepping',1,0),(" LONG (1) ",1,0),(" LONG (2) ",1,0),"
          " (NULL,1,0),('',2,0);" OPS
          "('x','77','step13',0),('y','77','13',0),('x','77','warm up',0),"
          " ('x','77','stepa;b',0),('x','77','a|b',0),"
          " ('x','77','stepstepping',0),('y','77','stepping',0),"
          " ('x','77','step'||" LONG (1) ",0),('x','77'," LONG (2) ",0),"
          " ('x','77',NULL,0),('y','77','step',0),('z','77','',0);"
          LINKS "('a-top1','77','0','0','LOCAL',1,1,'a|b',0);"
          "INSERT INTO CommAnalyzerBandwidth (hccl_op_name, group_name, "
          " transport_type, step, rank) VALUES ('x','77','HCCS','a|b',0);");
    assert_rows (p, "SELECT s.step, count(*), sum(hccl_op_name="
                    "'Total Op Info') FROM ClusterStepTraceTime s LEFT JOIN "
                    "ClusterCommunicationTime t ON t.step='step'||s.step "
                    "WHERE length(s.step)<100 AND s.step NOT LIKE 'a%' "
                    "GROUP BY s.rowid",
                 "|4|1 stepping|3|1 warm up|2|1 13|3|1");
    assert_rows (p, "SELECT substr(step, 1, 4), length(step) FROM "
                    "ClusterStepTraceTime WHERE step LIKE 'a%' OR "
                    "length(step)>100 ORDER BY 2, 1",
                 "a_b_|20 a_b_|20 0000|496 0000|496");
    assert_rows (p, "SELECT count(DISTINCT step) FROM ClusterStepTraceTime",
                 "8");
    assert_rows (p, "SELECT count(DISTINCT step), sum(step NOT IN (SELECT "
                    "'step'||step FROM ClusterStepTraceTime)) FROM "
                    "(SELECT step FROM ClusterCommunicationTime UNION SELECT "
                    "step FROM ClusterCommunicationBandwidth UNION SELECT step "
                    "FROM ClusterCommunicationMatrix)", "8|0");
}

/* Steps as numbers, and of each the sums. */
static void test_order (void **state)
{
    struct place *p = *state;

    make (p, GROUPS_OF_ONE_NAME
          "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name, wait_time,"
          " transit_time, synchronization_time, step, rank) VALUES"
          " ('x','77',1,3,1,'step10',0), ('x','77',1,1,0,'step9',0),"
          " ('z','77',1,0,0,'step9',0), ('x','77',1,0,1,NULL,0);");
    assert_rows (p, "SELECT step, wait_time, wait_time_ratio, "
                    "synchronization_time_ratio FROM ClusterCommunicationTime "
                    "WHERE hccl_op_name='Total Op Info'",
                 "step|1.0|1.0|1.0 step9|2.0|0.6667|0.0 "
                 "step10|1.0|0.25|0.25");
}

/* Sizes of an op count once, whatever lies between its rows; packets by size;
 * without a transport, or over one that is not known, nothing can be shown.
 */
static void test_bandwidth (void **state)
{
    struct place *p = *state;

    make (p, GROUPS_OF_ONE_NAME
          "INSERT INTO CommAnalyzerBandwidth (hccl_op_name, group_name,"
          " transport_type, transit_size, transit_time, package_size, count,"
          " total_duration, step, rank) VALUES"
          " ('x','77','HCCS',6,3,2,1,1,'step1',0),"
          " ('y','77','HCCS',4,1,2,2,1,'step1',0),"
          " ('x','77','HCCS',6,3,1,4,2,'step1',0),"
          " ('x','77','SDMA',6,3,0,0,0,'step1',0),"
          " ('y','77',NULL,6,3,0,0,0,'step1',0),"
          " ('y','77','WARP',6,3,0,0,0,'step1',0);");
    assert_rows (p, "SELECT band_type, transit_size, transit_time, bandwidth, "
                    "package_size, count, total_duration FROM "
                    "ClusterCommunicationBandwidth WHERE hccl_op_name="
                    "'Total Op Info'",
                 "HCCS|10.0|4.0|2.5|1.0|4|2.0 HCCS|10.0|4.0|2.5|2.0|3|2.0 "
                 "SDMA|6.0|3.0|2.0|0.0|0|0.0");
    assert_rows (p, "SELECT count(*) FROM ClusterCommunicationBandwidth", "7");
}

/* 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1. */
static void test_bandwidth_order (void **state)
{
    struct place *p = *state;

    make (p, GROUPS_OF_ONE_NAME
          "INSERT INTO CommAnalyzerBandwidth (hccl_op_name, group_name,"
          " transport_type, transit_size, transit_time, step, rank) VALUES"
          " ('c','77','HCCS',0.3,3,'step1',0),"
          " ('b','77','HCCS',0.2,1,'step1',0),"
          " ('a','77','HCCS',0.1,1,'step1',0);");
    assert_rows (p, "SELECT transit_size=0.1+0.2+0.3, transit_size=0.3+0.2+0.1 "
                    "FROM ClusterCommunicationBandwidth WHERE hccl_op_name="
                    "'Total Op Info'", "1|0");
}

/* A link of which both its ends tell is one link; its time may be 0.  What is
 * no number is not rank 0.
 */
static void test_links (void **state)
{
    struct place *p = *state;

    make (p, GROUPS_OF_ONE_NAME LINKS
          "('a-total','77','0','1',NULL,2,1,'step1',2),"
          "('a-total','77','0','1','HCCS',4,2,'step1',3),"
          "('a-top1','77','0','1','HCCS',9,0,'step1',3),"
          "('b-total','77','1','1','LOCAL',9,0,'step1',3),"
          "('b-total','77','7','1','LOCAL',9,0,'step1',3),"
          "('b-total','77','x','1','LOCAL',9,0,'step1',3),"
          "('b-total','77','1',NULL,'LOCAL',9,0,'step1',3);");
    assert_rows (p, "SELECT hccl_op_name, group_name, src_rank, dst_rank, "
                    "transport_type, transit_size, bandwidth FROM "
                    "ClusterCommunicationMatrix ORDER BY 1",
                 "Total Op Info|77_2|2.0|3.0|HCCS|6.0|2.0 "
                 "Total Op Info|77_2|3.0|3.0|LOCAL|9.0|0.0 "
                 "a-top1|77_2|2.0|3.0|HCCS|9.0|0.0 "
                 "a-total|77_2|2.0|3.0|HCCS|6.0|2.0 "
                 "b-total|77_2|3.0|3.0|LOCAL|9.0|0.0");
    assert_int_equal (p->made.links_left_out, 3);
}

/* No metadata: who has which place is seen by what ranks say of themselves. */
static void test_places_are_learned (void **state)
{
    struct place *p = *state;

    make (p, "INSERT INTO CommGroup VALUES (1,'77',NULL,NULL,'collective',"
             "NULL);INSERT INTO CommGroupMember VALUES (1,NULL,8),(1,NULL,9);"
             LINKS
             "('a','77','0','0','LOCAL',1,1,'step1',9),"
             "('a','77','0','1','HCCS',2,1,'step1',9),"
             "('a','77','0','2','HCCS',3,1,'step1',9),"
             "('a','77','1','0','HCCS',4,1,'step1',8);");
    // these have no totals of their own: each is a whole op's
    assert_rows (p, "SELECT src_rank, dst_rank, transit_size FROM "
                    "ClusterCommunicationMatrix WHERE hccl_op_name="
                    "'Total Op Info' ORDER BY 3",
                 "9.0|9.0|1.0 9.0|8.0|2.0 8.0|9.0|4.0");
    assert_int_equal (p->made.links_left_out, 1);
}

#define ARG(name, value) \
    "INSERT INTO CaptureInfo VALUES ('metadata','distributed_args." name \
    "','" value "',0,1);"

static void test_base_info_is_whole (void **state)
{
    struct place *p = *state;
    const char *args = ARG ("tensor_model_parallel_size", "2")
        ARG ("pipeline_model_parallel_size", "1")
        ARG ("data_parallel_size", "2") ARG ("context_parallel_size", "2")
        ARG ("expert_model_parallel_size", "1") ARG ("rank", "0")
        ARG ("world_size", "8")
        "INSERT INTO StepTraceTime (step, computing, rank) VALUES"
        " ('1',5,3),('1',6,4),(NULL,7,7);";
    char sql[4096];

    make (p, args);
    assert_rows (p, "SELECT count(*) FROM sqlite_master WHERE "
                    "name='ClusterBaseInfo'", "0");
    (void)snprintf (sql, sizeof (sql), "%s%s", args,
                    ARG ("sequence_parallel", "true"));
    make (p, sql);
    assert_rows (p, "SELECT key, json_extract(value, '$.context_parallel_size')"
                    ", json_type(value, '$.sequence_parallel'), json_type("
                    "value, '$.rank') FROM ClusterBaseInfo",
                 "distributed_args|2|true|NULL");
    assert_rows (p, "SELECT step, \"index\", computing, dp_index, pp_index, "
                    "tp_index FROM ClusterStepTraceTime",
                 "1|3|5|0|0|1 1|4|6|1|0|0 |7|7|1|0|1");
    assert_rows (p, "SELECT DISTINCT typeof(step), typeof(\"index\") FROM "
                    "ClusterStepTraceTime", "text|text");
}

/* A rank that used several devices has one row, the host's id if it has one. */
static void test_hosts_and_devices (void **state)
{
    struct place *p = *state;

    make (p, "INSERT INTO Roster VALUES (0,'h0',0,NULL,1,'present',NULL),"
             " (1,'h1',0,6,1,'partial',NULL), (2,'h1',0,7,1,'missing',NULL);"
             "INSERT INTO Capture VALUES (1,0,'old','complete'),"
             " (2,0,'new','complete'), (3,1,'c1','partial'),"
             " (4,1,'c2','failed');"
             "INSERT INTO CaptureInfo VALUES ('host','hostUid','4711',0,1),"
             " ('host','hostName','node',0,1);"
             "INSERT INTO StepTraceTime (deviceId, step, computing, free,"
             " rank) VALUES (4,NULL,5,1,0),(3,NULL,2,3,0);");
    assert_rows (p, "SELECT * FROM HostInfo", "4711|node h1|h1");
    assert_rows (p, "SELECT * FROM RankDeviceMap",
                 "0|3|4711|new 1|6|h1|c1");
    assert_rows (p, "SELECT computing, free FROM ClusterStepTraceTime", "5|3");
}

/* A host is found by its id, under the same name in both tables. */
static void test_hosts_are_cleaned (void **state)
{
    struct place *p = *state;

    make (p, "INSERT INTO Roster VALUES (0,'h;0',0,0,1,'present',NULL),"
             " (1,'h<0',0,1,1,'present',NULL), (2,'h2',0,2,1,'present',NULL);"
             "INSERT INTO Capture VALUES (1,0,'$a','complete'),"
             " (2,1,'&a','complete'), (3,2," LONG (1) ",'complete');"
             "INSERT INTO CaptureInfo VALUES ('host','hostUid','4!',2,3);");
    assert_rows (p, "SELECT substr(hostUid, 1, 4), substr(hostName, 1, 4), "
                    "hostUid=hostName FROM HostInfo ORDER BY 1",
                 "4__6|h2|0 h_0_|h_0_|1 h_0_|h_0_|1");
    assert_rows (p, "SELECT rankId, substr(profilePath, 1, 3), "
                    "length(profilePath)<=500, (SELECT count(*) FROM HostInfo "
                    "h WHERE h.hostUid=m.hostUid) FROM RankDeviceMap m",
                 "0|_a_|1|1 1|_a_|1|1 2|000|1|1");
}

/* More ranks than one thread takes at once, whose rows lie between those of
 * others.
 */
static void test_many_ranks (void **state)
{
    struct place *p = *state;

    make (p, "INSERT INTO CommGroup VALUES (1,'77','a','tp','collective',50);"
             "INSERT INTO CommGroupMember WITH n(i) AS (SELECT 0 UNION ALL"
             " SELECT i+1 FROM n WHERE i<49) SELECT 1, i, i FROM n;"
             "WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE"
             " i<20000) INSERT INTO CommAnalyzerTime (hccl_op_name,"
             " group_name, elapse_time, step, rank) SELECT 'op'||(i*7%400),"
             " '77', i, 'step'||(i/50%3), i%50 FROM n;");
    assert_rows (p, "SELECT count(*), sum(hccl_op_name='Total Op Info'),"
                    " min(rowid>>32=rank_id) FROM ClusterCommunicationTime",
                 "20150|150|1");
    assert_rows (p, "SELECT count(*) FROM (SELECT elapsed_time AS t,"
                    " lag(elapsed_time) OVER (ORDER BY rowid) AS before,"
                    " rank_id=lag(rank_id) OVER (ORDER BY rowid) AS one FROM"
                    " ClusterCommunicationTime WHERE hccl_op_name LIKE 'op%')"
                    " WHERE one AND t<=before", "0");
    assert_rows (p, "SELECT count(*) FROM (SELECT sum(CASE WHEN hccl_op_name"
                    " LIKE 'op%' THEN elapsed_time ELSE -elapsed_time END) AS"
                    " d FROM ClusterCommunicationTime GROUP BY step, rank_id)"
                    " WHERE d<>0", "0");
    assert_rows (p, "PRAGMA integrity_check", "ok");
}

/* A name that goes on behind a NUL is another one. */
static void test_names_with_zeros (void **state)
{
    struct place *p = *state;

    make (p, "CREATE TEMP TABLE n AS WITH n(i) AS (SELECT 1 UNION ALL SELECT"
             " i+1 FROM n WHERE i<400) SELECT i FROM n;"
             "INSERT INTO CommGroup SELECT i, 'g'||i, i, 'tp', 'collective', 1"
             " FROM n; INSERT INTO CommGroupMember SELECT i, 0, 0 FROM n;"
             "INSERT INTO CommAnalyzerTime (hccl_op_name, group_name, step,"
             " rank) SELECT iif(k, 'op', 'no')||i, 'g'||i||iif(k, '',"
             " char(0)||'x'), 'step1', 0 FROM n, (SELECT 0 AS k UNION ALL"
             " SELECT 1) ORDER BY i, k;");
    assert_rows (p, "SELECT count(*) FROM ClusterCommunicationTime WHERE"
                    " hccl_op_name LIKE 'op%' AND"
                    " group_name='g'||substr(hccl_op_name, 3)", "400");
    assert_rows (p, "SELECT count(*) FROM ClusterCommunicationTime WHERE"
                    " hccl_op_name LIKE 'no%' AND group_name LIKE 'g%'", "0");
}

/* Nothing at all is a result, too: all tables are there. */
static void test_empty (void **state)
{
    struct place *p = *state;

    make (p, "");
    assert_rows (p, "SELECT count(*) FROM sqlite_master WHERE type='table' "
                    "AND (name LIKE 'Cluster%' OR name LIKE 'Comm%')", "5");
    assert_rows (p, "PRAGMA quick_check", "ok");
}

static void test_cancel (void **state)
{
    struct place *p = *state;
    atomic_bool cancel = true;
    struct publish out;
    struct err err = { "" };
    char path[128];

    setup_db (p, GROUPS_OF_ONE_NAME);
    (void)snprintf (path, sizeof (path), "%s/analysis.db", p->dir);
    assert_int_equal (publish_open (&out, p->dir, NULL, false, &err), 0);
    assert_int_equal (cluster_make (&out, path, 2, &cancel, &p->made, &err),
                      -EINTR);
    publish_close (&out);
    (void)snprintf (path, sizeof (path), "%s/%s", p->dir, PUBLISH_OUTPUT_DIR);
    assert_int_equal (rmdir (path), 0);         // it is empty
}

/* Give the row whose first column is this text another rowid. */
static void damage_rowid (const char *path, const char *text, char rowid)
{
    static char bytes[1 << 20];
    FILE *f = fopen (path, "r+");
    size_t n;
    char *at;

    assert_non_null (f);
    n = fread (bytes, 1, sizeof (bytes), f);
    at = memmem (bytes, n, text, strlen (text));
    assert_non_null (at);
    at -= 14;                   // a record's header of 12 columns, the rowid
    assert_int_equal (at[0], 2);
    assert_int_equal (at[1], 13);
    assert_int_equal (fseek (f, at - bytes, SEEK_SET), 0);
    assert_int_equal (fputc (rowid, f), rowid);
    assert_int_equal (fclose (f), 0);
}

/* A build that fails within a table ends all that it has begun. */
static void test_damage (void **state)
{
    struct place *p = *state;
    struct publish out;
    struct err err = { "" };
    char path[128];

    setup_db (p, "INSERT INTO CommAnalyzerTime (hccl_op_name, rank) VALUES"
                 " ('first', 0), ('damaged', 0), ('last', 0)");
    (void)snprintf (path, sizeof (path), "%s/analysis.db", p->dir);
    damage_rowid (path, "damaged", 1);
    assert_int_equal (publish_open (&out, p->dir, NULL, false, &err), 0);
    assert_int_equal (cluster_make (&out, path, 2, NULL, &p->made, &err),
                      -EBADMSG);
    assert_non_null (strstr (err.text, "rows are out of order"));
    publish_close (&out);
    (void)snprintf (path, sizeof (path), "%s/%s", p->dir, PUBLISH_OUTPUT_DIR);
    assert_int_equal (rmdir (path), 0);         // it is empty
}

int main (void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown (fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_names_are_unique),
        TEST (test_ranks_are_listed_once),
        TEST (test_ops_of_no_group),
        TEST (test_names_are_cleaned),
        TEST (test_groups_of_long_names),
        TEST (test_steps_of_any_name),
        TEST (test_order),
        TEST (test_bandwidth),
        TEST (test_bandwidth_order),
        TEST (test_links),
        TEST (test_places_are_learned),
        TEST (test_base_info_is_whole),
        TEST (test_hosts_and_devices),
        TEST (test_hosts_are_cleaned),
        TEST (test_many_ranks),
        TEST (test_names_with_zeros),
        TEST (test_empty),
        TEST (test_cancel),
        TEST (test_damage),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
