/* node_agent/extract/input/profiler_db.c - open a database that the profiler
 * wrote
 *
 * The file is not trusted: it is opened read-only and immutable, so that
 * nothing is written beside it, and SQLite is configured not to trust its
 * schema.
 */
#include "extract/input/profiler_db.h"

#include "base/units.h"
#include "base/utf8.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_MAX 65536          // bytes of a value

/* Pages of a damaged or malicious database can be linked so that it has rows
 * without end.  For valid ones SQLite needs about 2 steps for each byte.
 */
#define STEPS_OF_BYTE 8
#define STEPS_LEAST 1000000     // for the schema
#define STEPS_AT_ONCE 1000

#define SCHEMA_KEY_MAX 128      // bytes of the names of a table and a column

/* The lock bytes of SQLite ("Database File Format", "Locking"): PENDING,
 * RESERVED and the SHARED range are adjacent.
 */
#define LOCK_FIRST 0x40000000
#define LOCK_BYTES 512

/* Constants of a write-ahead log ("The WAL File Format").  The last bit of the
 * magic number is the byte order of checksums.
 */
#define LOG_MAGIC 0x377f0682u
#define LOG_HEAD 32u
#define LOG_HEAD_SALT 16u
#define LOG_FRAME 24u
#define LOG_FRAME_SALT 8u
#define LOG_PAGE_LEAST 512

/* The size of the file "<database><suffix>"; -1: there is none. */
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

/* Copy a database with a write-ahead log, so that SQLite can recover the copy
 * without changing the capture.
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
    return db->steps > STEPS_LEAST + db->steps_of_byte * db->size;
}

/* Record an error of SQLite that may be of the disk or of this process. */
static void note_hindered (const struct profiler_db *db)
{
    int code = db->sql ? sqlite3_errcode (db->sql) & 0xff : SQLITE_NOMEM;

    if (code == SQLITE_NOMEM)
        source_transient_error (db->file.src, -ENOMEM);
    else if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
        source_transient_error (db->file.src, -sqlite3_system_errno (db->sql));
}

/* Open file:<path>?mode=ro&immutable=1, with the path escaped for a URI. */
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
    note_hindered (db);
    if (rc != SQLITE_OK)
        return err_set (err, EBADMSG, "%s: cannot open: %s", db->file.name,
                        db->sql ? sqlite3_errmsg (db->sql) : "no memory");
    db_harden (db->sql);
    sqlite3_progress_handler (db->sql, STEPS_AT_ONCE, count_steps, db);
    (void)sqlite3_limit (db->sql, SQLITE_LIMIT_LENGTH, 1 << 20);
    (void)sqlite3_limit (db->sql, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_exec (db->sql, "PRAGMA cell_size_check=ON", NULL, NULL,
                        NULL);
    return 0;
}

