/* aggregator/intake/ledger_schema.c - the tables of the ledger */
#include "intake/ledger_inside.h"

#include "base/fault.h"
#include "model/capture.h"

#include <errno.h>
#include <stdio.h>

/* Version 1: what was there from the beginning. */
static const char schema1_sql[] =
    // where the bytes of a content are; segment 0: blobs/<id>
    "CREATE TABLE IF NOT EXISTS content (id BLOB PRIMARY KEY,"
    " segment INTEGER NOT NULL, offset INTEGER NOT NULL,"
    " size INTEGER NOT NULL) WITHOUT ROWID;"
    // what was delivered under which name; the newest one counts
    "CREATE TABLE IF NOT EXISTS item (seq INTEGER PRIMARY KEY,"
    " job TEXT NOT NULL, kind INTEGER NOT NULL, rank INTEGER NOT NULL,"
    " capture TEXT NOT NULL, path TEXT NOT NULL, host TEXT NOT NULL,"
    " content BLOB NOT NULL, superseded INTEGER NOT NULL DEFAULT 0,"
    " received_ns INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS item_identity ON item"
    "(job, kind, rank, capture, path);"
    // what was said of a job, and the last item (seq) that its result has
    "CREATE TABLE IF NOT EXISTS job (id TEXT PRIMARY KEY,"
    " world_size INTEGER NOT NULL DEFAULT 0,"
    " built INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;";

/* Version 2: a checksum for each row, and for all of them. */
static const char schema2_sql[] =
    "ALTER TABLE content ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE item ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE item ADD COLUMN newest_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    // how much of a segment is accounted for
    "CREATE TABLE segment (number INTEGER PRIMARY KEY, end INTEGER NOT NULL,"
    " sum INTEGER NOT NULL);"
    // one row: the number of the rows of item and job, and their checksums
    // added up
    "CREATE TABLE total (id INTEGER PRIMARY KEY, rows INTEGER NOT NULL,"
    " total INTEGER NOT NULL, sum INTEGER NOT NULL);"
    // content on its way in: hashes of chunks that are on the disk
    "CREATE TABLE incoming (content BLOB NOT NULL, first INTEGER NOT NULL,"
    " size INTEGER NOT NULL, hashes BLOB NOT NULL,"
    " touched_ns INTEGER NOT NULL, sum INTEGER NOT NULL,"
    " PRIMARY KEY (content, first)) WITHOUT ROWID;"
    // clocks of the hosts, as they measured them; for people
    "CREATE TABLE clock (job TEXT NOT NULL, host_key TEXT NOT NULL,"
    " host TEXT NOT NULL, offset_ns INTEGER NOT NULL,"
    " error_ns INTEGER NOT NULL, PRIMARY KEY (job, host_key)) WITHOUT ROWID;";

/* Version 3: the lives of aggregators that have acknowledged anything, the
 * latest with the largest number.
 */
static const char schema3_sql[] =
    "CREATE TABLE epoch (number INTEGER PRIMARY KEY, id INTEGER NOT NULL,"
    " began INTEGER NOT NULL, sum INTEGER NOT NULL);";

/* Version 4: who says how many ranks a job has; for which host a key speaks
 * that was enrolled without one.
 */
static const char schema4_sql[] =
    "CREATE TABLE word (job TEXT NOT NULL, by INTEGER NOT NULL,"
    " who TEXT NOT NULL, host TEXT NOT NULL, world_size INTEGER NOT NULL,"
    " sum INTEGER NOT NULL, PRIMARY KEY (job, by, who, host)) WITHOUT ROWID;"
    "CREATE TABLE bound (who TEXT PRIMARY KEY, host TEXT NOT NULL,"
    " since_ns INTEGER NOT NULL) WITHOUT ROWID;";

/* Version 5: items whose job is not known when they come.  scope and place are
 * "" of all others.
 */
static const char schema5_sql[] =
    "ALTER TABLE item ADD COLUMN scope TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE item ADD COLUMN place TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX item_place ON item(scope, place, capture) WHERE place<>'';"
    // which version was given to which job
    "CREATE TABLE assignment (scope TEXT NOT NULL, place TEXT NOT NULL,"
    " rank INTEGER NOT NULL, capture TEXT NOT NULL,"
    " newest_ns INTEGER NOT NULL, job TEXT NOT NULL, at_ns INTEGER NOT NULL,"
    " assumed INTEGER NOT NULL, why TEXT NOT NULL, sum INTEGER NOT NULL,"
    " PRIMARY KEY (scope, place, capture, rank, newest_ns)) WITHOUT ROWID;"
    "CREATE INDEX assignment_job ON assignment(job);";

