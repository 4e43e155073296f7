/* aggregator/intake/ledger_there.c - a ledger whose files were removed while
 * they are in use
 *
 * SQLite goes on in files without a name, and says nothing.  But what has them
 * open can read all of it, until it ends: so it is written to a new file.  The
 * segments tell less: not what agents were told, nor whose a key is.
 */
#include "intake/ledger_inside.h"

#include "base/clock.h"
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACK ".back"            // what is to be the ledger

static const char *const ends[LEDGER_FILES] = { "", "-wal", "-shm" };

static void name_of (const struct ledger *l, const char *end,
                     char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s%s", l->path, end);
}

/* The journal is made by the first who reads; until then it has no name to
 * lose.
 */
static void note_name (struct ledger *l, unsigned i)
{
    struct ledger_name *n = &l->names[i];
    char path[PATH_MAX];
    struct stat st;

    name_of (l, ends[i], path);
    n->known = lstat (path, &st) == 0;
    if (n->known) {
        n->dev = st.st_dev;
        n->ino = st.st_ino;
    }
}

void ledger_note_names (struct ledger *l)
{
    for (unsigned i = 0; i < LEDGER_FILES; i++)
        note_name (l, i);
}

static bool has_name (struct ledger *l, unsigned i)
{
    const struct ledger_name *n = &l->names[i];
    char path[PATH_MAX];
    struct stat st;

    name_of (l, ends[i], path);
    if (lstat (path, &st) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return n->dev == st.st_dev && n->ino == st.st_ino;
}

bool ledger_is_there (struct ledger *l)
{
    bool there = l->db != NULL;

    for (unsigned i = 0; i < LEDGER_FILES && there; i++) {
        if (!l->names[i].known)
            note_name (l, i);
        else
            there = has_name (l, i);
    }
    return there;
}

/* ---- putting it back ---- */

static int copy_db (struct ledger *l, const char *to, struct err *err)
{
    sqlite3_backup *copy;
    sqlite3 *db = NULL;
    int rc = 0;

    if (sqlite3_open_v2 (to, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                         NULL) != SQLITE_OK ||
        !(copy = sqlite3_backup_init (db, "main", l->db, "main"))) {
        rc = db_error (db, to, err);
    } else {
        (void)sqlite3_backup_step (copy, -1);
        if (sqlite3_backup_finish (copy) != SQLITE_OK)
            rc = db_error (db, to, err);
    }
    (void)sqlite3_close (db);
    return rc;
}

static int write_copy (struct ledger *l, const char *to, struct err *err)
{
    int rc, fd;

    (void)unlink (to);
    if ((rc = copy_db (l, to, err)) < 0)
        return rc;
    fd = open (to, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fchmod (fd, FILEIO_FILE_MODE) < 0 || fsync (fd) < 0)
        rc = err_sys (err, errno, "cannot write %s", to);
    if (fd >= 0)
        (void)close (fd);
    return rc;
}

/* What somebody else put there is his. */
static int set_aside (struct ledger *l, char aside[PATH_MAX], struct err *err)
{
    const char *slash = strrchr (l->path, '/');
    int dir = slash ? (int)(slash - l->path) : 1, rc;

    (void)snprintf (aside, PATH_MAX, "%.*s/quarantine",
                    dir, slash ? l->path : ".");
    if ((rc = fileio_mkdirs (aside, FILEIO_DIR_MODE, err)) < 0)
        return rc;
    (void)snprintf (aside, PATH_MAX, "%.*s/quarantine/ledger-found-%lld.db",
                    dir, slash ? l->path : ".", (long long)clock_wall_ns ());
    return fileio_rename (l->path, aside, err);
}

/* The copy gets the name; journals that are there are not its own. */
static int take_name (struct ledger *l, const char *copy,
                      char aside[PATH_MAX], struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    if (!has_name (l, LEDGER_DB) && access (l->path, F_OK) == 0)
        rc = set_aside (l, aside, err);
    for (unsigned i = LEDGER_WAL; i < LEDGER_FILES && rc == 0; i++) {
        name_of (l, ends[i], path);
        if (unlink (path) < 0 && errno != ENOENT)
            rc = err_sys (err, errno, "cannot remove %s", path);
    }
    return rc < 0 ? rc : fileio_rename (copy, l->path, err);
}

int ledger_put_back (struct ledger *l, char aside[PATH_MAX], struct err *err)
{
    char copy[PATH_MAX];
    int rc;

    aside[0] = '\0';
    name_of (l, BACK, copy);
    if (!l->db)
        return err_set (err, ENODEV, "%s is not open", l->path);
    if ((rc = write_copy (l, copy, err)) == 0)
        rc = take_name (l, copy, aside, err);
    if (rc < 0) {
        (void)unlink (copy);
        return rc;
    }
    ledger_close_db (l);
    if (ledger_open_db (l, SQLITE_OPEN_READWRITE, err) < 0) {
        ledger_close_db (l);
        return -ENODEV;
    }
    return 0;
}
