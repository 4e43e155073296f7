/* aggregator/fsck/check_replace.c - put a new ledger in the place of the old one */
#include "fsck/check_private.h"

#include "base/fault.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Choose a name in the quarantine that no earlier repair used. */
static int choose_aside (struct check *c, char name[PATH_MAX])
{
    (void)snprintf (name, PATH_MAX, "%s/" STORE_QUARANTINE, c->root);
    int rc = fileio_mkdirs (name, FILEIO_DIR_MODE, c->err);
    char wal[PATH_MAX];

    for (unsigned n = 1; rc == 0; n++) {
        if (n == 1)
            (void)snprintf (name, PATH_MAX, "%s/" STORE_QUARANTINE
                            "/ledger.db", c->root);
        else
            (void)snprintf (name, PATH_MAX, "%s/" STORE_QUARANTINE
                            "/ledger-%u.db", c->root, n);
        PRINT (wal, "%.*s-wal", PATH_MAX - 5, name);
        if (access (name, F_OK) < 0 && access (wal, F_OK) < 0)
            break;
    }
    return rc;
}

/* Merge the journal into the file, if SQLite can read both; the journal is gone
 * then.
 */
static int fold_journal (struct check *c)
{
    sqlite3 *db = NULL;
    char path[PATH_MAX];
    int code;

    check_ledger_path (c, "", path);
    code = db_open (path, SQLITE_OPEN_READWRITE, &db);
    if (code == SQLITE_OK)
        code = sqlite3_exec (db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL,
                             NULL);
    (void)sqlite3_close (db);
    return code == SQLITE_FULL ? err_sys (c->err, ENOSPC, "cannot write %s",
                                          path) : 0;
}

/* Move the old ledger, and then its journal, which must not meet the new
 * ledger.  In the other order the old one would be taken for good, without its
 * latest changes.  While there is no ledger nobody serves the root until the
 * repair is repeated.
 */
static int move_aside (struct check *c, const char *aside)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    char from[PATH_MAX], to[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]) && rc == 0; i++) {
        check_ledger_path (c, ends[i], from);
        PRINT (to, "%.*s%s", PATH_MAX - 5, aside, ends[i]);
        if (access (from, F_OK) == 0)
            rc = fileio_rename (from, to, c->err);
    }
    return rc;
}

/* Link the old ledger into the quarantine; it also keeps its name until the new
 * one replaces it.  So there is a ledger whenever this process is killed, and
 * the next repair finds in it what no record has.  Only a ledger whose journal
 * remains has to be moved first.
 */
static int set_old_aside (struct check *c, char aside[PATH_MAX])
{
    char from[PATH_MAX], wal[PATH_MAX];
    int rc = choose_aside (c, aside);

    if (rc == 0)
        rc = fold_journal (c);
    if (rc < 0)
        return rc;
    if ((rc = FAULT ("aggregator.check.aside")) < 0)
        return err_sys (c->err, -rc, "cannot set the ledger aside");
    check_ledger_path (c, "", from);
    check_ledger_path (c, "-wal", wal);
    if (access (wal, F_OK) == 0 || link (from, aside) < 0)
        return move_aside (c, aside);
    PRINT (wal, "%s/" STORE_QUARANTINE, c->root);
    return fileio_sync_dir (wal, c->err);
}

/* Append what has no record, and the records of all items. */
static int describe_all (struct check *c, struct store *s, struct ledger *l)
{
    int rc = ledger_begin (l, c->err);

    if (rc < 0)
        return rc;
    rc = check_rehouse (c, s, l);
    if (rc == 0)
        rc = store_sync (s, c->err);
    if (rc == 0)
        rc = store_account (s, l, c->err);
    if ((rc = ledger_finish (l, rc, c->err)) < 0)
        return rc;
    store_committed (s);
    return store_describe (s, l, c->err);
}

static int describe_again (struct check *c)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];
    int rc;

    check_ledger_path (c, "", path);
    rc = ledger_open (path, &l, c->err);
    if (rc == 0)
        rc = store_open (c->root, l, &s, c->err);
    if (rc == 0)
        rc = describe_all (c, s, l);
    store_close (s);
    ledger_close (l);
    return rc;
}

/* Set aside unfinished bytes: the new ledger accounts for them, and for whole
 * records behind them.
 */
static int set_unfinished_aside (struct check *c)
{
    int rc = 0;

    for (size_t i = 0; i < c->ngaps && rc == 0; i++) {
        if (c->gaps[i].unfinished)
            rc = check_quarantine_gap (c, &c->gaps[i]);
    }
    return rc;
}

/* Replace the old ledger: from here on the new one counts. */
static int put_in_place (struct check *c)
{
    char from[PATH_MAX], to[PATH_MAX];
    int rc = FAULT ("aggregator.check.replace");

    if (rc < 0)
        return err_sys (c->err, -rc, "cannot replace the ledger");
    check_ledger_path (c, ".check", from);
    check_ledger_path (c, "", to);
    if ((rc = fileio_rename (from, to, c->err)) < 0)
        return rc;
    if ((rc = FAULT ("aggregator.check.describe")) < 0)
        return err_sys (c->err, -rc, "cannot write records");
    return describe_again (c);
}

int check_replace_ledger (struct check *c)
{
    char aside[PATH_MAX];
    size_t damaged = c->report->damaged;
    int rc = ledger_commit (c->fresh, c->err);

    ledger_close (c->fresh);    // its journal goes into it
    c->fresh = NULL;
    if (rc == 0)
        rc = set_unfinished_aside (c);
    if (rc == 0)
        rc = set_old_aside (c, aside);
    if (rc == 0)
        rc = put_in_place (c);
    if (rc == 0) {
        c->report->repaired = damaged;
        check_say (c, "the ledger was rebuilt from the segments%s%s",
                   access (aside, F_OK) == 0 ? "; the old one is " : "",
                   access (aside, F_OK) == 0 ? aside : "");
    }
    return rc;
}