/* Version 6: whose key each item came with, of which the index finds ranks that
 * have several, and a sum of its rows; and a checksum for each key that is bound.
 */
static const char schema6_sql[] =
    "ALTER TABLE item ADD COLUMN who TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE item ADD COLUMN rows INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX item_sender ON item(job, rank, who) WHERE kind=1 AND"
    " who<>'';"
    "ALTER TABLE bound ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "UPDATE bound SET sum=bound_sum(who, host, since_ns);"
    "DROP TABLE IF EXISTS sender;";     // it was of versions 4 and 5

/* Version 7: which rank, of how many, the process of a rank is for MPI. */
static const char schema7_sql[] =
    "CREATE TABLE mpi (job TEXT NOT NULL, rank INTEGER NOT NULL,"
    " mpi_rank INTEGER NOT NULL, mpi_size INTEGER NOT NULL,"
    " PRIMARY KEY (job, rank)) WITHOUT ROWID;";

/* Version 8: on which host each rank is, too. */
static const char schema8_sql[] =
    "ALTER TABLE mpi RENAME TO heard;"
    "ALTER TABLE heard ADD COLUMN host TEXT NOT NULL DEFAULT '';";

/* The checksum of a row, as SQL functions of its columns. */

static void fn_content (sqlite3_context *ctx, int n, sqlite3_value **v)
{
    struct ledger_place p = { sqlite3_value_int64 (v[1]),
                              (uint64_t)sqlite3_value_int64 (v[2]),
                              (uint64_t)sqlite3_value_int64 (v[3]) };

    (void)n;
    if (sqlite3_value_bytes (v[0]) == DIGEST_SIZE)
        sqlite3_result_int64 (ctx, ledger_content_sum (
                                       sqlite3_value_blob (v[0]), &p));
}

static void fn_job (sqlite3_context *ctx, int n, sqlite3_value **v)
{
    const char *id = (const char *)sqlite3_value_text (v[0]);

    (void)n;
    sqlite3_result_int64 (ctx, ledger_job_sum (id ? id : "",
                                               sqlite3_value_int64 (v[1]),
                                               sqlite3_value_int64 (v[2])));
}

static int sum_items (struct ledger *l, struct err *err)
{
    sqlite3_stmt *get = NULL, *set = NULL;
    int rc = db_prepare (l->db, "SELECT job, kind, rank, capture, path, host, "
                                "content, received_ns, superseded, seq FROM "
                                "item", &get, err);

    if (rc == 0)
        rc = db_prepare (l->db, "UPDATE item SET sum=?1 WHERE seq=?2", &set,
                         err);
    while (rc == 0 && (rc = ledger_has_row (l, get, err)) == 1) {
        struct ledger_item i = { .kind = (unsigned)sqlite3_column_int (get,
                                                                       1) };
        int64_t sum;

        ledger_copy_column (i.job, sizeof (i.job), get, 0);
        i.rank = sqlite3_column_int64 (get, 2);
        ledger_copy_column (i.capture, sizeof (i.capture), get, 3);
        ledger_copy_column (i.path, sizeof (i.path), get, 4);
        ledger_copy_column (i.host, sizeof (i.host), get, 5);
        (void)ledger_digest_column (&i.content, get, 6);
        i.received_ns = sqlite3_column_int64 (get, 7);
        sum = ledger_item_sum (&i);
        l->total.rows++;
        l->total.sum += (uint64_t)sum;
        (void)sqlite3_bind_int64 (set, 1, sqlite3_column_int64 (get, 8) ? ~sum
                                                                       : sum);
        (void)sqlite3_bind_int64 (set, 2, sqlite3_column_int64 (get, 9));
        rc = db_run (set, err);
    }
    (void)sqlite3_finalize (get);
    (void)sqlite3_finalize (set);
    return rc;
}

