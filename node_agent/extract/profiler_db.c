/* node_agent/extract/profiler_db.c - databases that the profiler wrote
 *
 * Columns are selected by name, since viewers add some and old profilers lack
 * some.  The file is foreign: it is opened read-only and immutable, so that
 * nothing is ever written beside it, and SQLite is told to trust nothing in
 * its schema.  See doc/formats.md, "analysis.db of a capture".
 */
#include "extract/source.h"
#include "extract/watched.h"

#include "base/db.h"
#include "base/fileio.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_MAX 65536          // bytes of one value
#define SQL_MAX 2048

/* Pages of a damaged database, or of one that was made to harm, can be linked
 * so that it has rows without end, or columns have long defaults.  True rows
 * take more than 4 bytes each, give at most 4 times their bytes as text, and
 * take SQLite's machine some 2 steps for each byte.
 */
#define ROW_BYTES_LEAST 4
#define TEXT_OF_BYTE 4
#define STEPS_OF_BYTE 8
#define STEPS_LEAST 1000000     // for the schema
#define STEPS_AT_ONCE 1000

/* SQLite's lock bytes (its file format, "Locking"): PENDING, RESERVED and the
 * SHARED range follow each other.
 */
#define LOCK_FIRST 0x40000000
#define LOCK_BYTES 512

struct profiler_db {
    struct watched file;
    sqlite3 *sql;
    char copy[PATH_MAX];        // a private copy's directory, or ""
    uint64_t bad_utf8, long_texts;          // in the table that is read
    uint64_t size;              // bytes, with its journal
    uint64_t rows, text, steps; // taken up to now
};

static bool column_optional (enum table_id table, unsigned column)
{
    return table == TABLE_STEP &&
           (column == STEP_DEVICE || column == STEP_PREPARING);
}

