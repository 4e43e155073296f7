/* aggregator/catalogue/catalogue.c - open the catalogue of a root */
#include "catalogue/catalogue_private.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// how long a writer waits for another one, whose commits are small
#define BUSY_MS 2000
// no delivery waits for it, and a stamp must not outlive what it is a stamp of
#define PRAGMAS "PRAGMA synchronous=FULL;PRAGMA journal_mode=DELETE;" \
    "PRAGMA temp_store=MEMORY;PRAGMA secure_delete=ON"

/* ---- the file ---- */

/* A file that another user makes in the root would lock out its owner. */
static bool may_write (const char *root)
{
    struct stat st;

    return stat (root, &st) == 0 && st.st_uid == geteuid () &&
           access (root, W_OK) == 0;
}

static bool is_ours (sqlite3 *db)
{
    return db_int (db, "PRAGMA application_id", 0) ==
               CATALOGUE_APPLICATION_ID &&
           db_int (db, "PRAGMA user_version", 0) == CATALOGUE_VERSION;
}

static void close_db (struct catalogue *c)
{
    db_close_kept (c->db);
    (void)sqlite3_close (c->db);
    c->db = NULL;
    c->writing = false;
}

static int open_db (struct catalogue *c, const char *path, int flags,
                    struct err *err)
{
    if (sqlite3_open_v2 (path, &c->db, flags | SQLITE_OPEN_NOMUTEX |
                                           SQLITE_OPEN_NOFOLLOW, NULL) !=
        SQLITE_OK)
        return db_error (c->db, path, err);
    db_harden (c->db);
    (void)sqlite3_limit (c->db, SQLITE_LIMIT_LENGTH, CATALOGUE_TEXT_MAX);
    (void)sqlite3_db_config (c->db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
    (void)sqlite3_busy_timeout (c->db, BUSY_MS);
    return 0;
}

/* Two processes may find an empty file at once: the second one finds the tables
 * of the first.
 */
static int create_tables (struct catalogue *c, struct err *err)
{
    int rc = db_exec (c->db, "BEGIN IMMEDIATE", err);

    if (rc == 0 && db_int (c->db, "PRAGMA user_version", 0) == 0)
        rc = catalogue_create (c->db, err);
    return rc < 0 ? rc : db_exec (c->db, "COMMIT", err);
}

/* Open the file for writing, and make its tables if it is new.  -EBADMSG: it is
 * damaged, or of another version.
 */
static int open_file (struct catalogue *c, const char *path, struct err *err)
{
    int rc = open_db (c, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                      err);

    if (rc == 0)
        rc = db_exec (c->db, PRAGMAS, err);
    if (rc == 0 &&
        db_int (c->db, "SELECT count(*) FROM sqlite_schema", -1) == 0)
        rc = create_tables (c, err);
    if (rc == 0 && !is_ours (c->db))
        rc = err_set (err, EBADMSG, "%s is not a catalogue of this version",
                      path);
    return rc;
}

/* Nothing is lost with it.  Who has it open goes on with what it was. */
static void remove_file (const char *path)
{
    char journal[PATH_MAX];

    PRINT (journal, "%.*s-journal", PATH_MAX - 16, path);
    (void)unlink (path);
    (void)unlink (journal);
}

static bool is_damage (int rc)
{
    return rc == -EIO || rc == -EBADMSG;
}

/* With the file: once more with a new one if this one is damaged. */
static int use_file (struct catalogue *c, const char *path,
                     int (*fn) (struct catalogue *c, void *arg,
                                struct err *err), void *arg, struct err *err)
{
    int rc = -EIO;

    for (int i = 0; i < 2 && is_damage (rc); i++) {
        struct ledger_stamp stamp;

        if (i > 0 && c->ledger && ledger_stamp (c->ledger, &stamp, err) < 0)
            break;              // it is the ledger that cannot be read
        close_db (c);
        if (i > 0)
            remove_file (path);
        if ((rc = open_file (c, path, err)) == 0)
            rc = fn (c, arg, err);
        if (rc < 0 && c->writing)
            (void)sqlite3_exec (c->db, "ROLLBACK", NULL, NULL, NULL);
        c->writing = false;
    }
    return rc;
}

/* ---- in memory ---- */

static bool copy_from (struct catalogue *c, sqlite3 *file)
{
    sqlite3_backup *b = is_ours (file) ? sqlite3_backup_init (c->db, "main",
                                                              file, "main")
                                       : NULL;
    bool whole = b && sqlite3_backup_step (b, -1) == SQLITE_DONE;

    (void)sqlite3_backup_finish (b);
    return whole;
}

/* A database in memory, with what can be read of the file. */
static int use_memory (struct catalogue *c, const char *path, bool with_file,
                       struct err *err)
{
    sqlite3 *file = NULL;
    bool copied = false;
    int rc;

