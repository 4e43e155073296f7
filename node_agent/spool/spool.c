/* node_agent/spool/spool.c - what is to be delivered, on local disk */
#include "spool/spool.h"

#include "base/db.h"
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SPOOL_SCHEMA 1          // PRAGMA user_version

static const char schema_sql[] =
    // one row for each version of a capture that was sealed
    "CREATE TABLE IF NOT EXISTS sealed (capture_path TEXT, fingerprint TEXT,"
    " PRIMARY KEY (capture_path, fingerprint));"
    // state: sealed, durable, gone
    "CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " kind INTEGER NOT NULL, rank INTEGER NOT NULL, capture TEXT NOT NULL,"
    " path TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL,"
    " content BLOB NOT NULL, state TEXT NOT NULL, why TEXT);"
    "CREATE INDEX IF NOT EXISTS item_state ON item(state, id);"
    // what the wrappers of a run have said
    "CREATE TABLE IF NOT EXISTS said (rank INTEGER, type TEXT, packet TEXT,"
    " PRIMARY KEY (rank, type));";

struct spool {
    char dir[PATH_MAX];
    int lock;                   // descriptor, locked
    sqlite3 *db;
    sqlite3_stmt *next, *add, *set;
    unsigned temps;
};

static int lock_dir (struct spool *s, struct err *err)
{
    char path[PATH_MAX];

    if (!fileio_join (path, sizeof (path), s->dir, "lock"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", s->dir);
    s->lock = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock < 0)
        return err_sys (err, errno, "cannot open %s", path);
    if (flock (s->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set (err, EBUSY, "another agent has the spool %s", s->dir);
    return 0;
}

static int open_ledger (struct spool *s, struct err *err)
{
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), s->dir, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", s->dir);
    if (sqlite3_open_v2 (path, &s->db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                             SQLITE_OPEN_NOMUTEX,
                         NULL) != SQLITE_OK)
        return db_error (s->db, path, err);
    rc = db_exec (s->db, "PRAGMA locking_mode=EXCLUSIVE;PRAGMA "
                         "journal_mode=WAL;PRAGMA synchronous=FULL;", err);
    if (rc == 0 && db_int (s->db, "PRAGMA user_version", 0) > SPOOL_SCHEMA)
        return err_set (err, ENOTSUP, "%s was written by a newer rollcall",
                        path);
    if (rc == 0)
        rc = db_exec (s->db, schema_sql, err);
    if (rc == 0)
        rc = db_execf (s->db, err, "PRAGMA user_version=%d", SPOOL_SCHEMA);
    if (rc == 0)
        rc = db_prepare (s->db, "SELECT id, kind, rank, capture, path, file, "
                                "size, content FROM item WHERE "
                                "state='sealed' AND id>?1 ORDER BY id LIMIT 1",
                         &s->next, err);
    if (rc == 0)
        rc = db_prepare (s->db, "INSERT INTO item (kind, rank, capture, path, "
                                "file, size, content, state) VALUES (?1,?2,?3,"
                                "?4,?5,?6,?7,'sealed')", &s->add, err);
    if (rc == 0)
        rc = db_prepare (s->db, "UPDATE item SET state=?2, why=?3 WHERE "
                                "id=?1", &s->set, err);
    return rc;
}

int spool_open (const char *dir, struct spool **ret, struct err *err)
{
    struct spool *s = calloc (1, sizeof (*s));
    const char *remote;
    int rc;

    if (!s)
        return err_set (err, ENOMEM, "no memory for the spool");
    s->lock = -1;
    (void)snprintf (s->dir, sizeof (s->dir), "%s", dir);
    rc = fileio_mkdirs (dir, 0700, err);
    if (rc == 0 && (remote = fileio_remote_fs (dir)))
        rc = err_set (err, ENOTSUP, "%s is on a shared file system (%s), where "
                      "a spool is not safe: choose a local directory", dir,
                      remote);
    if (rc == 0)
        rc = lock_dir (s, err);
    if (rc == 0)
        rc = open_ledger (s, err);
    if (rc < 0) {
        spool_close (s);
        return rc;
    }
    *ret = s;
    return 0;
}

void spool_close (struct spool *s)
{
    if (!s)
        return;
    (void)sqlite3_finalize (s->next);
    (void)sqlite3_finalize (s->add);
    (void)sqlite3_finalize (s->set);
    (void)sqlite3_close (s->db);
    if (s->lock >= 0)
        (void)close (s->lock);
    free (s);
}

bool spool_knows (struct spool *s, const char *capture_path,
                  const char *fingerprint)
{
    sqlite3_stmt *st = NULL;
    bool known = false;

    if (db_prepare (s->db, "SELECT 1 FROM sealed WHERE capture_path=?1 AND "
                           "fingerprint=?2", &st, NULL) == 0) {
        db_bind_text (st, 1, capture_path);
        db_bind_text (st, 2, fingerprint);
        known = sqlite3_step (st) == SQLITE_ROW;
    }
    (void)sqlite3_finalize (st);
    return known;
}

int spool_temp (struct spool *s, char path[PATH_MAX], struct err *err)
{
    int n = snprintf (path, PATH_MAX, "%s/shipment-%ld-%u", s->dir,
                      (long)getpid (), s->temps++);

    if (n < 0 || n >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", s->dir);
    return 0;
}

static int add_item (struct spool *s, const struct spool_item *item,
                     struct err *err)
{
    (void)sqlite3_bind_int (s->add, 1, (int)item->kind);
    (void)sqlite3_bind_int64 (s->add, 2, item->rank);
    db_bind_text (s->add, 3, item->capture);
    db_bind_text (s->add, 4, item->path);
    db_bind_text (s->add, 5, item->file);
    (void)sqlite3_bind_int64 (s->add, 6, (int64_t)item->size);
    (void)sqlite3_bind_blob (s->add, 7, item->content.bytes, DIGEST_SIZE,
                             SQLITE_TRANSIENT);
    return db_run (s->add, err);
}

int spool_seal (struct spool *s, const char *capture_path,
                const char *fingerprint, const struct spool_item *items,
                size_t n, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = fileio_sync_dir (s->dir, err);

    if (rc == 0)
        rc = db_exec (s->db, "BEGIN IMMEDIATE", err);
    if (rc < 0)
        return rc;
    rc = db_prepare (s->db, "INSERT OR IGNORE INTO sealed VALUES (?1,?2)",
                     &st, err);
    if (rc == 0) {
        db_bind_text (st, 1, capture_path);
        db_bind_text (st, 2, fingerprint);
        rc = db_run (st, err);
    }
    (void)sqlite3_finalize (st);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_item (s, &items[i], err);
    if (rc == 0)
        rc = db_exec (s->db, "COMMIT", err);
    if (rc < 0)
        (void)sqlite3_exec (s->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static void copy_column (char *out, size_t max, sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text (st, column);

    (void)snprintf (out, max, "%s", text ? text : "");
}

int spool_next (struct spool *s, uint64_t id, struct spool_item *ret,
                struct err *err)
{
    sqlite3_stmt *st = s->next;
    int rc = 0;

    (void)sqlite3_bind_int64 (st, 1, (int64_t)id);
    switch (sqlite3_step (st)) {
    case SQLITE_ROW:
        memset (ret, 0, sizeof (*ret));
        ret->id = (uint64_t)sqlite3_column_int64 (st, 0);
        ret->kind = (enum item_kind)sqlite3_column_int (st, 1);
        ret->rank = sqlite3_column_int64 (st, 2);
        copy_column (ret->capture, sizeof (ret->capture), st, 3);
        copy_column (ret->path, sizeof (ret->path), st, 4);
        copy_column (ret->file, sizeof (ret->file), st, 5);
        ret->size = (uint64_t)sqlite3_column_int64 (st, 6);
        if (sqlite3_column_bytes (st, 7) == DIGEST_SIZE)
            memcpy (ret->content.bytes, sqlite3_column_blob (st, 7),
                    DIGEST_SIZE);
        rc = 1;
        break;
    case SQLITE_DONE:
        break;
    default:
        rc = db_error (s->db, "spool", err);
    }
    (void)sqlite3_reset (st);
    return rc;
}

static int set_state (struct spool *s, uint64_t id, const char *state,
                      const char *why, struct err *err)
{
    (void)sqlite3_bind_int64 (s->set, 1, (int64_t)id);
    db_bind_text (s->set, 2, state);
    db_bind_text (s->set, 3, why);
    return db_run (s->set, err);
}

int spool_durable (struct spool *s, const struct spool_item *item,
                   struct err *err)
{
    int rc = set_state (s, item->id, "durable", NULL, err);

    if (rc == 0 && item->kind == ITEM_ROWS)
        (void)unlink (item->file);
    return rc;
}

int spool_gone (struct spool *s, uint64_t id, const char *why,
                struct err *err)
{
    return set_state (s, id, "gone", why, err);
}

uint64_t spool_undelivered (struct spool *s)
{
    return (uint64_t)db_int (s->db, "SELECT count(*) FROM item WHERE "
                                    "state='sealed'", 0);
}

bool spool_has_rank (struct spool *s, int64_t rank)
{
    char sql[128];

    (void)snprintf (sql, sizeof (sql), "SELECT 1 FROM item WHERE rank=%lld "
                    "LIMIT 1", (long long)rank);
    return db_int (s->db, sql, 0) == 1;
}

int spool_keep_said (struct spool *s, int64_t rank, const char *type,
                     const char *packet, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (s->db, "INSERT OR REPLACE INTO said VALUES "
                                "(?1,?2,?3)", &st, err);

    if (rc == 0) {
        (void)sqlite3_bind_int64 (st, 1, rank);
        db_bind_text (st, 2, type);
        db_bind_text (st, 3, packet);
        rc = db_run (st, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int spool_each_said (struct spool *s,
                     void (*fn) (void *arg, int64_t rank, const char *packet),
                     void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int code, rc = db_prepare (s->db, "SELECT rank, packet FROM said ORDER BY "
                                      "type='hello' DESC, rank", &st, err);

    if (rc < 0)
        return rc;
    while ((code = sqlite3_step (st)) == SQLITE_ROW)
        fn (arg, sqlite3_column_int64 (st, 0),
            (const char *)sqlite3_column_text (st, 1));
    if (code != SQLITE_DONE)
        rc = db_error (s->db, "spool", err);
    (void)sqlite3_finalize (st);
    return rc;
}
