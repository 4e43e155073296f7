/* node_agent/spool/spool_ledger.c - the spool's database
 *
 * SQLite does not notice every flipped byte, so each row has a checksum of all
 * its members, made and compared by the SQL function row_sum.
 */
#include "spool/spool_private.h"

#include "base/counter.h"
#include "base/fault.h"
#include "base/wire.h"
#include "spool/manifest.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ROW_MAX (MANIFEST_MAX + (1u << 20))     // bytes of one row in its
                                        // checksum; a manifest is the most
#define WAL_BYTES_MAX "4194304" // of the journal, that a start has to read

static const char schema_sql[] =
    "CREATE TABLE capture (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " path TEXT NOT NULL, fingerprint TEXT NOT NULL, key INTEGER NOT NULL,"
    " name TEXT NOT NULL, rank INTEGER NOT NULL, state INTEGER NOT NULL,"
    " open INTEGER NOT NULL, sum INTEGER NOT NULL);"
    "CREATE INDEX capture_key ON capture(key);"
    "CREATE INDEX capture_rank ON capture(rank);"
    "CREATE INDEX capture_name ON capture(name, rank);"
    "CREATE INDEX capture_begun ON capture(id) WHERE state<3;"
    "CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " capture INTEGER NOT NULL, number INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, own INTEGER NOT NULL, path TEXT NOT NULL,"
    " size INTEGER NOT NULL, content BLOB NOT NULL, state INTEGER NOT NULL,"
    " at INTEGER NOT NULL, why TEXT NOT NULL, sum INTEGER NOT NULL);"
    "CREATE INDEX item_open ON item(kind, id) WHERE state<6;"
    "CREATE INDEX item_durable ON item(id) WHERE state=6;"
    "CREATE TABLE chunks (item INTEGER, first INTEGER, hashes BLOB NOT NULL,"
    " sum INTEGER NOT NULL, PRIMARY KEY (item, first)) WITHOUT ROWID;"
    "CREATE TABLE tally (kind INTEGER, state INTEGER, items INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, sum INTEGER NOT NULL,"
    " PRIMARY KEY (kind, state)) WITHOUT ROWID;"
    // captures that may be removed; spool/release_rows.h has the states
    "CREATE TABLE release (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " path TEXT NOT NULL UNIQUE, first_item INTEGER NOT NULL,"
    " last_item INTEGER NOT NULL, sealed_ns INTEGER NOT NULL,"
    " manifest BLOB NOT NULL, state INTEGER NOT NULL, sum INTEGER NOT NULL);"
    "CREATE INDEX release_state ON release(state, id);"
    "CREATE TABLE said (rank INTEGER, type TEXT, packet TEXT NOT NULL,"
    " sum INTEGER NOT NULL, PRIMARY KEY (rank, type));"
    "CREATE TABLE note (name TEXT PRIMARY KEY, text TEXT NOT NULL,"
    " sum INTEGER NOT NULL);";

/* row_sum(...): the first 64 bits of the SHA-256 of all arguments, each with
 * its type and size.  NULL, which no row has, of more than ROW_MAX.
 */
static void row_sum (sqlite3_context *c, int n, sqlite3_value **v)
{
    struct buf b;
    struct digest d;
    uint64_t sum = 0;

    buf_init (&b, ROW_MAX);
    for (int i = 0; i < n; i++) {
        int type = sqlite3_value_type (v[i]);

        wire_put_u8 (&b, (uint8_t)type);
        if (type == SQLITE_INTEGER) {
            wire_put_i64 (&b, sqlite3_value_int64 (v[i]));
        } else if (type != SQLITE_NULL) {
            const void *bytes = sqlite3_value_blob (v[i]);
            size_t size = (size_t)sqlite3_value_bytes (v[i]);

            wire_put_u32 (&b, (uint32_t)size);
            if (size > 0)
                buf_put (&b, bytes, size);
        }
    }
    if (b.failed) {
        sqlite3_result_null (c);
    } else if (digest_of (b.data, b.size, &d) < 0) {
        sqlite3_result_error_nomem (c);
    } else {
        for (int i = 0; i < 8; i++)
            sum = sum << 8 | d.bytes[i];
        sqlite3_result_int64 (c, (int64_t)sum);
    }
    buf_fini (&b);
}