static int sum_jobs (struct ledger *l, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_exec (l->db, "UPDATE content SET sum=content_sum(id, segment, "
                             "offset, size);UPDATE job SET sum=job_sum(id, "
                             "world_size, built)", err);

    if (rc == 0)
        rc = db_prepare (l->db, "SELECT sum FROM job", &st, err);
    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        l->total.rows++;
        l->total.sum += (uint64_t)sqlite3_column_int64 (st, 0);
        rc = 0;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static void fn_word (sqlite3_context *ctx, int n, sqlite3_value **v)
{
    const char *job = (const char *)sqlite3_value_text (v[0]);
    struct word w = { .by = WORD_NODE,
                      .world_size = sqlite3_value_int64 (v[1]) };

    (void)n;
    sqlite3_result_int64 (ctx, ledger_word_sum (job ? job : "", &w));
}

static void fn_bound (sqlite3_context *ctx, int n, sqlite3_value **v)
{
    const char *who = (const char *)sqlite3_value_text (v[0]);
    const char *host = (const char *)sqlite3_value_text (v[1]);
    struct ledger_bound b = { .since_ns = sqlite3_value_int64 (v[2]) };

    (void)n;
    (void)snprintf (b.who, sizeof (b.who), "%s", who ? who : "");
    (void)snprintf (b.host, sizeof (b.host), "%s", host ? host : "");
    sqlite3_result_int64 (ctx, ledger_bound_sum (&b));
}

static int make_6 (struct ledger *l, struct err *err)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

    if (sqlite3_create_function (l->db, "bound_sum", 3, flags, NULL, fn_bound,
                                 NULL, NULL) != SQLITE_OK)
        return db_error (l->db, "ledger", err);
    return db_exec (l->db, schema6_sql, err);
}

/* What a job had was said by nodes, nobody knows which. */
static int make_4 (struct ledger *l, struct err *err)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int rc = db_exec (l->db, schema4_sql, err);

    if (sqlite3_create_function (l->db, "word_sum", 2, flags, NULL, fn_word,
                                 NULL, NULL) != SQLITE_OK)
        return db_error (l->db, "ledger", err);
    return rc < 0 ? rc
                  : db_execf (l->db, err, "INSERT INTO word SELECT id, %d, '',"
                              " '', world_size, word_sum(id, world_size) FROM "
                              "job WHERE world_size BETWEEN 1 AND %d",
                              WORD_NODE, CAPTURE_WORLD_MAX);
}

/* In a transaction. */
static int make_2 (struct ledger *l, struct err *err)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int rc;

    if (sqlite3_create_function (l->db, "content_sum", 4, flags, NULL,
                                 fn_content, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function (l->db, "job_sum", 3, flags, NULL, fn_job,
                                 NULL, NULL) != SQLITE_OK)
        return db_error (l->db, "ledger", err);
    rc = db_exec (l->db, schema1_sql, err);
    if (rc == 0)
        rc = db_exec (l->db, schema2_sql, err);
    if (rc == 0)
        rc = sum_items (l, err);
    if (rc == 0)
        rc = sum_jobs (l, err);
    if (rc == 0)
        rc = db_execf (l->db, err, "INSERT INTO total VALUES (1,%lld,%lld,"
                       "%lld)", (long long)l->total.rows,
                       (long long)l->total.sum,
                       (long long)ledger_total_sum (&l->total));
    return rc;
}

/* All of it in one transaction: a version in between is never seen. */
static int migrate (struct ledger *l, int64_t version, struct err *err)
{
    int rc = db_exec (l->db, "BEGIN IMMEDIATE", err);

    if (rc == 0 && version < 2)
        rc = make_2 (l, err);
    if (rc == 0 && version < 3)
        rc = db_exec (l->db, schema3_sql, err);
    if (rc == 0)
        rc = version < 4 ? make_4 (l, err) : 0;
    if (rc == 0 && version < 5)
        rc = db_exec (l->db, schema5_sql, err);
    if (rc == 0 && version < 6)
        rc = make_6 (l, err);
    if (rc == 0 && version < 7)
        rc = db_exec (l->db, schema7_sql, err);
    if (rc == 0)
        rc = db_exec (l->db, schema8_sql, err);
    if (rc == 0)
        rc = db_execf (l->db, err, "PRAGMA user_version=%d", LEDGER_SCHEMA);
    if (rc == 0 && (rc = FAULT ("aggregator.ledger.migrate.commit")) < 0)
        rc = err_sys (err, -rc, "ledger");
    return rc < 0 ? rc : db_exec (l->db, "COMMIT", err);
}

int ledger_prepare (struct ledger *l, const char *path, struct err *err)
{
    int64_t version = db_int (l->db, "PRAGMA user_version", -1);

    if (version > LEDGER_SCHEMA)
        return err_set (err, ENOTSUP, "%s was written by a newer rollcall (or "
                        "is damaged): its version is %lld, not %d", path,
                        (long long)version, LEDGER_SCHEMA);
    if (version == LEDGER_SCHEMA)
        return 0;
    if (version < 0)
        return err_set (err, EBADMSG, "%s cannot be read: %s; rollcall fsck "
                        "aggregator --repair makes it again from the segments",
                        path, sqlite3_errmsg (l->db));
    if (l->reader)
        return err_set (err, ENOTSUP, "%s is of an older rollcall: start "
                        "rollcall-aggregator once, which brings it up to date",
                        path);
    return migrate (l, version, err);
}