/* The size of the file "<database><suffix>", -1 if there is none. */
static off_t sibling_size (const struct profiler_db *db, const char *suffix)
{
    char name[NAME_MAX + 1];
    struct stat st;
    int n = snprintf (name, sizeof (name), "%s%s", db->file.name, suffix);

    if (n < 0 || (size_t)n >= sizeof (name) ||
        fstatat (db->file.dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return st.st_size;
}

static bool is_locked (int fd)
{
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET,
                          .l_start = LOCK_FIRST, .l_len = LOCK_BYTES };

    return fcntl (fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

static int copy_file (int dir, const char *name, const char *to,
                      struct err *err)
{
    char block[65536], path[PATH_MAX];
    int in = fileio_open_at (dir, name, err), out, rc = 0;

    if (in < 0)
        return in == -ENOENT ? err_set (err, ENOENT, "%s vanished", name) : in;
    out = fileio_join (path, sizeof (path), to, name)
              ? open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
              : -1;
    if (out < 0) {
        (void)close (in);
        return err_sys (err, errno, "cannot copy %s to %s", name, to);
    }
    for (ssize_t n; rc == 0 && (n = read (in, block, sizeof (block))) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        rc = n < 0 ? -errno : fileio_write_all (out, block, (size_t)n);
    }
    if (rc < 0)
        (void)err_sys (err, -rc, "cannot copy %s to %s", name, to);
    (void)close (in);
    (void)close (out);
    return rc;
}

/* A database with a write-ahead log is read from a private copy, where SQLite
 * may recover it without touching the capture.
 */
static int make_copy (struct profiler_db *db, struct err *err)
{
    const char *tmp = getenv ("TMPDIR");
    char wal[NAME_MAX + 1];
    int rc;

    (void)snprintf (db->copy, sizeof (db->copy), "%s/rollcall-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp (db->copy)) {
        rc = err_sys (err, errno, "cannot make directory %s", db->copy);
        db->copy[0] = '\0';
        return rc;
    }
    (void)snprintf (wal, sizeof (wal), "%.200s-wal", db->file.name);
    if ((rc = copy_file (db->file.dir, db->file.name, db->copy, err)) < 0)
        return rc;
    return copy_file (db->file.dir, wal, db->copy, err);
}

static int count_steps (void *arg)
{
    struct profiler_db *db = arg;

    db->steps += STEPS_AT_ONCE;
    return db->steps > STEPS_LEAST + STEPS_OF_BYTE * db->size;
}

/* file:<path>?mode=ro&immutable=1, with what a URI cannot hold escaped. */
static int open_uri (struct profiler_db *db, const char *path, bool immutable,
                     struct err *err)
{
    char uri[3 * PATH_MAX + 64];
    size_t used = (size_t)snprintf (uri, sizeof (uri), "file:");
    int rc;

    for (const char *p = path; *p; p++) {
        if (strchr ("%?#", *p))
            used += (size_t)snprintf (uri + used, 4, "%%%02X",
                                      (unsigned char)*p);
        else
            uri[used++] = *p;
    }
    (void)snprintf (uri + used, sizeof (uri) - used, "%s",
                    immutable ? "?mode=ro&immutable=1" : "?mode=rw");
    rc = sqlite3_open_v2 (uri, &db->sql,
                          (immutable ? SQLITE_OPEN_READONLY
                                     : SQLITE_OPEN_READWRITE) |
                              SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                          NULL);
    if (rc != SQLITE_OK)
        return err_set (err, EBADMSG, "%s: cannot open: %s", db->file.name,
                        db->sql ? sqlite3_errmsg (db->sql) : "no memory");
    db_distrust (db->sql);
    sqlite3_progress_handler (db->sql, STEPS_AT_ONCE, count_steps, db);
    (void)sqlite3_limit (db->sql, SQLITE_LIMIT_LENGTH, 1 << 20);
    (void)sqlite3_limit (db->sql, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_exec (db->sql, "PRAGMA cell_size_check=ON", NULL, NULL,
                        NULL);
    return 0;
}

static int open_here (struct profiler_db *db, struct err *err)
{
    const char *name = db->file.name;
    char link[64], path[PATH_MAX];
    ssize_t n;

    db->size = (uint64_t)db->file.st.st_size;
    if (is_locked (db->file.fd))        // a live writer has a journal too
        return err_set (err, EBADMSG, "%s is locked by a writer: is its "
                        "analysis still running?", name);
    if (sibling_size (db, "-journal") > 0)
        return err_set (err, EBADMSG, "%s-journal is left of an unfinished "
                        "transaction: analyse the capture again", name);
    if (sibling_size (db, "-wal") > 0) {
        int rc = make_copy (db, err);

        db->size += (uint64_t)sibling_size (db, "-wal");
        if (rc < 0)
            return rc;
        if (!fileio_join (path, sizeof (path), db->copy, name))
            return err_set (err, ENAMETOOLONG, "%s: path is too long", name);
        return open_uri (db, path, false, err);
    }
    (void)snprintf (link, sizeof (link), "/proc/self/fd/%d", db->file.fd);
    if ((n = readlink (link, path, sizeof (path) - 1)) < 0)
        return err_sys (err, errno, "cannot resolve %s", name);
    path[n] = '\0';
    return open_uri (db, path, true, err);
}

enum reading profiler_db_open (struct source *src, const char *name,
                               struct profiler_db **ret, struct err *err)
{
    struct profiler_db *db = calloc (1, sizeof (*db));
    enum reading how;

    if (!db) {
        src->stopped = err_set (err, ENOMEM, "no memory to read %s", name);
        return READING_STOPPED;
    }
    how = watched_open (&db->file, src->out, name, err);
    if (how == READING_WHOLE && open_here (db, err) < 0)
        how = READING_DAMAGED;
    if (how != READING_WHOLE) {
        profiler_db_close (db);
        return how;
    }
    *ret = db;
    return READING_WHOLE;
}

void profiler_db_close (struct profiler_db *db)
{
    if (!db)
        return;
    (void)sqlite3_close (db->sql);
    watched_close (&db->file);
    if (db->copy[0])
        (void)fileio_remove_tree (db->copy, NULL);
    free (db);
}

static enum reading endless (struct profiler_db *db, struct err *err)
{
    (void)err_set (err, EBADMSG, "%s: it gives more than its %llu bytes can "
                   "hold", db->file.name, (unsigned long long)db->size);
    return READING_DAMAGED;
}

static enum reading damaged (struct profiler_db *db, struct err *err)
{
    if (sqlite3_errcode (db->sql) == SQLITE_INTERRUPT)
        return endless (db, err);
    (void)err_set (err, EBADMSG, "%s: %s", db->file.name,
                   sqlite3_errmsg (db->sql));
    return READING_DAMAGED;
}

/* Which of the table's columns there are; READING_ABSENT without the table. */
static enum reading find_columns (struct profiler_db *db,
                                  const struct table *t, bool *have,
                                  struct err *err)
{
    static const char sql[] =
        "SELECT i.name FROM pragma_table_list(?1) t, pragma_table_info(t.name) "
        "i WHERE t.type='table' AND t.schema='main'";
    sqlite3_stmt *st = NULL;
    bool any = false;
    int rc;

    if (sqlite3_prepare_v2 (db->sql, sql, -1, &st, NULL) != SQLITE_OK)
        return damaged (db, err);
    (void)sqlite3_bind_text (st, 1, t->name, -1, SQLITE_STATIC);
    while ((rc = sqlite3_step (st)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text (st, 0);

        any = true;
        for (unsigned c = 0; name && c < t->ncolumns; c++) {
            if (sqlite3_stricmp (name, t->columns[c].name) == 0)
                have[c] = true;
        }
    }
    (void)sqlite3_finalize (st);
    if (rc != SQLITE_DONE)
        return damaged (db, err);
    return any ? READING_WHOLE : READING_ABSENT;
}

static enum reading prepare (struct profiler_db *db, enum table_id table,
                             sqlite3_stmt **ret, struct err *err)
{
    const struct table *t = schema_table (table);
    bool have[TABLE_COLUMNS_MAX] = { false };
    char sql[SQL_MAX];
    size_t used = (size_t)snprintf (sql, sizeof (sql), "SELECT ");
    enum reading how = find_columns (db, t, have, err);

    if (how != READING_WHOLE)
        return how;
    for (unsigned c = 0; c < t->ncolumns; c++) {
        if (!have[c] && !column_optional (table, c)) {
            err_set (err, EBADMSG, "%s: table %s has no column %s",
                     db->file.name, t->name, t->columns[c].name);
            return READING_DAMAGED;
        }
        used += (size_t)snprintf (sql + used, sizeof (sql) - used, "%s%s%s%s",
                                  c ? "," : "", have[c] ? "\"" : "",
                                  have[c] ? t->columns[c].name : "NULL",
                                  have[c] ? "\"" : "");
    }
    (void)snprintf (sql + used, sizeof (sql) - used, " FROM \"%s\"", t->name);
    if (sqlite3_prepare_v2 (db->sql, sql, -1, ret, NULL) != SQLITE_OK)
        return damaged (db, err);
    return READING_WHOLE;
}

static bool is_ascii (const char *s, size_t n)
{
    unsigned char any = 0;

    for (size_t i = 0; i < n; i++)
        any |= (unsigned char)s[i];
    return any < 128;
}

/* The value is SQLite's own, unprotected: good until the next step, and in the
 * one thread that has this connection.
 */
static uint32_t take_text (struct profiler_db *db, sqlite3_value *v,
                           struct batch *b)
{
    const char *s = (const char *)sqlite3_value_text (v);
    size_t n = (size_t)sqlite3_value_bytes (v);
    uint32_t ref;
    char *fixed;

    if (!s)
        return BATCH_NULL_TEXT;
    db->text += n;
    if (n > TEXT_MAX) {
        db->long_texts++;
        n = TEXT_MAX;
    }
    if (is_ascii (s, n))
        return batch_text (b, s, n);
    if (!(fixed = malloc (3 * n))) {
        b->failed = true;
        return BATCH_NULL_TEXT;
    }
    n = utf8_repair (s, n, fixed, &db->bad_utf8);
    ref = batch_text (b, fixed, n < TEXT_MAX ? n : TEXT_MAX);
    free (fixed);
    return ref;
}

/* One row into the batch; false if a number is a text. */
static bool take_row (struct profiler_db *db, sqlite3_stmt *st,
                      const struct table *t, struct batch *b, struct err *err)
{
    for (unsigned c = 0; c < t->ncolumns; c++) {
        sqlite3_value *v = sqlite3_column_value (st, (int)c);
        int type = sqlite3_value_type (v);

        if (b->text[c]) {
            b->text[c][b->nrows] = take_text (db, v, b);
        } else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
            b->real[c][b->nrows] = sqlite3_value_double (v);
        } else if (type == SQLITE_NULL) {
            b->real[c][b->nrows] = NAN;
        } else {
            err_set (err, EBADMSG, "%s: %s.%s is not a number: \"%.40s\"",
                     db->file.name, t->name, t->columns[c].name,
                     (const char *)sqlite3_value_text (v));
            return false;
        }
    }
    return true;
}

static const unsigned step_columns[TABLE_COUNT] = {
    [TABLE_TIME] = TIME_STEP,     [TABLE_BANDWIDTH] = BW_STEP,
    [TABLE_MATRIX] = MATRIX_STEP, [TABLE_STEP] = STEP_STEP,
};

/* Keep the row that was just taken if its step is wanted. */
static bool keep_row (struct source *src, struct batch *b, struct err *err)
{
    const uint32_t *refs = b->text[step_columns[b->table]];
    uint32_t row = b->nrows;
    size_t n = 0;
    const char *step = batch_text_at (b, refs[row], &n);

    if (!steps_wanted (src->steps, step, n))
        return true;
    // most rows are of the same step as the row before
    if ((row == 0 || refs[row] != refs[row - 1]) &&
        !source_note_step (src, step ? step : "", n, err))
        return false;
    if (b->table == TABLE_STEP) {
        source_note_device (src, b->real[STEP_DEVICE][b->nrows]);
        src->communication_us += b->real[STEP_COMMUNICATION][b->nrows];
    }
    b->nrows++;
    return !batch_full (b) || source_flush (src, b, err);
}

static enum reading read_rows (struct profiler_db *db, struct source *src,
                               sqlite3_stmt *st, struct batch *b,
                               struct err *err)
{
    const struct table *t = schema_table (b->table);
    int rc;

    while ((rc = sqlite3_step (st)) == SQLITE_ROW) {
        if (!take_row (db, st, t, b, err))
            return source_flush (src, b, err) ? READING_DAMAGED
                                              : READING_STOPPED;
        if (++db->rows > db->size / ROW_BYTES_LEAST ||
            db->text > TEXT_OF_BYTE * db->size)
            return source_flush (src, b, err) ? endless (db, err)
                                              : READING_STOPPED;
        if (!keep_row (src, b, err))
            return READING_STOPPED;
    }
    if (rc != SQLITE_DONE)
        (void)damaged (db, err);
    if (!source_flush (src, b, rc == SQLITE_DONE ? err : NULL))
        return READING_STOPPED;
    if (rc != SQLITE_DONE)
        return READING_DAMAGED;
    if (db->bad_utf8 > 0) {
        err_set (err, EBADMSG, "%s: not valid UTF-8 (%llu bytes stored as "
                 "U+FFFD)", db->file.name, (unsigned long long)db->bad_utf8);
        return READING_DAMAGED;
    }
    if (db->long_texts > 0) {
        err_set (err, EBADMSG, "%s: %llu texts of %s are longer than %u bytes "
                 "and were cut", db->file.name,
                 (unsigned long long)db->long_texts, t->name, TEXT_MAX);
        return READING_DAMAGED;
    }
    return watched_verdict (&db->file, src, NULL, err);
}

enum reading profiler_db_read (struct profiler_db *db, struct source *src,
                               enum table_id table, struct err *err)
{
    sqlite3_stmt *st = NULL;
    struct batch b;
    enum reading how;
    int rc = batch_init (&b, table, err);

    if (rc < 0) {
        src->stopped = rc;
        return READING_STOPPED;
    }
    if (table == TABLE_STEP)
        src->communication_us = 0;
    db->bad_utf8 = db->long_texts = 0;
    how = prepare (db, table, &st, err);
    if (how == READING_WHOLE)
        how = read_rows (db, src, st, &b, err);
    (void)sqlite3_finalize (st);
    batch_fini (&b);
    return how;
}

enum reading profiler_db_rank (struct profiler_db *db, struct capture *c)
{
    static const char sql[] =
        "SELECT rankId, deviceId FROM RANK_DEVICE_MAP "
        "WHERE typeof(rankId)='integer' ORDER BY rowid LIMIT 1";
    enum reading how = READING_ABSENT;
    sqlite3_stmt *st = NULL;

    if (sqlite3_prepare_v2 (db->sql, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step (st) == SQLITE_ROW) {
        int64_t rank = sqlite3_column_int64 (st, 0);
        int64_t device = sqlite3_column_int64 (st, 1);

        if (rank >= 0 && rank < CAPTURE_WORLD_MAX)
            c->rank = rank;
        if (device >= 0)
            c->device_id = device;
        how = READING_WHOLE;
    }
    (void)sqlite3_finalize (st);
    return how;
}