/* is_one_capture(PATH, PATH): of one name and rank they are versions of one. */
static void is_one_capture (sqlite3_context *c, int n, sqlite3_value **v)
{
    const struct spool *s = sqlite3_user_data (c);
    const char *a = (const char *)sqlite3_value_text (v[0]);
    const char *b = (const char *)sqlite3_value_text (v[1]);
    char at[2][MESSAGE_PLACE_MAX] = { "", "" };

    (void)n;
    if (*s->host && a && b) {
        spool_place (s->host, a, at[0]);
        spool_place (s->host, b, at[1]);
    }
    sqlite3_result_int (c, strcmp (at[0], at[1]) == 0);
}

/* is_gone(PATH): nothing is there. */
static void is_gone (sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *path = (const char *)sqlite3_value_text (v[0]);
    struct stat st;

    (void)n;
    sqlite3_result_int (c, path && lstat (path, &st) < 0 && errno == ENOENT);
}

/* ---- damage ---- */

/* Our statements are right, and our tables were. */
static bool is_damage (int code)
{
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
           code == SQLITE_ERROR || code == SQLITE_MISMATCH ||
           code == SQLITE_CONSTRAINT || code == SQLITE_TOOBIG;
}

/* Whoever meets damage first says so: it is remembered, and a ledger that is in
 * use is condemned.
 */
static void remember_damage (struct spool *s, const char *why)
{
    if (*s->damage)
        return;
    (void)snprintf (s->damage, sizeof (s->damage), "%.200s: %.300s", s->dir,
                    why);
    if (s->in_use)
        spool_mark_damaged (s, why);
}

int ledger_fail (struct spool *s, int rc, const char *why, struct err *err)
{
    if (rc == -EBADMSG)
        remember_damage (s, why);
    return err_sys (err, -rc, "%s: %s", s->dir, why);
}

/* The result of a statement, of which the caller may not say how it ended. */
static void look_for_damage (struct spool *s, int code)
{
    if (is_damage (code & 0xff))
        remember_damage (s, sqlite3_errmsg (s->db));
}

int ledger_error (struct spool *s, struct err *err)
{
    int code = sqlite3_errcode (s->db);
    int rc = db_error (s->db, s->dir, err);

    look_for_damage (s, code);
    return is_damage (code) ? -EBADMSG : rc;
}

/* ---- statements ---- */

/* Parsing SQL would be a fifth of the agent's work: what has ended stays with
 * the connection, and is found there by its text.
 */
sqlite3_stmt *spool_ledger_prepare (struct spool *s, const char *sql,
                                    struct err *err)
{
    sqlite3_stmt *st = NULL;

    while ((st = sqlite3_next_stmt (s->db, st))) {
        if (!sqlite3_stmt_busy (st) && strcmp (sqlite3_sql (st), sql) == 0)
            return st;
    }
    if (sqlite3_prepare_v3 (s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st,
                            NULL) != SQLITE_OK)
        (void)ledger_error (s, err);
    return st;
}

void spool_ledger_end (struct spool *s, sqlite3_stmt *st)
{
    if (st) {
        look_for_damage (s, sqlite3_reset (st));
        (void)sqlite3_clear_bindings (st);
    }
}

int ledger_run (struct spool *s, sqlite3_stmt *st, struct err *err)
{
    int code;

    if (!st)
        return ledger_error (s, NULL);  // of preparing; 'err' has it
    while ((code = sqlite3_step (st)) == SQLITE_ROW)
        ;
    spool_ledger_end (s, st);
    return code == SQLITE_DONE ? 0 : ledger_error (s, err);
}

int ledger_find (struct spool *s, sqlite3_stmt *st, uint64_t *id,
                 struct err *err)
{
    int code;

    if (!st)
        return ledger_error (s, NULL);  // of preparing; 'err' has it
    if ((code = sqlite3_step (st)) == SQLITE_ROW)
        *id = (uint64_t)sqlite3_column_int64 (st, 0);
    spool_ledger_end (s, st);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return ledger_error (s, err);
    return code == SQLITE_ROW;
}

