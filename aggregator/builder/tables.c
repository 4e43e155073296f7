/* aggregator/builder/tables.c - write the tables beside those of rows */
#include "builder/tables.h"

#include "base/clock.h"
#include "store/db_rows.h"

#include <stdio.h>
#include <time.h>

#define PEERS_MAX "64"          // members of a group that CommOp lists

static const char schema_sql[] =
    "CREATE TABLE Capture (id INTEGER PRIMARY KEY, rank INTEGER, host TEXT,"
    " device_id INTEGER, name TEXT, framework TEXT, source TEXT,"
    " profiler_level TEXT, state TEXT, reason TEXT, steps INTEGER,"
    " started_ns INTEGER, ended_ns INTEGER, raw_bytes INTEGER, sha256 TEXT);"
    "CREATE TABLE Roster (rank INTEGER PRIMARY KEY, host TEXT,"
    " local_rank INTEGER, device_id INTEGER, expected INTEGER, state TEXT,"
    " reason TEXT, verified INTEGER, command_status INTEGER,"
    " command_signal INTEGER, command_ended_ns INTEGER);"
    "CREATE TABLE CaptureRow (capture INTEGER PRIMARY KEY, rank INTEGER,"
    " first_row INTEGER, last_row INTEGER);"
    // group_name is not unique: two groups of one job may share a name
    "CREATE TABLE CommGroup (id INTEGER PRIMARY KEY, group_name TEXT,"
    " group_id TEXT, pg_name TEXT, type TEXT, size INTEGER);"
    "CREATE TABLE CommGroupMember (comm_group INTEGER, group_rank INTEGER,"
    " rank INTEGER);"
    "CREATE TABLE Wait (step TEXT, comm_group INTEGER, late_rank INTEGER,"
    " waiting_rank INTEGER, ops INTEGER, wait_ms NUMERIC,"
    " clock_error_ms NUMERIC);"
    "CREATE TABLE WaitTotal (late_rank INTEGER, waiting_rank INTEGER,"
    " comm_group INTEGER, ops INTEGER, wait_ms NUMERIC,"
    " clock_error_ms NUMERIC);"
    "CREATE TABLE LeftOut (capture INTEGER, rank INTEGER, step TEXT,"
    " reason TEXT);"
    "CREATE INDEX LeftOut_capture ON LeftOut(capture);"
    "CREATE TABLE Finding " FINDING_COLUMNS ";"
    "CREATE TABLE Job (key TEXT PRIMARY KEY, value TEXT);";

#define FIRST(column) \
    " (SELECT b." column " FROM CommAnalyzerBandwidth b WHERE" \
    " b.rowid=l.rowid) AS " column

static const char views_sql[] =
    // one row per op, with where it ran and in which group; lists of members
    // are made once, and not of large groups, where they would be most of it
    "CREATE VIEW CommOp AS SELECT t.*, c.host, g.id AS comm_group, g.pg_name,"
    " g.size AS group_size, nullif(trim(replace(','||p.ranks||',',"
    " ','||t.rank||',', ','), ','), '') AS peers"
    " FROM CommAnalyzerTime t LEFT JOIN Capture c ON c.id=t.capture"
    " LEFT JOIN CommGroup g ON g.id=(SELECT n.id FROM CommGroup n JOIN"
    " CommGroupMember m ON m.comm_group=n.id WHERE n.group_name=t.group_name"
    " AND m.rank=t.rank LIMIT 1) LEFT JOIN (SELECT comm_group,"
    " group_concat(rank) AS ranks FROM CommGroupMember GROUP BY comm_group"
    " HAVING count(*)<=" PEERS_MAX ") p ON p.comm_group=g.id;"
    // each packet size repeats the transit values: take those of the first row;
    // they are read only for columns that are asked for
    "CREATE VIEW LinkBandwidth AS SELECT " FIRST ("hccl_op_name") ","
    FIRST ("group_name") "," FIRST ("transport_type") ","
    FIRST ("transit_size") "," FIRST ("transit_time") ","
    FIRST ("bandwidth") "," FIRST ("large_packet_ratio") ", l.packets,"
    FIRST ("step") "," FIRST ("type") ", c.rank, c.capture FROM CaptureRow c"
    " CROSS JOIN LinkRow l ON l.rowid BETWEEN c.first_row AND c.last_row;"
    // what counts is also in postgres/result_rows.c
    "CREATE VIEW StepCounted AS SELECT * FROM StepTraceTime s WHERE rank IS"
    " NOT NULL AND NOT EXISTS (SELECT 1 FROM LeftOut o WHERE"
    " o.capture=s.capture AND (o.step IS NULL OR o.step IS s.step));"
    "CREATE VIEW StepByRank AS SELECT s.rank, r.host, s.step, s.deviceId,"
    " s.computing, s.communication_not_overlapped, s.overlapped,"
    " s.communication, s.free, s.stage, s.bubble, s.preparing"
    " FROM StepCounted s LEFT JOIN Roster r ON r.rank=s.rank;";

int tables_create (sqlite3 *db, struct err *err)
{
    int rc = db_exec (db, schema_sql, err);

    return rc < 0 ? rc : db_exec (db, views_sql, err);
}

int tables_index (sqlite3 *db, struct err *err)
{
    // indexes on rank exist, unless traffic_fill dropped one;
    // (rank, step) would cost a third more time and space
    return db_exec (
        db,
        "CREATE INDEX CommGroupMember_rank ON CommGroupMember(rank);"
        "CREATE INDEX IF NOT EXISTS CommAnalyzerBandwidth_rank ON"
        " CommAnalyzerBandwidth(rank);", err);
}

