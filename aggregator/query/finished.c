/* aggregator/query/finished.c - open finished results for reading */
#include "query/finished.h"

#include "base/clock.h"
#include "model/result_schema.h"
#include "publish/publish.h"
#include "publish/result_parts.h"
#include "store/db.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 5000            // another process may be writing a ledger
#define OPENINGS 20             // before a result that changes is given up
#define TEXT_MAX (64 << 20)     // bytes of a row or text
#define LOOK_EACH 10000         // steps of SQLite's machine: about 0.1 ms

int finished_find (const char *path, char ret[PATH_MAX], struct err *err)
{
    static const char *const names[] = {
        PUBLISH_OUTPUT_DIR "/" PUBLISH_DB_NAME, PUBLISH_DB_NAME,
    };
    struct stat st;

    if (stat (path, &st) < 0)
        return err_sys (err, errno, "%s", path);
    if (!S_ISDIR (st.st_mode)) {
        (void)snprintf (ret, PATH_MAX, "%s", path);
        return 0;
    }
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (fileio_join (ret, PATH_MAX, path, names[i]) &&
            access (ret, F_OK) == 0)
            return 0;
        if (errno != ENOENT)            // the file may exist
            return err_sys (err, errno, "cannot look for %s", ret);
    }
    return err_set (err, ENOENT, "there is no " PUBLISH_OUTPUT_DIR "/"
                    PUBLISH_DB_NAME " in %s: rollcall analyze makes one", path);
}

/* Find the cause of a failure, because SQLite only says "unable to open". */
static int check_file (const char *path, struct err *err)
{
    char head[16];
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
                             (tree_is_held (path) ? O_NOFOLLOW : 0));
    int rc = fd < 0 ? -errno : fileio_pread_all (fd, head, sizeof (head), 0);

    fileio_close (fd);
    if (rc == 0 && memcmp (head, "SQLite format 3", 16) == 0)
        return 0;
    if (rc == 0 || rc == -ENODATA || rc == -ESPIPE)
        return err_set (err, EBADMSG, "%s is not an SQLite database", path);
    return err_sys (err, -rc, "cannot read %s", path);
}

static int say_damaged (const char *path, const char *why, struct err *err)
{
    return err_set (err, EBADMSG, "%s is damaged (SQLite: %s): make it again "
                    "with rollcall analyze or rollcall build", path, why);
}

static int open_once (const char *path, bool ops, sqlite3 **ret,
                      struct err *err)
{
    int rc = check_file (path, err);

    *ret = NULL;
    if (rc < 0)
        return rc;
    if (db_open (path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, ret) !=
        SQLITE_OK) {
        rc = db_error (*ret, path, err);
    } else {
        db_harden (*ret);
        // analysis.db has views, which only call harmless functions
        (void)sqlite3_db_config (*ret, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
        (void)sqlite3_limit (*ret, SQLITE_LIMIT_LENGTH, TEXT_MAX);
        (void)sqlite3_busy_timeout (*ret, BUSY_MS);
        if (db_int (*ret, "SELECT count(*) FROM sqlite_schema", -1) < 0)
            rc = say_damaged (path, sqlite3_errmsg (*ret), err);
    }
    if (rc == 0 && ops)
        rc = part_tables_add (*ret, err);
    if (rc < 0) {
        (void)sqlite3_close (*ret);
        *ret = NULL;
    }
    return rc;
}

/* Again, if a build replaces it meanwhile. */
int finished_open (const char *path, sqlite3 **ret, struct err *err)
{
    int rc = -EBUSY;

    for (int i = 0; i < OPENINGS && rc == -EBUSY; i++)
        rc = open_once (path, true, ret, err);
    return rc;
}

/* Check that the file is an analysis.db. */
static bool finished_is_analysis (sqlite3 *db)
{
    return db_int (db, "PRAGMA application_id", 0) == PUBLISH_APPLICATION_ID &&
           db_int (db, "SELECT count(*) FROM sqlite_schema WHERE name IN "
                   "('Roster','Capture','Job','StepTraceTime')", 0) == 4;
}

static int check_analysis (const char *path, sqlite3 **db, struct err *err)
{
    int64_t version = db_int (*db, "PRAGMA user_version", 0);
    int rc = 0;

    if (!finished_is_analysis (*db))
        rc = err_set (err, EBADMSG, "%s is not an analysis.db of rollcall",
                      path);
    else if (version != TABLES_SCHEMA_VERSION)
        rc = err_set (err, EBADMSG, "%s was built by another version of "
                      "rollcall (its tables are of version %lld, this one "
                      "reads %d): analyze or build it again", path,
                      (long long)version, TABLES_SCHEMA_VERSION);
    if (rc < 0) {
        (void)sqlite3_close (*db);
        *db = NULL;
    }
    return rc;
}

int finished_open_analysis (const char *path, sqlite3 **ret, struct err *err)
{
    int rc = finished_open (path, ret, err);

    return rc < 0 ? rc : check_analysis (path, ret, err);
}

int finished_open_sums (const char *path, sqlite3 **ret, struct err *err)
{
    int rc = open_once (path, false, ret, err);

    return rc < 0 ? rc : check_analysis (path, ret, err);
}

int finished_judge (sqlite3 *db, int rc, struct err *err)
{
    int64_t faults;

    if (rc != -EIO || !db)
        return rc;
    faults = db_int (db, "SELECT count(*) FROM pragma_quick_check(1) WHERE "
                     "quick_check<>'ok'", -1);
    return faults == 0 || (faults < 0 && sqlite3_errcode (db) != SQLITE_CORRUPT)
               ? rc : say_damaged (sqlite3_db_filename (db, "main"),
                                   sqlite3_errstr (SQLITE_CORRUPT), err);
}

/* ---- statements that a user wrote ---- */

static bool is_harmless_pragma (const char *name)
{
    static const char *const names[] = {
        "application_id", "collation_list", "compile_options",
        "database_list", "foreign_key_list", "freelist_count",
        "function_list", "index_info", "index_list", "index_xinfo",
        "integrity_check", "page_count", "page_size", "pragma_list",
        "quick_check", "schema_version", "table_info", "table_list",
        "table_xinfo", "user_version",
    };

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (sqlite3_stricmp (name, names[i]) == 0)
            return true;
    }
    return false;
}

static int authorize (void *arg, int action, const char *a, const char *b,
                      const char *database, const char *trigger)
{
    (void)arg;
    (void)database;
    (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp (b, "load_extension") ? SQLITE_OK
                                                     : SQLITE_DENY;
    case SQLITE_PRAGMA:
        return is_harmless_pragma (a) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE:         // SQLite's own table functions need this
        return sqlite3_stricmp (a, "sqlite_master") ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int64_t cpu_ns (void)
{
    struct timespec t = { .tv_sec = 0 };

    (void)clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int is_late (void *arg)
{
    const struct finished_limit *l = arg;

    return cpu_ns () > l->until_ns;
}

void finished_limit (sqlite3 *db, int64_t limit_ns, struct finished_limit *l)
{
    l->until_ns = cpu_ns () + limit_ns;
    (void)sqlite3_set_authorizer (db, authorize, NULL);
    (void)sqlite3_limit (db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_hard_heap_limit64 (FINISHED_MEMORY_MAX);
    if (limit_ns > 0)
        sqlite3_progress_handler (db, LOOK_EACH, is_late, l);
}
