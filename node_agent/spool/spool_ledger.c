/* node_agent/spool/spool_ledger.c - the spool's database
 *
 * SQLite misses some flipped bytes, so each row has a checksum of all its
 * members, computed and compared by the SQL function row_sum.
 */
#include "spool/spool_private.h"

#include "store/row_sum.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define WAL_BYTES_MAX "4194304" // of the journal, which a start must read

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
    " at INTEGER NOT NULL, why TEXT NOT NULL, sum INTEGER NOT NULL,"
    " mode INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"
    " uid INTEGER NOT NULL, gid INTEGER NOT NULL);"
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

/* is_one_capture(PATH, PATH): versions of one capture, by name and rank. */
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

/* is_gone(PATH): nothing exists there. */
static void is_gone (sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *path = (const char *)sqlite3_value_text (v[0]);
    struct stat st;

    (void)n;
    sqlite3_result_int (c, path && lstat (path, &st) < 0 && errno == ENOENT);
}

/* ---- damage ---- */

/* Our statements are valid and our tables were: such an error is damage. */
static bool is_damage (int code)
{
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
           code == SQLITE_ERROR || code == SQLITE_MISMATCH ||
           code == SQLITE_CONSTRAINT || code == SQLITE_TOOBIG;
}

/* Record damage when it is first found, and condemn a ledger in use. */
static void remember_damage (struct spool *s, const char *why)
{
    if (*s->damage)
        return;
    PRINT (s->damage, "%.200s: %.300s", s->dir, why);
    if (s->in_use)
        spool_mark_damaged (s, why);
}

int ledger_fail (struct spool *s, int rc, const char *why, struct err *err)
{
    if (rc == -EBADMSG)
        remember_damage (s, why);
    return err_sys (err, -rc, "%s: %s", s->dir, why);
}

/* Record the error of a statement whose caller may ignore it. */
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

static int fail (void *arg, struct err *err)
{
    return ledger_error (arg, err);
}

/* Parsing SQL would be a fifth of the agent's work: statements are kept. */
struct db_rows spool_rows_of (struct spool *s, struct err *err,
                              const struct db_value *values)
{
    struct db_rows r = { .err = err, .kept = true, .fail = fail, .arg = s };

    db_begin (&r, s->db, values);
    return r;
}

/* ---- opening ---- */

/* Nobody else puts files there, so a directory, a link or another program's
 * database is damage.
 */
static bool is_file (const char *path)
{
    struct stat st;

    return lstat (path, &st) < 0 || S_ISREG (st.st_mode);
}

int spool_ledger_connect (struct spool *s, bool *empty, struct err *err)
{
    char path[PATH_MAX];
    int64_t version;

    PRINT (path, "%s/%s", s->dir, SPOOL_LEDGER);
    if (!is_file (path))
        return err_set (err, EBADMSG, "it is not a regular file");
    if (sqlite3_open_v2 (path, &s->db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                             SQLITE_OPEN_NOMUTEX,
                         NULL) != SQLITE_OK)
        return db_error (s->db, path, err);
    if (!db_lets_write (s->db))
        return err_set (err, EBADMSG, "its header is damaged");
    db_harden (s->db);
    if (row_sum_register (s->db) != SQLITE_OK ||
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
    *empty = version == 0;
    if (*empty && db_int (s->db, "SELECT count(*) FROM sqlite_schema", 0) > 0)
        return err_set (err, EBADMSG, "it is a database of another program");
    if (!*empty && version != SPOOL_SCHEMA)
        return err_set (err, ENOTSUP, "%s is of another version of rollcall: "
                        "its version is %lld, not %d", path,
                        (long long)version, SPOOL_SCHEMA);
    return 0;
}

int ledger_create (struct spool *s, struct err *err)
{
    if (sqlite3_exec (s->db, schema_sql, NULL, NULL, NULL) != SQLITE_OK)
        return ledger_error (s, err);
    return db_execf (s->db, err, "PRAGMA user_version=%d", SPOOL_SCHEMA);
}

void spool_ledger_close (struct spool *s)
{
    db_close_kept (s->db);
    db_close_there (&s->there, s->db);
    s->db = NULL;
}
