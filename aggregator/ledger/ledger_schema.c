/* aggregator/ledger/ledger_schema.c - the tables of the ledger
 *
 * doc/format-store.md describes them.  The column "sum" of a row is the
 * checksum of ledger_sum.c.
 */
#include "ledger/ledger_private.h"

#include "base/fault.h"

#include <errno.h>

static const char schema_sql[] =
    // where the bytes of a chunk are, or the list of those of a content
    "CREATE TABLE content (id BLOB PRIMARY KEY, segment INTEGER NOT NULL,"
    " offset INTEGER NOT NULL, stored INTEGER NOT NULL,"
    " size INTEGER NOT NULL, form INTEGER NOT NULL, sum INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE INDEX content_list ON content(id) WHERE form=16;"
    "CREATE INDEX content_segment ON content(segment);"
    // what was delivered under which name; the newest one counts.  scope and
    // place are "" if the job was known on arrival, who is "" without keys
    "CREATE TABLE item (seq INTEGER PRIMARY KEY, job TEXT NOT NULL,"
    " kind INTEGER NOT NULL, rank INTEGER NOT NULL, capture TEXT NOT NULL,"
    " path TEXT NOT NULL, host TEXT NOT NULL, content BLOB NOT NULL,"
    " superseded INTEGER NOT NULL DEFAULT 0, received_ns INTEGER NOT NULL,"
    " newest_ns INTEGER NOT NULL, sum INTEGER NOT NULL,"
    " scope TEXT NOT NULL, place TEXT NOT NULL, who TEXT NOT NULL,"
    " rows INTEGER NOT NULL, mode INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"
    " uid INTEGER NOT NULL, gid INTEGER NOT NULL);"
    "CREATE INDEX item_identity ON item(job, kind, rank, capture, path);"
    "CREATE INDEX item_place ON item(scope, place, capture, path) WHERE"
    " place<>'';"
    "CREATE INDEX item_sender ON item(job, rank, who) WHERE kind=1 AND"
    " who<>'';"
    // claims about a job, the last item (seq) in its result, and the digest
    // of that
    "CREATE TABLE job (id TEXT PRIMARY KEY, world_size INTEGER NOT NULL,"
    " built INTEGER NOT NULL, rows BLOB NOT NULL, sum INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    // how much of a segment is accounted for
    "CREATE TABLE segment (number INTEGER PRIMARY KEY, end INTEGER NOT NULL,"
    " sum INTEGER NOT NULL);"
    // one row: the number of rows of item, job, assignment, fact and deletion,
    // and the sum of their checksums
    "CREATE TABLE total (id INTEGER PRIMARY KEY, rows INTEGER NOT NULL,"
    " total INTEGER NOT NULL, sum INTEGER NOT NULL);"
    // clocks of the hosts, as they measured them; for users
    "CREATE TABLE clock (job TEXT NOT NULL, host_key TEXT NOT NULL,"
    " host TEXT NOT NULL, offset_ns INTEGER NOT NULL,"
    " error_ns INTEGER NOT NULL, PRIMARY KEY (job, host_key)) WITHOUT ROWID;"
    // starts of aggregators that acknowledged anything, in order
    "CREATE TABLE epoch (number INTEGER PRIMARY KEY, id INTEGER NOT NULL,"
    " began INTEGER NOT NULL, sum INTEGER NOT NULL);"
    // claims of how many ranks a job has
    "CREATE TABLE word (job TEXT NOT NULL, by INTEGER NOT NULL,"
    " who TEXT NOT NULL, host TEXT NOT NULL, world_size INTEGER NOT NULL,"
    " sum INTEGER NOT NULL, PRIMARY KEY (job, by, who, host)) WITHOUT ROWID;"
    // the host of a key that was enrolled without one
    "CREATE TABLE bound (who TEXT PRIMARY KEY, host TEXT NOT NULL,"
    " since_ns INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;"
    // the job to which a version of a capture is assigned
    "CREATE TABLE assignment (scope TEXT NOT NULL, place TEXT NOT NULL,"
    " rank INTEGER NOT NULL, capture TEXT NOT NULL,"
    " newest_ns INTEGER NOT NULL, job TEXT NOT NULL, at_ns INTEGER NOT NULL,"
    " assumed INTEGER NOT NULL, why TEXT NOT NULL, sum INTEGER NOT NULL,"
    " PRIMARY KEY (scope, place, capture, rank, newest_ns)) WITHOUT ROWID;"
    "CREATE INDEX assignment_job ON assignment(job);"
    // a rank's process for MPI (rank and size), its host, and how its
    // COMMAND ended
    "CREATE TABLE heard (job TEXT NOT NULL, rank INTEGER NOT NULL,"
    " mpi_rank INTEGER NOT NULL, mpi_size INTEGER NOT NULL,"
    " host TEXT NOT NULL, ended_ns INTEGER NOT NULL,"
    " signal INTEGER NOT NULL, status INTEGER NOT NULL,"
    " PRIMARY KEY (job, rank)) WITHOUT ROWID;"
    // what nobody could find out again: user, command, tags, pins
    "CREATE TABLE fact (seq INTEGER PRIMARY KEY, job TEXT NOT NULL,"
    " key TEXT NOT NULL, value TEXT NOT NULL, at_ns INTEGER NOT NULL,"
    " by TEXT NOT NULL, gone INTEGER NOT NULL, sum INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX fact_identity ON fact(job, key, value);"
    // versions that were removed on purpose; and contents that lost an item so
    "CREATE TABLE deletion (seq INTEGER PRIMARY KEY, scope TEXT NOT NULL,"
    " place TEXT NOT NULL, rank INTEGER NOT NULL, capture TEXT NOT NULL,"
    " newest_ns INTEGER NOT NULL, job TEXT NOT NULL, at_ns INTEGER NOT NULL,"
    " by TEXT NOT NULL, gone INTEGER NOT NULL, sum INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX deletion_identity ON deletion(scope, place, capture,"
    " rank, newest_ns);"
    "CREATE INDEX deletion_job ON deletion(job);"
    "CREATE TABLE dead (content BLOB PRIMARY KEY) WITHOUT ROWID;"
    // segments without anything that is needed: their files are to be removed
    "CREATE TABLE emptied (number INTEGER PRIMARY KEY, sum INTEGER NOT NULL);";

