/* node_agent/spool/migrate.c - ledgers of older versions
 *
 * Version 3 did not say of what may be released whether the raw files were
 * delivered, too; version 2 had no checksums for it.
 *
 * Version 1 had no rows for captures, and its shipments were in the spool's
 * own directory.  Their files are linked to their new names, everything is
 * entered anew in one transaction, and the old names are removed by the
 * spool_open that called.  Killed at any moment, the next start does the same
 * again or finds it done.
 */
#include "spool/inside.h"

#include "base/fault.h"
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A capture for every version that was sealed, with nothing open. */
static int take_captures (struct spool *s, struct err *err)
{
    return db_exec (s->db,
        "INSERT INTO capture (path, fingerprint, key, name, rank, state, open,"
        " sum) SELECT capture_path, fingerprint, row_sum(capture_path), '',"
        " -1, 6, 0, 0 FROM old_sealed;"
        // its name is the last component of the path
        "UPDATE capture SET name=replace(path, rtrim(path, replace(path, '/',"
        " '')), '');"
        "UPDATE capture SET rank=ifnull((SELECT max(rank) FROM old_item WHERE"
        " old_item.capture=capture.name), -1);", err);
}

/* The newest capture of that name; made if there is none. */
static int64_t capture_of (struct spool *s, const char *name, int64_t rank,
                           struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT id FROM capture WHERE name=?1 AND rank=?2 ORDER BY id DESC "
        "LIMIT 1", err);
    int64_t id = 0;

    db_bind_text (st, 1, name);
    (void)sqlite3_bind_int64 (st, 2, rank);
    if (st && sqlite3_step (st) == SQLITE_ROW)
        id = sqlite3_column_int64 (st, 0);
    spool_ledger_end (s, st);
    if (id > 0)
        return id;
    st = spool_ledger_prepare (s,
        "INSERT INTO capture (path, fingerprint, key, name, rank, state, open,"
        " sum) VALUES (?1, '', 0, ?1, ?2, 10, 0, 0)", err);
    db_bind_text (st, 1, name);
    (void)sqlite3_bind_int64 (st, 2, rank);
    return ledger_run (s, st, err) < 0 ? -EIO
                                       : sqlite3_last_insert_rowid (s->db);
}

/* Link a shipment to its new name; hash what is to be delivered, since version
 * 1 kept no hashes of chunks.  -ENOENT: its file is not what was sealed.
 */
static int take_file (struct spool *s, uint64_t capture,
                      struct spool_new *item, const char *file,
                      const struct digest *content, struct err *err)
{
    char to[PATH_MAX];
    struct digest id;
    int fd = file ? fileio_open_at (AT_FDCWD, file, NULL) : -ENOENT, rc;

    if (fd < 0)
        return -ENOENT;
    rc = content_hash_file (fd, item->size, &item->hash, NULL, NULL, NULL);
    (void)close (fd);
    if (rc < 0 || content_hash_end (&item->hash, &id) < 0 ||
        memcmp (&id, content, sizeof (id)) != 0)
        return -ENOENT;
    if (item->kind == ITEM_RAW)
        return 0;
    item->own = true;
    if ((rc = spool_file (s, capture, item->number, to, err)) < 0)
        return rc;
    if ((rc = FAULT ("agent.spool.migrate.link")) < 0)
        return err_sys (err, -rc, "cannot link %s to %s", file, to);
    (void)unlink (to);          // of a migration that was killed
    if (link (file, to) < 0)
        return err_sys (err, errno, "cannot link %s to %s", file, to);
    spool_group_path (s, capture, to);
    return fileio_sync_dir (to, err);
}

/* A capture of which not everything can be delivered is sealed again. */
static int not_sealed (struct spool *s, int64_t capture, struct err *err)
{
    return db_execf (s->db, err, "UPDATE capture SET state=10, fingerprint='' "
                     "WHERE id=%lld", (long long)capture);
}

