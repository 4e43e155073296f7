/* common/store/db_presence.c - restore files of a database that is in use */
#include "store/db_presence.h"

#include "base/clock.h"
#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACK ".back"            // the new file of the database

static const char *const ends[DB_FILES] = { "", "-wal", "-shm" };

static int name_of (const struct db_there *t, const char *end,
                    char out[PATH_MAX], struct err *err)
{
    if ((size_t)snprintf (out, PATH_MAX, "%s%s", t->path, end) >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", t->path);
    return 0;
}

/* Record a file.  A journal is created when it is first needed; until then
 * there is nothing to lose.
 */
static void note_name (struct db_there *t, unsigned i)
{
    char path[PATH_MAX];
    struct stat st;

    t->names[i].known = name_of (t, ends[i], path, NULL) == 0 &&
                        lstat (path, &st) == 0;
    if (t->names[i].known) {
        t->names[i].dev = st.st_dev;
        t->names[i].ino = st.st_ino;
    }
}

void db_there_note (struct db_there *t, const char *path)
{
    PRINT (t->path, "%s", path);
    for (unsigned i = 0; i < DB_FILES; i++)
        note_name (t, i);
}

/* Compare the file of that name: 1: it is ours; 0: it is another one; -ENOENT:
 * there is none; or another error.
 */
static int who_has (const struct db_there *t, unsigned i)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = name_of (t, ends[i], path, NULL);

    if (rc < 0)
        return rc;
    if (lstat (path, &st) < 0)
        return errno == ENOTDIR ? -ENOENT : -errno;
    return t->names[i].known && t->names[i].dev == st.st_dev &&
           t->names[i].ino == st.st_ino;
}

bool db_is_there (struct db_there *t)
{
    bool there = true;

    for (unsigned i = 0; i < DB_FILES && there; i++) {
        int who = 1;

        if (t->names[i].known)
            who = who_has (t, i);
        else
            note_name (t, i);
        there = who != 0 && who != -ENOENT;
    }
    return there;
}

/* ---- putting it back ---- */

static int copy_db (sqlite3 *from, const char *to, struct err *err)
{
    sqlite3_backup *copy;
    sqlite3 *db = NULL;
    int rc = 0;

    if (db_open (to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                 &db) != SQLITE_OK ||
        !(copy = sqlite3_backup_init (db, "main", from, "main"))) {
        rc = db_error (db, to, err);
    } else {
        (void)sqlite3_backup_step (copy, -1);
        if (sqlite3_backup_finish (copy) != SQLITE_OK)
            rc = db_error (db, to, err);
    }
    (void)sqlite3_close (db);
    return rc;
}

static int write_copy (sqlite3 *from, const char *to, mode_t mode,
                       struct err *err)
{
    int rc, fd;

    (void)unlink (to);
    if ((rc = copy_db (from, to, err)) < 0)
        return rc;
    fd = open (to, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fchmod (fd, mode) < 0 || fsync (fd) < 0)
        rc = err_sys (err, errno, "cannot write %s", to);
    fileio_close (fd);
    return rc;
}

/* Remove a name, or move a foreign file aside.  The journals of a database that
 * is moved go with it, since they may contain its newest data.
 */
static int clear_name (const struct db_there *t, unsigned i,
                       const char *aside, struct err *err)
{
    char path[PATH_MAX], to[PATH_MAX];
    int who = who_has (t, i), rc = name_of (t, ends[i], path, err);

    if (rc < 0 || who == -ENOENT || (who == 1 && i == DB_FILE))
        return rc;
    if (who < 0)
        return err_sys (err, -who, "cannot stat %s", path);
    if (who == 1)               // the copy contains all of it
        return unlink (path) < 0 && errno != ENOENT
                   ? err_sys (err, errno, "cannot remove %s", path) : 0;
    if ((size_t)snprintf (to, sizeof (to), "%s%s", aside, ends[i]) >=
        sizeof (to))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", aside);
    return fileio_rename (path, to, err);
}

/* Move aside the files that others have put there. */
static int clear_names (const struct db_there *t, const char *quarantine,
                        char aside[PATH_MAX], struct err *err)
{
    bool other = who_has (t, DB_FILE) == 0;
    int rc = fileio_mkdirs (quarantine, FILEIO_DIR_MODE, err);

    if (rc == 0 && (size_t)snprintf (aside, PATH_MAX, "%s/ledger-found-%lld.db",
                                     quarantine, (long long)clock_wall_ns ()) >=
                       PATH_MAX)
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", quarantine);
    for (unsigned i = 0; i < DB_FILES && rc == 0; i++)
        rc = clear_name (t, i, aside, err);
    if (!other)
        aside[0] = '\0';
    return rc;
}

int db_put_back (const struct db_there *t, sqlite3 *db, const char *quarantine,
                 mode_t mode, char aside[PATH_MAX], struct err *err)
{
    char copy[PATH_MAX];
    int rc = name_of (t, BACK, copy, err);

    aside[0] = '\0';
    if (rc < 0)
        return rc;
    if ((rc = write_copy (db, copy, mode, err)) == 0)
        rc = clear_names (t, quarantine, aside, err);
    if (rc == 0)
        rc = fileio_rename (copy, t->path, err);
    if (rc < 0)
        (void)unlink (copy);
    return rc;
}

void db_close_there (struct db_there *t, sqlite3 *db)
{
    int keep = 1;

    if (db && t->names[DB_FILE].known && !db_is_there (t))
        (void)sqlite3_file_control (db, "main", SQLITE_FCNTL_PERSIST_WAL,
                                    &keep);
    (void)sqlite3_close (db);
}