static uint32_t big_endian (const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

/* How many frames of a write-ahead log belong to its header, damaged or not;
 * those left by a reset have another salt.  1 if the header is invalid.
 */
static int64_t log_frames (const char *path)
{
    uint8_t head[LOG_HEAD], frame[LOG_FRAME];
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    off_t page = 0, at = LOG_HEAD;
    int64_t n = 0;

    if (fd < 0)
        return 1;
    if (pread (fd, head, sizeof (head), 0) == (ssize_t)sizeof (head) &&
        big_endian (head) >> 1 == LOG_MAGIC >> 1)
        page = big_endian (head + 8);
    while (page >= LOG_PAGE_LEAST &&
           pread (fd, frame, sizeof (frame), at) == (ssize_t)sizeof (frame) &&
           memcmp (frame + LOG_FRAME_SALT, head + LOG_HEAD_SALT, 8) == 0) {
        at += LOG_FRAME + page;
        n++;
    }
    (void)close (fd);
    return page >= LOG_PAGE_LEAST ? n : 1;
}

/* Check the log: SQLite silently ignores everything after the first damaged
 * frame, and returns older content.
 */
static int check_log (struct profiler_db *db, const char *path,
                      struct err *err)
{
    char log[PATH_MAX + 8];
    int64_t frames;
    int read = -1, moved;

    (void)snprintf (log, sizeof (log), "%s-wal", path);
    frames = log_frames (log);
    // SQLite reads the log when it reads the first page
    (void)sqlite3_exec (db->sql, "PRAGMA schema_version", NULL, NULL, NULL);
    if (sqlite3_wal_checkpoint_v2 (db->sql, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                   &read, &moved) != SQLITE_OK ||
        read < 0 || frames <= read)
        return 0;               // it has no log, or nothing is lost
    return err_set (err, EBADMSG, "%s-wal is damaged, or left of an unfinished "
                    "transaction: analyse the capture again", db->file.name);
}

/* Whether nobody is writing to the file. */
static int check_file (struct profiler_db *db, struct err *err)
{
    const char *name = db->file.name;
    off_t log = sibling_size (db, "-wal");

    db->size = (uint64_t)db->file.st.st_size;
    if (is_locked (db->file.fd))        // an active writer has a journal, too
        return err_set (err, EBADMSG, "%s is locked by a writer: is its "
                        "analysis still running?", name);
    if (sibling_size (db, "-journal") > 0)
        return err_set (err, EBADMSG, "%s-journal is left of an unfinished "
                        "transaction: analyse the capture again", name);
    db->has_log = log > 0;
    db->size += db->has_log ? (uint64_t)log : 0;
    return 0;
}

static int open_sql (struct profiler_db *db, struct err *err)
{
    const char *name = db->file.name;
    char link[64], path[PATH_MAX];
    ssize_t n;

    if (db->has_log) {
        int rc = make_copy (db, err);

        if (rc < 0)
            return rc;
        if (!fileio_join (path, sizeof (path), db->copy, name))
            return err_set (err, ENAMETOOLONG, "%s: path is too long", name);
        rc = open_uri (db, path, false, err);
        return rc < 0 ? rc : check_log (db, path, err);
    }
    (void)snprintf (link, sizeof (link), "/proc/self/fd/%d", db->file.fd);
    if ((n = readlink (link, path, sizeof (path) - 1)) < 0)
        return err_sys (err, errno, "cannot resolve %s", name);
    path[n] = '\0';
    return open_uri (db, path, true, err);
}

enum reading profiler_db_connect (struct profiler_db *db, struct err *err)
{
    if (!db->connected) {
        int rc = open_sql (db, &db->why);

        source_transient_error (db->file.src, rc);
        db->connected = true;
        db->usable = rc == 0;
    }
    if (!db->usable && err)
        *err = db->why;
    return db->usable ? READING_WHOLE : READING_DAMAGED;
}

enum reading profiler_db_open_file (struct source *src, int dir,
                                    const char *name,
                                    struct profiler_db **ret, struct err *err)
{
    struct profiler_db *db = calloc (1, sizeof (*db));
    enum reading how;
    int rc;

    if (!db) {
        src->stopped = err_set (err, ENOMEM, "no memory to read %s", name);
        return READING_STOPPED;
    }
    db->steps_of_byte = STEPS_OF_BYTE;
    how = capture_file_open (&db->file, src, dir, name, err);
    if (how == READING_WHOLE && (rc = check_file (db, err)) < 0) {
        source_transient_error (src, rc);
        how = READING_DAMAGED;
    }
    if (how != READING_WHOLE) {
        profiler_db_close (db);
        return how;
    }
    *ret = db;
    return READING_WHOLE;
}

enum reading profiler_db_open (struct source *src, int dir, const char *name,
                               struct profiler_db **ret, struct err *err)
{
    enum reading how = profiler_db_open_file (src, dir, name, ret, err);

    if (how != READING_WHOLE)
        return how;
    how = profiler_db_connect (*ret, err);
    if (how != READING_WHOLE) {
        profiler_db_close (*ret);
        *ret = NULL;
    }
    return how;
}

void profiler_db_close (struct profiler_db *db)
{
    if (!db)
        return;
    (void)sqlite3_close (db->sql);
    capture_file_close (&db->file);
    texts_fini (&db->schema);
    if (db->copy[0])
        (void)fileio_remove_tree (db->copy, NULL);
    free (db);
}

enum reading profiler_db_endless (struct profiler_db *db, struct err *err)
{
    (void)err_set (err, EBADMSG, "%s: it gives more than its %llu bytes can "
                   "hold", db->file.name, (unsigned long long)db->size);
    return READING_DAMAGED;
}

enum reading profiler_db_damaged (struct profiler_db *db, struct err *err)
{
    if (sqlite3_errcode (db->sql) == SQLITE_INTERRUPT)
        return profiler_db_endless (db, err);
    note_hindered (db);
    (void)err_set (err, EBADMSG, "%s: %s", db->file.name,
                   sqlite3_errmsg (db->sql));
    return READING_DAMAGED;
}

/* The key of a table or of its column in db->schema, in lower case.  Returns
 * its size; 0: it is too long for a name that is asked for.
 */
static size_t schema_key (char key[SCHEMA_KEY_MAX], const char *table,
                          const char *column)
{
    size_t ntable = strlen (table), ncolumn = strlen (column);
    size_t n = ntable + 1 + ncolumn;

    if (n > SCHEMA_KEY_MAX)
        return 0;
    memcpy (key, table, ntable + 1);
    memcpy (key + ntable + 1, column, ncolumn);
    for (size_t i = 0; i < n; i++) {
        if (key[i] >= 'A' && key[i] <= 'Z')
            key[i] |= 'a' - 'A';
    }
    return n;
}

/* Record all tables and their columns by one query. */
static enum reading load_schema (struct profiler_db *db, struct err *err)
{
    static const char sql[] =
        "SELECT t.name, i.name FROM pragma_table_list t, "
        "pragma_table_info(t.name) i WHERE t.type='table' AND t.schema='main'";
    char key[SCHEMA_KEY_MAX];
    const char *table, *column;
    enum reading how = profiler_db_connect (db, err);
    struct db_rows r;
    int rc;

    if (how != READING_WHOLE || db->has_schema)
        return how;
    r = db_rows (db->sql, NULL, sql);
    while (db_row (&r, table, column)) {
        size_t n = table && column ? schema_key (key, table, column) : 0;

        // with the column, and without
        if (n > 0 &&
            (texts_intern (&db->schema, key, n) == TEXTS_NONE ||
             texts_intern (&db->schema, key, strlen (key) + 1) == TEXTS_NONE))
            r.rc = -ENOMEM;
    }
    if ((rc = db_end (&r)) < 0) {
        how = profiler_db_damaged (db, err);
        source_transient_error (db->file.src, rc == -ENOMEM ? rc : 0);
    }
    db->has_schema = how == READING_WHOLE;
    return how;
}

static bool has_key (const struct profiler_db *db, const char *table,
                     const char *column)
{
    char key[SCHEMA_KEY_MAX];
    size_t n = schema_key (key, table, column);

    return n > 0 && texts_find (&db->schema, key, n) != TEXTS_NONE;
}

enum reading profiler_db_columns (struct profiler_db *db, const char *table,
                                  const char *const *names, unsigned n,
                                  bool *have, struct err *err)
{
    enum reading how = load_schema (db, err);

    if (how != READING_WHOLE)
        return how;
    for (unsigned c = 0; c < n; c++)
        have[c] = have[c] || has_key (db, table, names[c]);
    return has_key (db, table, "") ? READING_WHOLE : READING_ABSENT;
}

static bool is_ascii (const char *s, size_t n)
{
    uint64_t any = 0, word;

    for (; n >= sizeof (word); n -= sizeof (word), s += sizeof (word)) {
        memcpy (&word, s, sizeof (word));
        any |= word;
    }
    word = 0;
    memcpy (&word, s, n);
    return ((any | word) & UINT64_C (0x8080808080808080)) == 0;
}

uint32_t profiler_db_text (struct profiler_db *db, const char *s, size_t n,
                           struct batch *b)
{
    uint32_t ref = batch_known_text (b, s, n);
    char *fixed;

    db->text += n;
    if (ref != BATCH_NULL_TEXT)
        return ref;             // it is UTF-8, and short
    db->long_texts += n > TEXT_MAX;
    n = utf8_cut (s, n, TEXT_MAX);
    if (is_ascii (s, n))
        return batch_text (b, s, n);
    if (!(fixed = malloc (3 * n))) {
        b->failed = true;
        return BATCH_NULL_TEXT;
    }
    n = utf8_repair (s, n, fixed, &db->bad_utf8);
    ref = batch_text (b, fixed, utf8_cut (fixed, n, TEXT_MAX));
    free (fixed);
    return ref;
}

enum reading profiler_db_verdict (struct profiler_db *db, const char *table,
                                  struct err *err)
{
    if (db->bad_utf8 > 0) {
        err_set (err, EBADMSG, "%s: not valid UTF-8 (%llu byte%s stored as "
                 "U+FFFD)", db->file.name, (unsigned long long)db->bad_utf8,
                 units_s (db->bad_utf8));
        return READING_DAMAGED;
    }
    if (db->long_texts > 0) {
        err_set (err, EBADMSG, "%s: %llu text%s of %s had more than %u bytes, "
                 "and lost the rest", db->file.name,
                 (unsigned long long)db->long_texts, units_s (db->long_texts),
                 table, TEXT_MAX);
        return READING_DAMAGED;
    }
    return capture_file_verdict (&db->file, NULL, err);
}