int64_t ledger_int (struct spool *s, const char *sql, int64_t fallback)
{
    sqlite3_stmt *st = spool_ledger_prepare (s, sql, NULL);
    int64_t v = fallback;

    if (st && sqlite3_step (st) == SQLITE_ROW)
        v = sqlite3_column_int64 (st, 0);
    spool_ledger_end (s, st);
    return v;
}

/* ---- tallies ---- */

static int tally_write (struct spool *s, int kind, int state, struct err *err)
{
    const struct spool_tally *t = &s->tally[kind][state];
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "INSERT OR REPLACE INTO tally VALUES (?1,?2,?3,?4,"
        "row_sum('t',?1,?2,?3,?4))", err);

    (void)sqlite3_bind_int (st, 1, kind);
    (void)sqlite3_bind_int (st, 2, state);
    (void)sqlite3_bind_int64 (st, 3, (int64_t)t->items);
    (void)sqlite3_bind_int64 (st, 4, (int64_t)t->bytes);
    return ledger_run (s, st, err);
}

static int tally_save (struct spool *s, struct err *err)
{
    int rc = 0;

    // rows that are out of order would be there twice
    if (s->recounted)
        rc = ledger_run (s, spool_ledger_prepare (s, "DELETE FROM tally", err),
                         err);
    for (int kind = 0; kind < SPOOL_KINDS; kind++) {
        for (int state = 0; state < SPOOL_STATES && rc == 0; state++) {
            if (s->recounted ||
                memcmp (&s->tally[kind][state], &s->saved[kind][state],
                        sizeof (struct spool_tally)) != 0)
                rc = tally_write (s, kind, state, err);
        }
    }
    return rc;
}

/* Rows of (kind, state, items, bytes, whether to be believed). */
static int tally_read (struct spool *s, const char *sql, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s, sql, err);
    int code;

    if (!st)
        return ledger_error (s, NULL);
    memset (s->tally, 0, sizeof (s->tally));
    while ((code = sqlite3_step (st)) == SQLITE_ROW) {
        int kind = sqlite3_column_int (st, 0);
        int state = sqlite3_column_int (st, 1);

        if (kind < 0 || kind >= SPOOL_KINDS || state < 0 ||
            state >= SPOOL_STATES || !sqlite3_column_int (st, 4))
            continue;           // the count comes out wrong: counted again
        s->tally[kind][state].items = (uint64_t)sqlite3_column_int64 (st, 2);
        s->tally[kind][state].bytes = (uint64_t)sqlite3_column_int64 (st, 3);
    }
    spool_ledger_end (s, st);
    return code == SQLITE_DONE ? 0 : ledger_error (s, err);
}

int tally_load (struct spool *s, struct err *err)
{
    int64_t bad = ledger_int (s, "SELECT count(*) FROM tally WHERE sum IS NOT "
                              "row_sum('t', kind, state, items, bytes)", 1);
    int rc = bad ? tally_count (s, err)
                 : tally_read (s, "SELECT kind, state, items, bytes, 1 FROM "
                                  "tally", err);

    s->recounted = bad != 0;
    memcpy (s->saved, s->tally, sizeof (s->saved));
    return rc;
}

int tally_count (struct spool *s, struct err *err)
{
    // the sum of damaged sizes may be more than an integer
    return tally_read (s, "SELECT kind, state, count(*), "
                          "CAST(total(size) AS INTEGER), 1 FROM item "
                          "NOT INDEXED GROUP BY kind, state", err);
}

bool tally_is_true (struct spool *s)
{
    struct spool_tally told[SPOOL_KINDS][SPOOL_STATES];

    memcpy (told, s->tally, sizeof (told));
    return tally_count (s, NULL) == 0 &&
           memcmp (told, s->tally, sizeof (told)) == 0;
}

/* ---- transactions ---- */