static int take_item (struct spool *s, sqlite3_stmt *row, struct err *err)
{
    struct spool_new item = {
        .kind = (enum item_kind)sqlite3_column_int (row, 1),
        .number = (unsigned)sqlite3_column_int (row, 0),
        .path = (char *)sqlite3_column_text (row, 4),
        .size = (uint64_t)sqlite3_column_int64 (row, 6),
    };
    struct digest content;
    int64_t capture;
    int rc;

    if ((item.kind != ITEM_ROWS && item.kind != ITEM_RAW) ||
        sqlite3_column_bytes (row, 7) != DIGEST_SIZE)
        return err_set (err, EBADMSG, "%s: an item that is none", s->dir);
    memcpy (&content, sqlite3_column_blob (row, 7), sizeof (content));
    capture = capture_of (s, (const char *)sqlite3_column_text (row, 3),
                          sqlite3_column_int64 (row, 2), err);
    if (capture < 0)
        return (int)capture;
    rc = take_file (s, (uint64_t)capture, &item,
                    (const char *)sqlite3_column_text (row, 5), &content, err);
    if (rc == -ENOENT)
        rc = not_sealed (s, capture, err);
    else if (rc == 0)
        rc = item_add (s, (uint64_t)capture, &item, &content, err);
    if (rc == 0)
        rc = db_execf (s->db, err, "UPDATE capture SET open=(SELECT count(*) "
                       "FROM item WHERE capture=%lld), state=CASE state WHEN "
                       "6 THEN 3 ELSE state END WHERE id=%lld",
                       (long long)capture, (long long)capture);
    content_hash_fini (&item.hash);
    return rc;
}

static int take_items (struct spool *s, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT id, kind, rank, capture, path, file, size, content FROM "
        "old_item WHERE state='sealed' ORDER BY id", err);
    int code = SQLITE_DONE, rc = st ? 0 : ledger_error (s, NULL);

    while (rc == 0 && (code = sqlite3_step (st)) == SQLITE_ROW)
        rc = take_item (s, st, err);
    if (rc == 0 && code != SQLITE_DONE)
        rc = ledger_error (s, err);
    spool_ledger_end (s, st);
    return rc;
}

static int migrate_1 (struct spool *s, struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    rc = db_exec (s->db, "DROP INDEX item_state; DROP TABLE IF EXISTS release;"
                  "ALTER TABLE sealed RENAME TO old_sealed;"
                  "ALTER TABLE item RENAME TO old_item;"
                  "ALTER TABLE said RENAME TO old_said;", err);
    if (rc == 0)
        rc = ledger_create (s, err);
    if (rc == 0)
        rc = take_captures (s, err);
    if (rc == 0)
        rc = take_items (s, err);
    if (rc == 0)
        rc = db_exec (s->db,
            "UPDATE capture SET key=row_sum(path);"
            "UPDATE capture SET sum=" CAPTURE_SUM ("fingerprint", "key",
                "name", "rank", "state", "open") ";"
            "INSERT INTO said SELECT rank, type, packet, "
            "row_sum('s', rank, type, packet) FROM old_said;"
            "DROP TABLE old_sealed; DROP TABLE old_item; DROP TABLE old_said;",
            err);
    if (rc < 0) {
        int why = sqlite3_errcode (s->db) == SQLITE_OK
                      ? rc : ledger_error (s, NULL);

        spool_ledger_rollback (s);
        return why == -EBADMSG ? why : rc;
    }
    return spool_ledger_commit (s, "agent.spool.migrate.commit", err);
}

static const char migrate_2_sql[] =
    "ALTER TABLE release ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "UPDATE release SET sum=" RELEASE_SUM ("state");

// a row with a wrong sum keeps it, and is never believed
static const char migrate_3_sql[] =
    "CREATE INDEX IF NOT EXISTS capture_name ON capture(name, rank);"
    "UPDATE release SET state=5, sum=" RELEASE_SUM ("5") " WHERE state=0 AND "
    "sum IS " RELEASE_SUM ("state") " AND NOT EXISTS (SELECT 1 FROM item WHERE "
    "item.id BETWEEN first_item AND last_item AND kind=2);"
    "PRAGMA user_version=4";

static int migrate_2 (struct spool *s, int64_t version, struct err *err)
{
    int rc = tally_load (s, err);

    if (rc == 0)
        rc = spool_ledger_begin (s, err);
    if (rc < 0)
        return rc;
    if (version == 2)
        rc = db_exec (s->db, migrate_2_sql, err);
    if (rc == 0)
        rc = db_exec (s->db, migrate_3_sql, err);
    if (rc < 0) {
        rc = ledger_error (s, NULL);
        spool_ledger_rollback (s);
        return rc;
    }
    return spool_ledger_commit (s, "agent.spool.migrate.commit", err);
}

int spool_migrate (struct spool *s, int64_t version, struct err *err)
{
    return version == 1 ? migrate_1 (s, err) : migrate_2 (s, version, err);
}
