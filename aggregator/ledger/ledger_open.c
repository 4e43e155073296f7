/* aggregator/ledger/ledger_open.c - open and verify a ledger, and restore one
 * whose files were removed while in use
 *
 * It is restored from the open files, and not rebuilt from the segments, which
 * contain less: neither what agents were told nor the owners of keys.
 */
#include "ledger/ledger_private.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// how long a reader waits for a writer that changes the journal
#define BUSY_MS 10000

static bool is_small (const char *path)
{
    struct stat st;

    return stat (path, &st) == 0 && st.st_size <= LEDGER_QUICK_BYTES;
}

/* On a disk that nobody can write to, SQLite cannot read a journal's index, and
 * without a journal it need not.
 */
static bool is_frozen (const struct ledger *l)
{
    char wal[PATH_MAX];

    PRINT (wal, "%s-wal", l->path);
    return l->reader && access (l->path, W_OK) < 0 && errno == EROFS &&
           access (wal, F_OK) < 0;
}

static int open_frozen (struct ledger *l, int flags)
{
    char uri[3 * sizeof (l->path) + 32] = "file:";
    size_t n = strlen (uri);

    for (const char *p = l->path; *p; p++)
        n += (size_t)snprintf (uri + n, sizeof (uri) - n,
                               strchr ("%?#", *p) ? "%%%02x" : "%c",
                               (unsigned char)*p);
    (void)snprintf (uri + n, sizeof (uri) - n, "?immutable=1");
    return sqlite3_open_v2 (uri, &l->db, flags | SQLITE_OPEN_URI, NULL);
}

static int open_file (struct ledger *l, int flags)
{
    return is_frozen (l) ? open_frozen (l, flags)
                         : db_open (l->path, flags, &l->db);
}

static int open_db (struct ledger *l, int flags, struct err *err)
{
    int rc = 0;

    if (open_file (l, flags | SQLITE_OPEN_NOMUTEX) != SQLITE_OK)
        return db_error (l->db, l->path, err);
    if (!db_lets_write (l->db))
        return err_set (err, EBADMSG, "%s is damaged: its header; rollcall "
                        "fsck aggregator --repair rebuilds it from the "
                        "segments", l->path);
    db_harden (l->db);
    (void)sqlite3_busy_timeout (l->db, BUSY_MS);
    if (!l->reader)
        // a command that is forgotten must not stay in pages that are free
        rc = db_exec (l->db, "PRAGMA journal_mode=WAL;PRAGMA "
                             "synchronous=FULL;PRAGMA secure_delete=ON;", err);
    else
        rc = db_exec (l->db, "BEGIN", err);
    if (rc == 0)
        rc = ledger_prepare (l, l->path, err);
    if (rc == 0 && (!l->quick || is_small (l->path)))
        rc = ledger_verify (l, err);
    if (rc == 0)
        rc = ledger_note_deleted (l, err);
    if (rc == 0 && !l->reader)
        rc = ledger_note_lost (l, err);
    if (rc == 0 && !l->reader)
        db_there_note (&l->there, l->path);
    return rc;
}

static int open_ledger (const char *path, int flags, bool quick,
                        struct ledger **ret, struct err *err)
{
    struct ledger *l = calloc (1, sizeof (*l));
    int rc;

    if (!l)
        return err_set (err, ENOMEM, "no memory for the ledger");
    l->reader = flags & SQLITE_OPEN_READONLY;
    l->quick = quick;
    if (strlen (path) >= sizeof (l->path))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    else
        rc = 0;
    PRINT (l->path, "%s", path);
    if (rc < 0 || (rc = open_db (l, flags, err)) < 0) {
        ledger_close (l);
        return rc;
    }
    *ret = l;
    return 0;
}

int ledger_open (const char *path, struct ledger **ret, struct err *err)
{
    return open_ledger (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, false,
                        ret, err);
}

static int open_reader (const char *path, bool quick, struct ledger **ret,
                        struct err *err)
{
    if (access (path, F_OK) < 0)
        return err_sys (err, errno, "cannot open %s", path);
    return open_ledger (path, SQLITE_OPEN_READONLY, quick, ret, err);
}

int ledger_open_read (const char *path, struct ledger **ret, struct err *err)
{
    return open_reader (path, false, ret, err);
}

int ledger_open_quick (const char *path, struct ledger **ret, struct err *err)
{
    return open_reader (path, true, ret, err);
}

static void close_db (struct ledger *l)
{
    db_close_kept (l->db);
    db_close_there (&l->there, l->db);
    l->db = NULL;
}

void ledger_cancel (struct ledger *l, const atomic_bool *cancel)
{
    db_cancel (l->db, cancel);
}

void ledger_close (struct ledger *l)
{
    if (!l)
        return;
    close_db (l);
    free (l);
}

/* ---- files that were removed ---- */

bool ledger_is_there (struct ledger *l)
{
    return l->db && db_is_there (&l->there);
}

static void quarantine_of (const struct ledger *l, char out[PATH_MAX])
{
    const char *slash = strrchr (l->path, '/');

    (void)snprintf (out, PATH_MAX, "%.*s/quarantine",
                    slash ? (int)(slash - l->path) : 1, slash ? l->path : ".");
}

int ledger_put_back (struct ledger *l, char aside[PATH_MAX], struct err *err)
{
    char quarantine[PATH_MAX];
    int rc;

    aside[0] = '\0';
    if (!l->db)
        return err_set (err, ENODEV, "%s is not open", l->path);
    quarantine_of (l, quarantine);
    if ((rc = db_put_back (&l->there, l->db, quarantine, FILEIO_FILE_MODE,
                           aside, err)) < 0)
        return rc;
    close_db (l);
    if (open_db (l, SQLITE_OPEN_READWRITE, err) < 0) {
        close_db (l);    // all later calls fail
        (void)sqlite3_open_v2 (":memory:", &l->db, SQLITE_OPEN_READWRITE,
                               NULL);
        return -ENODEV;
    }
    return 0;
}