int spool_ledger_begin (struct spool *s, struct err *err)
{
    if (sqlite3_exec (s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return ledger_error (s, err);
}

void spool_ledger_rollback (struct spool *s)
{
    (void)sqlite3_exec (s->db, "ROLLBACK", NULL, NULL, NULL);
    memcpy (s->tally, s->saved, sizeof (s->tally));
}

int spool_ledger_commit (struct spool *s, const char *point, struct err *err)
{
    int rc = item_advise (s, err);

    (void)point;                // in a build without fault points
    if (rc == 0)
        rc = tally_save (s, err);
    if (rc == 0 && (rc = FAULT (point)) < 0)
        rc = ledger_fail (s, rc, "cannot commit to the ledger", err);
    if (rc == 0 &&
        sqlite3_exec (s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        rc = ledger_error (s, err);
    if (rc < 0) {
        spool_ledger_rollback (s);
        return rc;
    }
    counter_add (COUNTER_COMMITS, 1);
    s->nadvice = 0;
    s->recounted = false;
    memcpy (s->saved, s->tally, sizeof (s->saved));
    return 0;
}

/* ---- opening ---- */

int ledger_create (struct spool *s, struct err *err)
{
    if (sqlite3_exec (s->db, schema_sql, NULL, NULL, NULL) != SQLITE_OK)
        return ledger_error (s, err);
    return db_execf (s->db, err, "PRAGMA user_version=%d", SPOOL_SCHEMA);
}

static int create_new (struct spool *s, struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc == 0)
        rc = ledger_create (s, err);
    return rc < 0 ? rc : spool_ledger_commit (s, "agent.spool.create.commit",
                                              err);
}

/* Nobody but us puts a file there: a directory, a link, another program's
 * database are damage.
 */
static bool is_file (const char *path)
{
    struct stat st;

    return lstat (path, &st) < 0 || S_ISREG (st.st_mode);
}

static int create_if_empty (struct spool *s, struct err *err)
{
    if (db_int (s->db, "SELECT count(*) FROM sqlite_schema", 0) > 0)
        return err_set (err, EBADMSG, "it is a database of another program");
    return create_new (s, err);
}

static int open_ledger (struct spool *s, struct err *err)
{
    char path[PATH_MAX];
    int64_t version;

    (void)snprintf (path, sizeof (path), "%s/%s", s->dir, SPOOL_LEDGER);
    if (!is_file (path))
        return err_set (err, EBADMSG, "it is no regular file");
    if (!db_lets_write (path))
        return err_set (err, EBADMSG, "its header is damaged");
    if (sqlite3_open_v2 (path, &s->db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                             SQLITE_OPEN_NOMUTEX,
                         NULL) != SQLITE_OK)
        return db_error (s->db, path, err);
    db_harden (s->db);
    if (sqlite3_create_function (s->db, "row_sum", -1,
                                 SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                 row_sum, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function (s->db, "is_gone", 1, SQLITE_UTF8, NULL,
                                 is_gone, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function (s->db, "is_one_capture", 2, SQLITE_UTF8, s,
                                 is_one_capture, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec (s->db, "PRAGMA locking_mode=EXCLUSIVE;"
                      "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;"
                      "PRAGMA journal_size_limit=" WAL_BYTES_MAX, NULL, NULL,
                      NULL) != SQLITE_OK)
        return ledger_error (s, err);
    version = db_int (s->db, "PRAGMA user_version", INT64_MIN);
    if (version == INT64_MIN)
        return ledger_error (s, err);
    if (version < 0)
        return err_set (err, EBADMSG, "its version is %lld",
                        (long long)version);
    if (version == 0)
        return create_if_empty (s, err);
    if (version != SPOOL_SCHEMA)
        return err_set (err, ENOTSUP, "%s is of another version of rollcall: "
                        "its version is %lld, not %d", path,
                        (long long)version, SPOOL_SCHEMA);
    return tally_load (s, err);
}

int spool_ledger_open (struct spool *s, struct err *err)
{
    char path[PATH_MAX];
    int rc = open_ledger (s, err);

    (void)snprintf (path, sizeof (path), "%s/%s", s->dir, SPOOL_LEDGER);
    if (rc == 0)
        db_there_note (&s->there, path);
    return rc;
}

void spool_ledger_close (struct spool *s)
{
    sqlite3_stmt *st;

    while (s->db && (st = sqlite3_next_stmt (s->db, NULL)))
        (void)sqlite3_finalize (st);
    db_close_there (&s->there, s->db);
    s->db = NULL;
}
