/* aggregator/catalogue/catalogue_schema.c - the tables of catalogue.db */
#include "catalogue/catalogue_private.h"

#define UTC(ns) "strftime('%Y-%m-%dT%H:%M:%SZ', " ns "/1000000000, 'unixepoch')"
#define PERCENT(us) "100.0*" us "/nullif(computing_us+comm_us+free_us, 0)"

static const char schema_sql[] =
    // one row: the ledger as it was, see struct ledger_stamp
    "CREATE TABLE stamp (id INTEGER PRIMARY KEY, file INTEGER, rows INTEGER,"
    " sum INTEGER, items INTEGER, facts INTEGER, lost INTEGER);"
    // from the ledger (state: see ledger_each_state); its facts; from the result, whose file is known by
    // file_ino (0: there is none), file_ns and file_bytes; part_bytes: of the
    // parts beside it
    "CREATE TABLE job_row (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL,"
    " newest INTEGER, built_seq INTEGER, world_size INTEGER, ranks INTEGER,"
    " captures INTEGER, items INTEGER, bytes INTEGER, first_ns INTEGER,"
    " last_ns INTEGER, lost INTEGER, divided INTEGER, assumed INTEGER,"
    " by_hand INTEGER, state INTEGER,"
    " user TEXT, scheduler_id TEXT, command TEXT, tags TEXT, pinned INTEGER,"
    " file_ino INTEGER DEFAULT 0, file_ns INTEGER, file_bytes INTEGER,"
    " part_bytes INTEGER,"
    " expected INTEGER, present INTEGER, missing INTEGER, failed INTEGER,"
    " partial INTEGER, raw INTEGER, unexpected INTEGER,"
    " began_ns INTEGER, ended_ns INTEGER, hosts INTEGER, steps INTEGER,"
    " step_us REAL, longest_us REAL, computing_us REAL, comm_us REAL,"
    " free_us REAL, high INTEGER, medium INTEGER, low INTEGER, built TEXT,"
    " its_user TEXT, its_scheduler_id TEXT, its_command TEXT, known_by TEXT);"
    "CREATE TABLE tag (job INTEGER, tag TEXT, PRIMARY KEY (job, tag))"
    " WITHOUT ROWID;"
    // hosts with the means of their ranks; links of one transport, sums of
    // transfers of 1 MB and more; groups of one kind; findings of one kind;
    // findings that name a device or a link
    "CREATE TABLE host (job INTEGER, host TEXT, ranks INTEGER,"
    " computing_us REAL, step_us REAL, PRIMARY KEY (job, host)) WITHOUT ROWID;"
    "CREATE INDEX host_host ON host(host);"
    "CREATE TABLE link (job INTEGER, transport TEXT, links INTEGER, mb REAL,"
    " ms REAL, PRIMARY KEY (job, transport)) WITHOUT ROWID;"
    "CREATE TABLE grp (job INTEGER, kind TEXT, groups INTEGER, ops INTEGER,"
    " elapse_ms REAL, wait_ms REAL, PRIMARY KEY (job, kind)) WITHOUT ROWID;"
    "CREATE TABLE finding (job INTEGER, kind TEXT, severity TEXT, n INTEGER,"
    " percent REAL, PRIMARY KEY (job, kind, severity)) WITHOUT ROWID;"
    "CREATE TABLE slow (job INTEGER, kind TEXT, host TEXT, device INTEGER,"
    " rank INTEGER, peer_host TEXT, peer_device INTEGER, peer INTEGER,"
    " percent REAL);"
    "CREATE INDEX slow_job ON slow(job);"
    // what users see: the names of CATALOGUE_BASICS and CATALOGUE_DETAILS, and
    // at_ns and since_ns; owner: who may see it, see
    // ledger_is_of_user
    "CREATE VIEW job AS SELECT name AS job, coalesce(user, its_user) AS user,"
    " iif(newest>built_seq, NULL, job_row.user) AS owner,"
    " coalesce(scheduler_id, its_scheduler_id) AS scheduler_id,"
    " coalesce(command, its_command) AS command, tags, pinned,"
    " CASE WHEN divided=0 THEN 'given' WHEN by_hand>0 THEN 'hand' WHEN"
    "  assumed>0 THEN 'assumed' ELSE 'shown' END AS id,"
    " CASE WHEN file_ino=0 THEN 'none' WHEN newest>built_seq THEN 'behind' ELSE"
    "  'built' END AS result, " UTC ("began_ns") " AS began, "
    UTC ("ended_ns") " AS ended, " UTC ("first_ns") " AS first_received, "
    UTC ("last_ns") " AS last_received, world_size,"
    " iif(world_size>0, world_size, ifnull(job_row.expected, 0)) AS expected, ranks,"
    " captures, items, bytes, lost AS quarantined, assumed, by_hand,"
    " job_row.expected AS in_roll, present,"
    " missing, failed, partial, raw, unexpected, hosts, steps,"
    " step_us/1000 AS step_ms, longest_us/1000 AS longest_ms, "
    PERCENT ("computing_us") " AS computing_percent, " PERCENT ("comm_us")
    " AS comm_percent, " PERCENT ("free_us") " AS free_percent,"
    " high+medium+low AS findings, high, medium, low,"
    " iif(file_ino=0, NULL, file_bytes+ifnull(part_bytes, 0)) AS"
    " result_bytes, built, known_by,"
    " ifnull(began_ns, first_ns) AS at_ns, max(ifnull(began_ns, first_ns),"
    " first_ns) AS since_ns, job_row.id AS row_id FROM job_row;";

int catalogue_create (sqlite3 *db, struct err *err)
{
    int rc = db_exec (db, schema_sql, err);

    return rc < 0 ? rc : db_execf (db, err, "PRAGMA application_id=%d;"
                                   "PRAGMA user_version=%d",
                                   CATALOGUE_APPLICATION_ID,
                                   CATALOGUE_VERSION);
}