/* One transaction, so that no other process sees a part of the schema. */
static int ledger_schema_create (struct ledger *l, struct err *err)
{
    struct ledger_total none = { 0, 0 };
    int rc = db_exec (l->db, "BEGIN IMMEDIATE", err);

    if (rc == 0)
        rc = db_exec (l->db, schema_sql, err);
    if (rc == 0)
        rc = db_execf (l->db, err, "INSERT INTO total VALUES (1,0,0,%lld);"
                       "PRAGMA user_version=%d",
                       (long long)ledger_total_sum (&none), LEDGER_SCHEMA);
    if (rc == 0 && (rc = FAULT ("aggregator.ledger.create.commit")) < 0)
        rc = err_sys (err, -rc, "ledger");
    return rc < 0 ? rc : db_exec (l->db, "COMMIT", err);
}

int ledger_prepare (struct ledger *l, const char *path, struct err *err)
{
    int64_t version = db_int (l->db, "PRAGMA user_version", -1);
    int64_t tables = db_int (l->db, "SELECT count(*) FROM sqlite_schema", -1);

    if (version == LEDGER_SCHEMA)
        return 0;
    if (version < 0 || tables < 0 || (version == 0 && tables > 0))
        return err_set (err, EBADMSG, "%s cannot be read: %s; rollcall fsck "
                        "aggregator --repair rebuilds it from the segments",
                        path, version == 0 && tables > 0
                                  ? "it has no version"
                                  : sqlite3_errmsg (l->db));
    if (version > 0)
        return err_set (err, ENOTSUP, "%s is of another version of rollcall "
                        "(or is damaged): its version is %lld, not %d", path,
                        (long long)version, LEDGER_SCHEMA);
    if (l->reader)
        return err_set (err, EAGAIN, "%s is being created: try again", path);
    return ledger_schema_create (l, err);
}
