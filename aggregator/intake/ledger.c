/* aggregator/intake/ledger.c - what is known to be durable here */
#include "intake/ledger.h"

#include "base/clock.h"
#include "base/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEDGER_SCHEMA 1         // PRAGMA user_version

static const char schema_sql[] =
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
    "(job, kind, rank, capture, path);";

enum statement {
    FIND_CONTENT, ADD_CONTENT, FIND_ITEM, SUPERSEDE, ADD_ITEM, STATEMENTS
};

static const char *const statements[STATEMENTS] = {
    [FIND_CONTENT] = "SELECT segment, offset, size FROM content WHERE id=?1",
    [ADD_CONTENT] = "INSERT OR IGNORE INTO content VALUES (?1,?2,?3,?4)",
    [FIND_ITEM] = "SELECT 1 FROM item WHERE job=?1 AND kind=?2 AND rank=?3 "
                  "AND capture=?4 AND path=?5 AND content=?6 AND "
                  "superseded=0",
    [SUPERSEDE] = "UPDATE item SET superseded=1 WHERE job=?1 AND kind=?2 AND "
                  "rank=?3 AND capture=?4 AND path=?5",
    [ADD_ITEM] = "INSERT INTO item (job, kind, rank, capture, path, content, "
                 "host, received_ns) VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
};

struct ledger {
    sqlite3 *db;
    sqlite3_stmt *st[STATEMENTS];
};

int ledger_open (const char *path, struct ledger **ret, struct err *err)
{
    struct ledger *l = calloc (1, sizeof (*l));
    int rc;

    if (!l)
        return err_set (err, ENOMEM, "no memory for the ledger");
    if (sqlite3_open_v2 (path, &l->db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                             SQLITE_OPEN_NOMUTEX,
                         NULL) != SQLITE_OK) {
        rc = db_error (l->db, path, err);
        goto error;
    }
    rc = db_exec (l->db, "PRAGMA locking_mode=EXCLUSIVE;PRAGMA "
                         "journal_mode=WAL;PRAGMA synchronous=FULL;", err);
    if (rc == 0 && db_int (l->db, "PRAGMA user_version", 0) > LEDGER_SCHEMA)
        rc = err_set (err, ENOTSUP, "%s was written by a newer rollcall",
                      path);
    if (rc == 0)
        rc = db_exec (l->db, schema_sql, err);
    if (rc == 0)
        rc = db_execf (l->db, err, "PRAGMA user_version=%d", LEDGER_SCHEMA);
    for (unsigned i = 0; i < STATEMENTS && rc == 0; i++)
        rc = db_prepare (l->db, statements[i], &l->st[i], err);
    if (rc < 0)
        goto error;
    *ret = l;
    return 0;
error:
    ledger_close (l);
    return rc;
}

void ledger_close (struct ledger *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < STATEMENTS; i++)
        (void)sqlite3_finalize (l->st[i]);
    (void)sqlite3_close (l->db);
    free (l);
}

int ledger_begin (struct ledger *l, struct err *err)
{
    return db_exec (l->db, "BEGIN IMMEDIATE", err);
}

int ledger_commit (struct ledger *l, struct err *err)
{
    return db_exec (l->db, "COMMIT", err);
}

void ledger_rollback (struct ledger *l)
{
    if (!sqlite3_get_autocommit (l->db))
        (void)sqlite3_exec (l->db, "ROLLBACK", NULL, NULL, NULL);
}

/* Whether a prepared statement gives a row; it stays on that row. */
static int has_row (struct ledger *l, sqlite3_stmt *st, struct err *err)
{
    int code = sqlite3_step (st);

    if (code == SQLITE_ROW)
        return 1;
    if (code == SQLITE_DONE)
        return 0;
    return db_error (l->db, "ledger", err);
}

static void bind_digest (sqlite3_stmt *st, int i, const struct digest *d)
{
    (void)sqlite3_bind_blob (st, i, d->bytes, DIGEST_SIZE, SQLITE_TRANSIENT);
}

int ledger_find_content (struct ledger *l, const struct digest *content,
                         struct ledger_place *ret, struct err *err)
{
    sqlite3_stmt *st = l->st[FIND_CONTENT];
    int rc;