static const char *or_null (const char *text)
{
    return text && *text ? text : NULL;
}

/* Bind a number; below 'least' it is not known, so NULL. */
static struct db_value known_from (int64_t least, int64_t v)
{
    return db_known (v >= least, v);
}

int tables_write_captures (sqlite3 *db, const struct select_item *items,
                           size_t n, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO Capture VALUES (?1,?2,?3,?4,?5,?6,"
                             "?7,?8,?9,?10,?11,?12,?13,?14,NULL)", &st, err);

    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct capture *c = &items[i].capture;

        rc = db_put (st, err, items[i].id, known_from (0, items[i].rank),
                     or_null (c->host), known_from (0, c->device_id), c->name,
                     or_null (c->framework), or_null (c->source),
                     or_null (c->level), capture_state_name (c->state),
                     or_null (c->reason), c->nsteps,
                     known_from (1, c->started_ns),
                     known_from (1, c->ended_ns), c->raw_bytes);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int tables_write_ranges (sqlite3 *db, const struct select_item *items,
                         size_t n, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO CaptureRow VALUES (?1,?2,?3,?4)",
                         &st, err);

    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!items[i].skip)
            rc = db_put (st, err, items[i].id, known_from (0, items[i].rank),
                         items[i].first_row,
                         items[i].first_row + (int64_t)items[i].rows_max - 1);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int tables_write_roster (sqlite3 *db, const struct roster *r, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO Roster VALUES (?1,?2,?3,?4,?5,?6,"
                             "?7,?8,?9,?10,?11)", &st, err);

    for (size_t i = 0; i < r->n && rc == 0; i++) {
        const struct roster_entry *e = &r->entries[i];
        const struct command_end *end = &e->command;
        bool killed = end->signal > 0;

        rc = db_put (st, err, e->rank, e->host, known_from (0, e->local_rank),
                     known_from (0, e->device_id), e->expected,
                     roster_state_name (e->state), e->reason, e->verified,
                     db_known (end->ns > 0 && !killed && end->status >= 0,
                               end->status),
                     db_known (end->ns > 0 && killed, end->signal),
                     known_from (1, end->ns));
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int tables_write_excluded (sqlite3 *db, const struct select_item *items,
                           size_t n, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO LeftOut VALUES (?1,?2,NULL,?3)", &st,
                         err);

    for (size_t i = 0; i < n && rc == 0; i++) {
        bool stranger = items[i].capture.state == CAPTURE_UNEXPECTED;

        if (items[i].doubt || stranger)
            rc = db_put (st, err, items[i].id, known_from (0, items[i].rank),
                         stranger ? "no rank" : "rank in doubt");
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static int tables_put (sqlite3_stmt *st, const char *key, const char *value,
                       struct err *err)
{
    return value ? db_put (st, err, key, value) : 0;
}

static int put_units (sqlite3_stmt *st, struct err *err)
{
    char key[128];
    int rc = 0;

    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        const struct table *t = schema_table (i);

        for (unsigned c = 0; c < t->ncolumns && rc == 0; c++) {
            (void)snprintf (key, sizeof (key), "unit.%s.%s", t->name,
                            t->columns[c].name);
            rc = tables_put (st, key, t->columns[c].unit, err);
        }
    }
    return rc;
}

/* Write rows sorted by key. */
static int put_notes (sqlite3_stmt *st, const struct roster *r,
                      struct err *err)
{
    char key[16];
    int rc = 0;

    for (size_t i = 0; i < r->nnotes && rc == 0; i++) {
        (void)snprintf (key, sizeof (key), "note.%03zu", i);
        rc = tables_put (st, key, r->notes[i], err);
    }
    return rc;
}

int tables_write_job (sqlite3 *db, const struct tables_job *job,
                      const struct roster *r, struct err *err)
{
    char world[24], built[40], version[16];
    time_t now = (time_t)(clock_wall_ns () / NS_PER_S);
    const struct {
        const char *key, *value;
    } rows[] = {
        { "job", job->id },
        { "assumed", job->assumed ? "1" : "0" },
        { "other_jobs", or_null (job->others) },
        { "scheduler_id", or_null (job->about.scheduler_id) },
        { "user", or_null (job->about.user) },
        { "command", or_null (job->about.command) },
        { "world_size", world },
        { "roster_known_by", r->known_by },
        { "rollcall_version", ROLLCALL_VERSION },
        { "schema_version", version },
        { "began_at", job->began },
        { "built_at", built },
        { "steps", job->steps },
        { "inputs", job->inputs },
    };
    sqlite3_stmt *st = NULL;
    struct tm tm;
    int rc = db_prepare (db, "INSERT INTO Job VALUES (?1,?2)", &st, err);

    (void)snprintf (world, sizeof (world), "%lld", (long long)r->world_size);
    (void)snprintf (version, sizeof (version), "%d", TABLES_SCHEMA_VERSION);
    (void)strftime (built, sizeof (built), "%Y-%m-%dT%H:%M:%SZ",
                    gmtime_r (&now, &tm));
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]) && rc == 0; i++)
        rc = tables_put (st, rows[i].key, rows[i].value, err);
    if (rc == 0)
        rc = put_notes (st, r, err);
    if (rc == 0)
        rc = put_units (st, err);
    (void)sqlite3_finalize (st);
    return rc;
}