    close_db (c);
    if ((rc = open_db (c, ":memory:", SQLITE_OPEN_READWRITE, err)) < 0)
        return rc;
    if (with_file &&
        sqlite3_open_v2 (path, &file, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
        copied = copy_from (c, file);
    (void)sqlite3_close (file);
    if (!copied && with_file)   // a part of a copy is of no use
        return use_memory (c, path, false, err);
    if (!copied)
        rc = catalogue_create (c->db, err);
    return rc < 0 ? rc : catalogue_refresh (c, err);
}

static int refresh (struct catalogue *c, void *arg, struct err *err)
{
    (void)arg;
    return catalogue_refresh (c, err);
}

/* ---- opening ---- */

static struct catalogue *create (const char *root, struct ledger *ledger,
                                 const char *run_db, char path[PATH_MAX])
{
    struct catalogue *c = calloc (1, sizeof (*c));
    char jobs[PATH_MAX];

    if (!c)
        return NULL;
    PRINT (c->root, "%s", root);
    PRINT (c->run_db, "%s", run_db ? run_db : "");
    c->ledger = ledger;
    c->jobs_fd = -1;
    if (fileio_join (jobs, sizeof (jobs), root, "jobs"))
        c->jobs_fd = open (jobs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!fileio_join (path, PATH_MAX, root, CATALOGUE_NAME)) {
        catalogue_close (c);
        return NULL;
    }
    return c;
}

int catalogue_open (const char *root, struct ledger *ledger,
                    const char *run_db, struct catalogue **ret,
                    struct err *err)
{
    char path[PATH_MAX];
    struct catalogue *c = create (root, ledger, run_db, path);
    int rc = -EACCES;

    if (!c)
        return err_set (err, ENOMEM, "no memory for the list of jobs");
    if (may_write (root))
        rc = use_file (c, path, refresh, NULL, NULL);
    if (rc < 0)                 // locked, a full disk, ...
        rc = use_memory (c, path, true, err);
    if (rc < 0) {
        catalogue_close (c);
        return rc;
    }
    *ret = c;
    return 0;
}

int catalogue_open_copy (struct catalogue **ret, struct err *err)
{
    struct catalogue *c = calloc (1, sizeof (*c));
    int rc;

    if (!c)
        return err_set (err, ENOMEM, "no memory for a list of jobs");
    c->jobs_fd = -1;
    c->is_copy = true;
    if ((rc = open_db (c, ":memory:", SQLITE_OPEN_READWRITE, err)) == 0)
        rc = catalogue_create (c->db, err);
    if (rc == 0)                // where the result is on that machine
        rc = db_exec (c->db, "ALTER TABLE job_row ADD COLUMN path TEXT", err);
    if (rc < 0)
        catalogue_close (c);
    else
        *ret = c;
    return rc;
}

void catalogue_set_beyond (struct catalogue *c, struct catalogue_beyond all)
{
    c->beyond = all;
}

void catalogue_close (struct catalogue *c)
{
    if (!c)
        return;
    close_db (c);
    fileio_close (c->jobs_fd);
    free (c);
}

sqlite3 *catalogue_db (struct catalogue *c)
{
    return c->db;
}

int catalogue_begin (struct catalogue *c, struct err *err)
{
    int rc = c->writing ? 0 : db_exec (c->db, "BEGIN IMMEDIATE", err);

    c->writing = rc == 0;
    return rc;
}

int catalogue_commit (struct catalogue *c, struct err *err)
{
    int rc = c->writing ? db_exec (c->db, "COMMIT", err) : 0;

    c->writing = rc < 0 && c->writing;
    return rc;
}

/* ---- after a build ---- */

/* Readers fill in what the ledger says. */
static int note_build (struct catalogue *c, void *arg, struct err *err)
{
    const char *job = arg;
    int rc = catalogue_begin (c, err);

    if (rc == 0)
        rc = catalogue_do (c, err, "INSERT OR IGNORE INTO job_row (name) "
                                   "VALUES (?1)", job);
    if (rc == 0)
        rc = catalogue_look (c, job, err);
    return rc < 0 ? rc : catalogue_commit (c, err);
}

void catalogue_note_build (const char *root, const char *job)
{
    char path[PATH_MAX], name[MESSAGE_NAME_MAX];
    struct catalogue *c;

    if (!may_write (root) || !(c = create (root, NULL, NULL, path)))
        return;
    PRINT (name, "%s", job);
    (void)use_file (c, path, note_build, name, NULL);
    catalogue_close (c);
}