    bind_digest (st, 1, content);
    rc = has_row (l, st, err);
    if (rc == 1) {
        ret->segment = sqlite3_column_int64 (st, 0);
        ret->offset = (uint64_t)sqlite3_column_int64 (st, 1);
        ret->size = (uint64_t)sqlite3_column_int64 (st, 2);
    }
    (void)sqlite3_reset (st);
    return rc;
}

int ledger_add_content (struct ledger *l, const struct digest *content,
                        const struct ledger_place *place, struct err *err)
{
    sqlite3_stmt *st = l->st[ADD_CONTENT];

    bind_digest (st, 1, content);
    (void)sqlite3_bind_int64 (st, 2, place->segment);
    (void)sqlite3_bind_int64 (st, 3, (int64_t)place->offset);
    (void)sqlite3_bind_int64 (st, 4, (int64_t)place->size);
    return db_run (st, err);
}

static void bind_identity (sqlite3_stmt *st, const struct ledger_item *item)
{
    db_bind_text (st, 1, item->job);
    (void)sqlite3_bind_int (st, 2, (int)item->kind);
    (void)sqlite3_bind_int64 (st, 3, item->rank);
    db_bind_text (st, 4, item->capture);
    db_bind_text (st, 5, item->path);
}

int ledger_add_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err)
{
    sqlite3_stmt *find = l->st[FIND_ITEM], *add = l->st[ADD_ITEM];
    int rc;

    bind_identity (find, item);
    bind_digest (find, 6, &item->content);
    rc = has_row (l, find, err);
    (void)sqlite3_reset (find);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    bind_identity (l->st[SUPERSEDE], item);
    if ((rc = db_run (l->st[SUPERSEDE], err)) < 0)
        return rc;
    bind_identity (add, item);
    bind_digest (add, 6, &item->content);
    db_bind_text (add, 7, item->host);
    (void)sqlite3_bind_int64 (add, 8, clock_wall_ns ());
    return db_run (add, err);
}

static void copy_column (char *out, size_t max, sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text (st, column);

    (void)snprintf (out, max, "%s", text ? text : "");
}

int ledger_each (struct ledger *l, const char *job, enum item_kind kind,
                 int (*fn) (void *arg, const struct ledger_item *item),
                 void *arg, struct err *err)
{
    struct ledger_item item = { .kind = kind };
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT i.rank, i.capture, i.path, i.host, "
                                "i.content, i.superseded, c.segment, c.offset,"
                                " c.size FROM item i JOIN content c ON "
                                "c.id=i.content WHERE i.job=?1 AND i.kind=?2 "
                                "ORDER BY i.seq", &st, err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    (void)sqlite3_bind_int (st, 2, (int)kind);
    (void)snprintf (item.job, sizeof (item.job), "%s", job);
    while ((rc = has_row (l, st, err)) == 1) {
        item.rank = sqlite3_column_int64 (st, 0);
        copy_column (item.capture, sizeof (item.capture), st, 1);
        copy_column (item.path, sizeof (item.path), st, 2);
        copy_column (item.host, sizeof (item.host), st, 3);
        if (sqlite3_column_bytes (st, 4) == DIGEST_SIZE)
            memcpy (item.content.bytes, sqlite3_column_blob (st, 4),
                    DIGEST_SIZE);
        item.superseded = sqlite3_column_int (st, 5);
        item.place.segment = sqlite3_column_int64 (st, 6);
        item.place.offset = (uint64_t)sqlite3_column_int64 (st, 7);
        item.place.size = (uint64_t)sqlite3_column_int64 (st, 8);
        if ((rc = fn (arg, &item)) < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_last_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT segment, max(offset+size) FROM content "
                                "WHERE segment=(SELECT max(segment) FROM "
                                "content)", &st, err);

    if (rc < 0)
        return rc;
    *segment = 0;
    *end = 0;
    if ((rc = has_row (l, st, err)) == 1) {
        *segment = sqlite3_column_int64 (st, 0);
        *end = (uint64_t)sqlite3_column_int64 (st, 1);
        rc = 0;
    }
    (void)sqlite3_finalize (st);
    return rc;
}
